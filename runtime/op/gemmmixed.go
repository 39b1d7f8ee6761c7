package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// half is the right factor of a product, of Half or BFloat16. It stays in 16 bits where a tier has tiles for that; else it is float32
// from the start.
type half struct {
	*tensor.Tensor
	transposed bool
}

// tiles are those for t's panels, nil where there are none.
func (h half) tiles(t kernel.Tier) *kernel.GemmMixed {
	if h.DType == tensor.BFloat16 {
		return kernel.MixedOf(t, kernel.StoredBF16)
	}
	return kernel.MixedOf(t, kernel.StoredF16)
}

// mixedLayout names the panels of t.
func mixedLayout(t *tensor.Tensor, transposed bool) string {
	if transposed {
		return "panels of rows of " + t.DType.String()
	}
	return "panels of " + t.DType.String()
}

func mixedTiling(g *kernel.GemmMixed) tiling { return tiling{cols: g.Cols} }

// widened is the matrix in float32; data has as many elements.
func (h half) widened(data []float32) matrix[float32] {
	widenHalves(data, elems[uint16](h.Tensor), h.DType)
	m := matrixOf[uint16](h.Tensor, h.transposed)
	return matrix[float32]{data, m.rows, m.cols, m.rs, m.cs}
}

// prepareHalf packs the constant that is argument i.
func prepareHalf(p *Prep, i int, transposed bool) (State, error) {
	t := p.Args[i].Tensor
	if t == nil || t.Data == nil || t.Rank() != 2 {
		return nil, nil
	}
	p.Packed = 1 << i
	h := half{t, transposed}
	layout, b := mixedLayout(t, transposed), matrixOf[uint16](t, transposed)
	if g := h.tiles(p.Tier); g != nil {
		return packOf(p, t, layout, mixedTiling(g).len(b.rows, b.cols), func(dst []uint16) { packWeights(dst, b, mixedTiling(g)) }), nil
	}
	tiling := tilingOf[float32](p.Tier)
	return packOf(p, t, layout, tiling.len(b.rows, b.cols), func(dst []float32) {
		pack(dst, h.widened(make([]float32, t.Numel())), tiling)
	}), nil
}

func prepareMmHalf(p *Prep) (State, error)     { return prepareHalf(p, 1, false) }
func prepareAddmmHalf(p *Prep) (State, error)  { return prepareHalf(p, 2, false) }
func prepareLinearHalf(p *Prep) (State, error) { return prepareHalf(p, 1, true) }

func runMmHalf(c *Call, s State) error {
	return productHalf(c, s, c.Args[0].Tensor, half{c.Args[1].Tensor, false}, nil)
}

func runLinearHalf(c *Call, s State) error {
	return productHalf(c, s, c.Args[0].Tensor, half{c.Args[1].Tensor, true}, vectorOf[float32](c.Args[2].Tensor))
}

func runAddmmHalf(c *Call, s State) error {
	return addmm(c, func(bias []float32) error {
		return productHalf(c, s, c.Args[1].Tensor, half{c.Args[2].Tensor, false}, bias)
	})
}

// productHalf computes out 0 = a·b (+ bias) in float32.
func productHalf(c *Call, s State, a *tensor.Tensor, b half, bias []float32) error {
	out, tiles, m := c.Out[0], b.tiles(c.Tier), matrixOf[uint16](b.Tensor, b.transposed)
	if _, ok := s.(*packed[float32]); ok {
		return product(c, s, out, a, matrix[float32]{rows: m.rows, cols: m.cols}, bias)
	}
	if tiles == nil {
		data, err := tempOf[float32](c, b.Numel())
		if err != nil {
			return err
		}
		return product(c, nil, out, a, b.widened(data), bias)
	}
	x, err := contiguousOf[float32](c, a)
	if err != nil {
		return err
	}
	w, ok := s.(*packed[uint16])
	if !ok {
		data, err := tempOf[uint16](c, mixedTiling(tiles).len(m.rows, m.cols))
		if err != nil {
			return err
		}
		pack(data, m, mixedTiling(tiles))
		w = &packed[uint16]{data: data}
	}
	if out.Numel() == 0 {
		return nil
	}
	g := gemmMixed[uint16]{micro: tiles, b: w.data}
	g.set(c, out, x, m.rows, m.cols)
	g.bias, g.bounds = bias, c.bounds()
	g.run(c)
	return nil
}

