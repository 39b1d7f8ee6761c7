package kernel

import "unsafe"

// tileMost is how many products each sum of a tile has at most in one call of assembly, so that the garbage collector need
// not wait for longer than 100 µs. A deeper tile is computed in pieces, one after another, which give the same bits.
const tileMost = 8 << 10

// whole reports that one call of assembly computes t, and has it start at the first block.
func (t *Tile) whole() bool {
	t.leftAt, t.outAt = 0, 0
	return t.Depth*t.Segments <= tileMost && (t.More == 0 || t.More < t.blocks())
}

// blocks is how many blocks of rows one call computes.
func (t *Tile) blocks() uintptr {
	if t.Offsets != nil || t.RowStart != nil || t.StartStride != 0 {
		return 1
	}
	return max(1, tileMost/(t.Depth*t.Segments+blockCost))
}

// blockCost is what a block of rows costs beside its products, in these.
const blockCost = 16

// split is Run, or RunNarrow if narrow is true, for what is not whole.
func (g *Gemm) split(t *Tile, rows int, narrow bool) {
	if t.More == 0 {
		g.splitDepth(t, rows, narrow)
		return
	}
	p, n := *t, t.blocks()
	for left := t.More + 1; ; {
		n = min(n, left)
		p.More = n - 1
		g.piece(&p, rows, narrow)
		if left -= n; left == 0 {
			return
		}
		by := n * uintptr(rows)
		p.Left, p.Out, p.Start = floatAt(p.Left, by*p.Stride), floatAt(p.Out, by*p.OutStride), floatAt(p.Start, by*p.StartStride)
		if p.RowStart != nil {
			p.RowStart = floatAt(p.RowStart, by*unsafe.Sizeof(*p.RowStart))
		}
	}
}

// splitDepth computes a tile that is too deep for one call: each piece starts at what the one before it gave.
func (g *Gemm) splitDepth(t *Tile, rows int, narrow bool) {
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

// RunRow computes t, one row times RowPanels panels side by side, each of which begins PanelGap bytes behind the one before: all of
// Cols columns, with as many in Start and in Out for each panel. The tile has one segment and none of RowStart, Offsets, Ahead and
// More.
func (g *Gemm) RunRow(t *Tile) {
	const most = tileMost / RowPanels
	if t.Depth <= most {
		g.row(t)
		return
	}
	for k := uintptr(0); k < t.Depth; k += most {
		p := t.part(k, most, uintptr(g.Cols)*unsafe.Sizeof(t.Low))
		g.row(&p)
	}
}

// part is at most most products of each sum of t, from the one with number k on, which start at what those before them gave. The tile
// has one segment, whose rows of the panel have so many bytes.
func (t *Tile) part(k, most, row uintptr) Tile {
	p := *t
	p.Depth = min(t.Depth-k, most)
	p.Left, p.Panel = floatAt(t.Left, k*unsafe.Sizeof(t.Low)), floatAt(t.Panel, k*row)
	if k > 0 {
		p.Start, p.StartStride, p.RowStart = t.Out, t.OutStride, nil
	}
	if k+p.Depth < t.Depth {
		p.Low, p.High = Unclamped[0], Unclamped[1]
	}
	return p
}

func floatAt(p *float32, bytes uintptr) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes))
}

// tileMostS8 is tileMost in groups of a row.
const tileMostS8 = 4 << 10

// maxRowsS8 is the most rows that tiles of integers have in any tier.
const maxRowsS8 = 8

// split is Run, or RunNarrow, for a tile that is too deep for one call: the sums of its pieces are added.
func (g *GemmS8) split(t *TileS8, rows int, narrow bool) {
	var zeros [MaxColsS8]int32
	var part, sums [maxRowsS8 * MaxColsS8]int32
	cols := g.Cols
	if narrow {
		cols = g.Narrow
	}
	p := *t
	p.Out, p.OutStride, p.Factors = unsafe.Pointer(&part[0]), uintptr(cols)*unsafe.Sizeof(part[0]), nil
	for s := uintptr(0); s < t.Segments; s += p.Segments {
		p.Segments = 1
		if t.Depth <= tileMostS8 {
			p.Segments = min(tileMostS8/t.Depth, t.Segments-s)
		}
		for k := uintptr(0); k < t.Depth; k += p.Depth {
			p.Depth = min(t.Depth-k, tileMostS8)
			p.Left = (*byte)(unsafe.Add(unsafe.Pointer(t.Left), s*(t.Depth*groupBytes+t.Gap)+k*groupBytes))
			p.Panel = (*int8)(unsafe.Add(unsafe.Pointer(t.Panel), (s*t.Depth+k)*uintptr(g.Cols*g.Group)))
			if narrow {
				g.RunNarrow(&p, rows)
			} else {
				g.Run(&p, rows)
			}
			for i, x := range part[:rows*cols] {
				sums[i] += x
			}
			p.Start = &zeros[0]
		}
	}
	if t.Factors != nil {
		r := RowsS8{Rows: rows, Cols: cols, Stride: cols, OutStride: int(t.OutStride), Low: t.Low, High: t.High, Zero: t.Zero}
		r.Requant(g.tier, unsafe.Slice((*int8)(t.Out), r.extent(r.OutStride)), sums[:], unsafe.Slice(t.Factors, cols))
		return
	}
	for i := range rows {
		copy(unsafe.Slice((*int32)(unsafe.Add(t.Out, uintptr(i)*t.OutStride)), cols), sums[i*cols:])
	}
}
