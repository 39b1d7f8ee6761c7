package kernel

// GemmHalf are the tiles of products of float32 rows with panels of 16 bits, float16 or bfloat16, in one tier. They give the bits
// that Gemm gives with the same panel in float32.
type GemmHalf struct {
	// Rows is how many rows a tile has at most, Cols how many columns a panel has.
	Rows, Cols int
	bfloat16   bool
	tier       Tier
}

// Run computes t, of 1 to Rows rows. Tile.Panel is that of 16 bits; the tile has one segment, and none of Offsets, Ahead and More.
func (g *GemmHalf) Run(t *Tile, rows int) {
	for k := uintptr(0); k < t.Depth || k == 0; k += tileMost {
		p := t.part(k, tileMost, uintptr(g.Cols)*halfSize)
		g.run(&p, rows)
	}
}

// halfSize is the size of an element of a panel of 16 bits.
const halfSize = 2
