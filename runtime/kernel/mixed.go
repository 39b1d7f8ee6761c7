package kernel

// Stored is how the elements of a panel are stored that are not float32.
type Stored uint8

// How panels are stored: in a type; or in int8 (StoredQ8), or numbers from 0 to 15 (StoredQ4), two rows in a byte, the former one in its lower
// half, which stand for (q - zero)·scale, where scales and zero points go with blocks of rows, and columns.
const (
	StoredF16 Stored = iota
	StoredBF16
	StoredS8
	StoredQ8
	StoredQ4
)

// bits is the size of an element.
func (s Stored) bits() uintptr {
	switch s {
	case StoredQ4:
		return 4
	case StoredS8, StoredQ8:
		return 8
	}
	return 16
}

// InBlocks reports whether elements have scales and zero points.
func (s Stored) InBlocks() bool { return s >= StoredQ8 }

// TileMixed is a tile whose panel has fewer bits than float32 has. It has none of Offsets, Ahead, More, Gap and what columns lack. Each segment of
// what is InBlocks is a block of the panel's rows, an even number of them in StoredQ4; other panels have one segment. Its layout is known to the generator.
type TileMixed struct {
	Tile
	Scales   *float32 // those of the first block: Cols float32
	Zeros    *float32 // likewise
	ScaleGap uintptr  // bytes from the scales of a block to those of the next
	ZeroGap  uintptr  // likewise, 0 where all blocks have the same
	table    *float32 // of what 4 bits are
}

var fourBits = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

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

// Run computes t, of 1 to Rows rows.
func (g *GemmMixed) Run(t *TileMixed, rows int) {
	whole := t.Tile
	if t.Segments > 1 {
		whole.Depth *= t.Segments
	}
	for k := uintptr(0); k < whole.Depth || k == 0; {
		most := uintptr(tileMost)
		switch {
		case t.Segments == 1:
		case t.Depth <= most:
			most -= most % t.Depth
		default:
			most = min(most, t.Depth-k%t.Depth)
		}
		p := TileMixed{Tile: whole.part(k, most, uintptr(g.Cols)*g.Stored.bits()/8)}
		n := p.Depth
		if p.Segments = 1; g.Stored.InBlocks() {
			b := k / t.Depth
			p.Panel = floatAt(p.Panel, b*t.PanelGap)
			p.Scales, p.Zeros, p.ScaleGap, p.ZeroGap = floatAt(t.Scales, b*t.ScaleGap), floatAt(t.Zeros, b*t.ZeroGap), t.ScaleGap, t.ZeroGap
			if n > t.Depth {
				p.Segments, p.Depth = n/t.Depth, t.Depth
			}
			g.pair(&p)
		}
		g.run(&p, rows)
		k += max(n, 1)
	}
}

// Widen makes float32 of rows of a panel that is InBlocks: o is [rows, Cols], of no more rows than a block has, an even number of them
// in StoredQ4. t has the Panel, Scales and Zeros of the first.
func (g *GemmMixed) Widen(o []float32, t *TileMixed) {
	rows := uintptr(len(o) / g.Cols)
	for k := uintptr(0); k < rows; k += tileMost {
		p := TileMixed{Tile: t.part(k, 0, uintptr(g.Cols)*g.Stored.bits()/8), Scales: t.Scales, Zeros: t.Zeros}
		p.Out, p.Depth = &o[k*uintptr(g.Cols)], min(rows-k, tileMost)
		g.pair(&p)
		g.widen(&p)
	}
}

// pair gives a tile of StoredQ4 what the kernels want: the number of pairs of rows, and a table.
func (g *GemmMixed) pair(p *TileMixed) {
	if g.Stored == StoredQ4 {
		p.Depth /= 2
		p.table = &fourBits[0]
	}
}
