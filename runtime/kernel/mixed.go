package kernel

// Stored is the type of the elements of a panel that is not float32.
type Stored uint8

// The types that panels are stored in.
const (
	StoredF16 Stored = iota
	StoredBF16
	StoredS8
)

// Size is the size of an element in bytes.
func (s Stored) Size() uintptr {
	if s == StoredS8 {
		return 1
	}
	return 2
}

// GemmMixed are the tiles of products of float32 rows with panels of fewer bits, in one tier. They give the bits that Gemm gives with
// the same panel in float32.
type GemmMixed struct {
	// Rows is how many rows a tile has at most, Cols how many columns a panel has.
	Rows, Cols int
	// Stored is how the panels are stored.
	Stored Stored
	tier   Tier
}

// mixedOf is the one of list for these panels, or nil.
func mixedOf(list []GemmMixed, t Tier, s Stored) *GemmMixed {
	for i := range list {
		if g := &list[i]; g.tier == t.float() && g.Stored == s {
			return g
		}
	}
	return nil
}

// Run computes t, of 1 to Rows rows. Tile.Panel is that of fewer bits; the tile has one segment, and none of Offsets, Ahead and More.
func (g *GemmMixed) Run(t *Tile, rows int) {
	for k := uintptr(0); k < t.Depth || k == 0; k += tileMost {
		p := t.part(k, tileMost, uintptr(g.Cols)*g.Stored.Size())
		g.run(&p, rows)
	}
}