// gemmMixed is a product whose right factor is packed in fewer bits than float32 has.
type gemmMixed[T uint16 | int8] struct {
	gemm[float32]
	micro *kernel.GemmMixed
	b     []T
	// blocked are the panels, instead of b, if they are in blocks.
	blocked *blocked
	tier    kernel.Tier
	// scales multiply the columns of results, before shifts, which may be nil, are added; nil if nothing does. The product has
	// no bias and no bounds then: limits are theirs.
	scales, shifts []float32
	limits         [2]float32
	// wide are places for panels in float32, each of room elements, which threads that have many rows take from slots.
	wide  []float32
	room  int
	slots Slots
}

// set makes g the product of the rows of x, each of k elements, with n columns.
func (g *gemmMixed[T]) set(c *Call, out *tensor.Tensor, x []float32, k, n int) {
	g.tier = c.Tier
	g.gemm = gemm[float32]{tiling: mixedTiling(g.micro), m: out.Numel() / n, n: n, k: k, a: x, lda: k, c: elems[float32](out), rs: n, bounds: kernel.Unclamped}
}

// widens reports whether so many rows are worth a panel in float32, which tiles then read without widening it in each.
func (g *gemmMixed[T]) widens(rows int) bool {
	if g.blocked != nil { // whose numbers take longer to make
		return rows > g.micro.Rows
	}
	return rows > 2*g.micro.Rows
}

// widenDepth is how many rows of a panel are in float32 at a time: 32 KiB in the widest tiers.
const widenDepth = 256

func (g *gemmMixed[T]) run(c *Call) {
	n, grain := g.pieces(c.Threads)
	small := g.small(c)
	if g.widens(g.m) && g.n >= g.cols {
		g.slots, g.room = Slots{Count: 1, Items: n}, g.cols*min(g.k, widenDepth)+SlotGap/f32Size
		if !small {
			g.slots.Count = max(1, min(c.Threads, n, MaxSlots))
		}
		g.wide, _ = tempOf[float32](c, g.slots.Count*g.room) // without, each tile widens
	}
	if small {
		g.parts(0, n)
	} else {
		share(c, g, n, grain)
	}
}

// parts computes panels lo to hi, or rows.
func (g *gemmMixed[T]) parts(lo, hi int) {
	var wide []float32
	if g.wide != nil {
		slot := g.slots.Enter(lo)
		defer g.slots.Leave(slot)
		wide = g.wide[slot*g.room:][:g.room-SlotGap/f32Size]
	}
	lo, hi, from, until := g.area(lo, hi)
	var noPanel T
	t := kernel.TileMixed{Tile: kernel.Tile{Stride: uintptr(g.lda * f32Size), Depth: uintptr(g.k), Segments: 1, Low: g.bounds[0], High: g.bounds[1],
		Panel: (*float32)(unsafe.Pointer(&noPanel))}}
	if g.blocked != nil {
		t.Depth, t.Segments = uintptr(g.blocked.rows), uintptr(g.blocked.count)
	}
	most := rowBlock
	if len(wide) > 0 {
		most *= 4
	}
	rows := balanced(hi-lo, max(most, leftBlock/max(g.k, 1)))
	for r := lo; r < hi; r += rows {
		end := min(r+rows, hi)
		for p := from; p < until; p++ {
			if len(wide) > 0 && g.widens(end-r) && (p+1)*g.cols <= g.n {
				g.widened(r, end, p, wide)
			} else {
				g.strip(&t, r, end, p)
			}
		}
		if g.scales != nil {
			g.scale(r, end, from*g.cols, min(until*g.cols, g.n))
		}
	}
}

