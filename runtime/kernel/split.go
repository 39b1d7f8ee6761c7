package kernel

import "unsafe"

// tileMost is how many products each sum of a tile has at most in one call of assembly, so that the garbage collector need
// not wait for longer than 100 µs. A deeper tile is computed in pieces, one after another, which give the same bits.
const tileMost = 8 << 10

// deep reports that t has to be computed in pieces.
func (t *Tile) deep() bool { return t.Depth*t.Segments > tileMost }

// split is Run, or RunNarrow if narrow is true, for a deep tile: each piece starts at what the one before it gave.
func (g *Gemm) split(t *Tile, rows int, narrow bool) {
	cols := g.Cols
	if narrow {
		cols = g.Narrow
	}
	row := uintptr(cols) * unsafe.Sizeof(t.Low) // of the panel
	p := *t
	p.Low, p.High = Unclamped[0], Unclamped[1]
	for s := uintptr(0); s < t.Segments; s += p.Segments {
		p.Depth, p.Segments = t.Depth, 1
		if t.Depth <= tileMost {
			p.Segments = min(tileMost/t.Depth, t.Segments-s)
		}
		left, panel := s*(t.Depth*unsafe.Sizeof(t.Low)+t.Gap), s*(t.Depth*row+t.PanelGap)
		for k := uintptr(0); k < t.Depth; k += p.Depth {
			p.Depth = min(t.Depth-k, max(tileMost/p.Segments, 1))
			p.Left = floatAt(t.Left, left+k*unsafe.Sizeof(t.Low))
			if t.Offsets != nil {
				p.Offsets = (*int64)(unsafe.Add(unsafe.Pointer(t.Offsets), k*unsafe.Sizeof(*t.Offsets)))
			} else {
				p.Panel = floatAt(t.Panel, panel+k*row)
			}
			if s+p.Segments == t.Segments && k+p.Depth == t.Depth {
				p.Low, p.High = t.Low, t.High
			}
			p.Ahead = nil
			g.piece(&p, rows, narrow)
			p.Start, p.StartStride, p.RowStart = t.Out, t.OutStride, nil
		}
	}
}

func (g *Gemm) piece(p *Tile, rows int, narrow bool) {
	if narrow {
		g.RunNarrow(p, rows)
	} else {
		g.Run(p, rows)
	}
}

func floatAt(p *float32, bytes uintptr) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes))
}

// tileMostS8 is tileMost in groups of a row.
const tileMostS8 = 4 << 10

// maxRowsS8 is the most rows that tiles of integers have in any tier.
const maxRowsS8 = 8

// split is Run for a tile that is too deep for one call: the sums of all pieces but the first are added.
func (g *GemmS8) split(t *TileS8, rows int) {
	var zeros [MaxColsS8]int32
	var sums [maxRowsS8 * MaxColsS8]int32
	p := *t
	p.Depth = tileMostS8
	g.Run(&p, rows)
	p.Out, p.OutStride, p.Start = &sums[0], uintptr(g.Cols)*unsafe.Sizeof(sums[0]), &zeros[0]
	for k := uintptr(tileMostS8); k < t.Depth; k += p.Depth {
		p.Depth = min(t.Depth-k, tileMostS8)
		p.Left = (*byte)(unsafe.Add(unsafe.Pointer(t.Left), k*groupBytes))
		p.Panel = (*int8)(unsafe.Add(unsafe.Pointer(t.Panel), k*uintptr(g.Cols*g.Group)))
		g.Run(&p, rows)
		for i := range rows {
			out := unsafe.Slice((*int32)(unsafe.Add(unsafe.Pointer(t.Out), uintptr(i)*t.OutStride)), g.Cols)
			for c, x := range sums[i*g.Cols : (i+1)*g.Cols] {
				out[c] += x
			}
		}
	}
}
