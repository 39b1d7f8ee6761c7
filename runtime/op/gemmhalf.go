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
func (h half) tiles(t kernel.Tier) *kernel.GemmHalf {
	return kernel.HalvesOf(t, h.DType == tensor.BFloat16)
}

func halfTiling(g *kernel.GemmHalf) tiling { return tiling{cols: g.Cols} }

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
	layout := "panels of " + t.DType.String()
	if transposed {
		layout = "panels of rows of " + t.DType.String()
	}
	b := matrixOf[uint16](t, transposed)
	if g := h.tiles(p.Tier); g != nil {
		return packOf(p, t, layout, halfTiling(g).len(b.rows, b.cols), func(dst []uint16) { pack(dst, b, halfTiling(g)) }), nil
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
		data, err := tempOf[uint16](c, halfTiling(tiles).len(m.rows, m.cols))
		if err != nil {
			return err
		}
		pack(data, m, halfTiling(tiles))
		w = &packed[uint16]{data: data}
	}
	if out.Numel() == 0 {
		return nil
	}
	g := gemmHalf{micro: tiles, b: w.data, dtype: b.DType, float: tilingOf[float32](c.Tier)}
	g.gemm = gemm[float32]{tiling: halfTiling(tiles), m: out.Numel() / m.cols, n: m.cols, k: m.rows, a: x, lda: m.rows, c: elems[float32](out), rs: m.cols, bias: bias,
		bounds: c.bounds()}
	g.run(c)
	return nil
}

// gemmHalf is a product whose right factor is packed in 16 bits.
type gemmHalf struct {
	gemm[float32]
	micro *kernel.GemmHalf
	b     []uint16
	dtype tensor.ScalarType // of b
	float tiling            // of panels in float32, which are as wide
	// wide are places for panels in float32, each of room elements, which threads that have many rows take from slots.
	wide  []float32
	room  int
	slots Slots
}

// widenRows is how many rows are worth a panel in float32, which tiles then read without widening it in each.
const widenRows = 32

func (g *gemmHalf) run(c *Call) {
	n, grain := g.pieces(c.Threads)
	small := g.small(c)
	if g.m >= widenRows && g.n >= g.cols {
		g.slots, g.room = Slots{Count: 1, Items: n}, g.cols*g.k+SlotGap/f32Size
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
func (g *gemmHalf) parts(lo, hi int) {
	var wide []float32
	if g.wide != nil {
		slot := g.slots.Enter(lo)
		defer g.slots.Leave(slot)
		wide = g.wide[slot*g.room:][:g.cols*g.k]
	}
	lo, hi, from, until := g.area(lo, hi)
	var noPanel uint16
	t := kernel.Tile{Stride: uintptr(g.lda * f32Size), Depth: uintptr(g.k), Segments: 1, Low: g.bounds[0], High: g.bounds[1], Panel: (*float32)(unsafe.Pointer(&noPanel))}
	rows := balanced(hi-lo, max(rowBlock, leftBlock/max(g.k, 1)))
	for r := lo; r < hi; r += rows {
		end := min(r+rows, hi)
		for p := from; p < until; p++ {
			if len(wide) > 0 && end-r >= widenRows && (p+1)*g.cols <= g.n {
				g.widened(r, end, p, wide)
			} else {
				g.strip(&t, r, end, p)
			}
		}
	}
}

// widened computes rows lo to hi of panel p, a full one, in float32.
func (g *gemmHalf) widened(lo, hi, p int, wide []float32) {
	widenHalves(wide, g.b[p*len(wide):], g.dtype)
	at, q := p*g.cols, g.gemm
	q.tiling, q.b, q.n, q.c, q.bias = g.float, wide, g.cols, g.c[at:], part32(g.bias, at, g.cols)
	q.tiles(lo, hi, 0, 1)
}

// strip computes rows lo to hi of panel p; t is a tile but for its places.
func (g *gemmHalf) strip(t *kernel.Tile, lo, hi, p int) {
	if g.k > 0 {
		t.Panel = (*float32)(unsafe.Pointer(&g.b[p*g.cols*g.k]))
	}
	height := balanced(hi-lo, g.micro.Rows)
	for i := lo; i < hi; i += height {
		t.Left = at32(g.a, i*g.lda)
		g.tile(*t, i, min(height, hi-i), p)
	}
}

// tile computes rows of panel p from row i on; results that do not fill the panel go through a buffer.
func (g *gemmHalf) tile(t kernel.Tile, i, rows, p int) {
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