// scale completes columns at to end of rows lo to hi.
func (g *gemmMixed[T]) scale(lo, hi, at, end int) {
	for i := lo; i < hi; i++ {
		row := g.c[i*g.rs+at : i*g.rs+end]
		kernel.ScaleRowF32(g.tier, row, g.scales[at:end], part32(g.shifts, at, end-at))
		if g.limits != kernel.Unclamped && !kernel.ClampF32(g.tier, row, row, g.limits) {
			clampTo(row, g.limits)
		}
	}
}

// widened computes rows lo to hi of panel p, a full one, in float32: some of its rows after the other, which stay in the cache as long as all
// tiles read them.
func (g *gemmMixed[T]) widened(lo, hi, p int, wide []float32) {
	micro := kernel.GemmF32(g.tier)
	t := kernel.Tile{Stride: uintptr(g.lda * f32Size), Segments: 1, Panel: &wide[0], OutStride: uintptr(g.rs * f32Size), Low: kernel.Unclamped[0], High: kernel.Unclamped[1],
		Start: &zeros[0]}
	if g.bias != nil {
		t.Start = &g.bias[p*g.cols]
	}
	height := balanced(hi-lo, tileRows(micro.Rows, g.lda))
	for k := 0; k < g.k; k += widenDepth {
		depth := min(widenDepth, g.k-k)
		if part := wide[:depth*g.cols]; g.blocked != nil {
			g.blocked.widen(part, p, k)
		} else {
			widenPanel(part, g.b[(p*g.k+k)*g.cols:][:len(part)], g.micro.Stored)
		}
		if t.Depth = uintptr(depth); k+depth == g.k {
			t.Low, t.High = g.bounds[0], g.bounds[1]
		}
		for i := lo; i < hi; i += height {
			t.Left, t.Out = at32(g.a, i*g.lda+k), at32(g.c, i*g.rs+p*g.cols)
			if k > 0 {
				t.Start, t.StartStride = t.Out, t.OutStride
			}
			micro.Run(&t, min(height, hi-i))
		}
	}
}

// strip computes rows lo to hi of panel p; t is a tile but for its places.
func (g *gemmMixed[T]) strip(t *kernel.TileMixed, lo, hi, p int) {
	if g.blocked != nil {
		g.blocked.place(t, p, 0)
	} else if g.k > 0 {
		t.Panel = (*float32)(unsafe.Pointer(&g.b[p*g.cols*g.k]))
	}
	height := balanced(hi-lo, g.micro.Rows)
	for i := lo; i < hi; i += height {
		t.Left = at32(g.a, i*g.lda)
		g.tile(*t, i, min(height, hi-i), p)
	}
}

// tile computes rows of panel p from row i on; results that do not fill the panel go through a buffer.
func (g *gemmMixed[T]) tile(t kernel.TileMixed, i, rows, p int) {
	at, cols := p*g.cols, min(g.cols, g.n-p*g.cols)
	var start [kernel.MaxCols]float32
	if g.bias != nil {
		copy(start[:cols], g.bias[at:])
	}
	t.Start = &start[0]
	if cols == g.cols {
		t.Out, t.OutStride = at32(g.c, i*g.rs+at), uintptr(g.rs*f32Size)
		g.micro.Run(&t, rows)
		return
	}
	var out [kernel.MaxRows * kernel.MaxCols]float32
	t.Out, t.OutStride = &out[0], uintptr(g.cols*f32Size)
	g.micro.Run(&t, rows)
	for r := range rows {
		copy(g.c[(i+r)*g.rs+at:][:cols], out[r*g.cols:])
	}
}

// widenPanel is a panel that is stored so, in float32.
func widenPanel[T uint16 | int8](o []float32, x []T, s kernel.Stored) {
	p := unsafe.Pointer(unsafe.SliceData(x))
	switch s {
	case kernel.StoredS8:
		q := unsafe.Slice((*int8)(p), len(x))
		for i := kernel.WidenS8(castTier(), o, q); i < len(o); i++ {
			o[i] = float32(q[i])
		}
	case kernel.StoredBF16:
		widenHalves(o, unsafe.Slice((*uint16)(p), len(x)), tensor.BFloat16)
	default:
		widenHalves(o, unsafe.Slice((*uint16)(p), len(x)), tensor.Half)
	}
}
