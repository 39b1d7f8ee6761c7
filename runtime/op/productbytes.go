package op

import (
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Dequantized is how constant weights of int8 stand for numbers: (w - zero)·scale.
type Dequantized struct {
	// Scales are one for all, one for the weights of each result, or some for those, of which each is for a block of them, result by result.
	Scales []float32
	// Zeros are the zero points, as many as Scales; nil where all are 0.
	Zeros []float32
	// WeightRows, if it is not 0, is how many rows weights have that lie as a matrix of blocks.
	WeightRows int
}

// Bytes is a product of Float rows with constant weights of int8, which stand for other numbers or, without Scales, for themselves.
type Bytes struct {
	Dequantized
	// Rows says that weights are [columns, depth], as linear has them, else [depth, columns].
	Rows bool
}

// ByteKernels compute products with weights of int8.
type ByteKernels struct {
	prepare func(b Bytes, args []Value, o Options) State
	run     func(c *Call, s State) error
}

var byteKernels = ByteKernels{prepareBytes, runBytes}

// PrepareBytes makes a plan that computes in one what two operators do: that of p, which makes Float of weights of int8, and the one that
// multiplies rows with them. args are rows of Float [.., depth], the weights and, or not, a bias [columns] or None; they are not kept. It is nil if p
// has no kernel for that.
func PrepareBytes(p *Plan, b Bytes, args []Value, pack PackFunc) *Plan {
	if p.Kernel.Bytes == nil {
		return nil
	}
	state := p.Kernel.Bytes.prepare(b, args, Options{Pack: pack, Tier: p.tier})
	if state == nil {
		return nil
	}
	b.Scales, b.Zeros = nil, nil // which the state has
	def := &Def{Schema: "rules_pte::bytes.out(Tensor input, Tensor weight, Tensor? bias, *, Tensor(a!) out) -> Tensor(a!)", Infer: b.infer, Tags: Clamps}
	return &Plan{Kernel: &Kernel{Def: def, DType: tensor.Float, Run: p.Kernel.Bytes.run}, state: state, tier: p.tier, inPlace: []int{-1}}
}

// infer is the rule of the operator.
func (b *Bytes) infer(c *Infer) error {
	w := c.Args[1].Tensor
	switch {
	case b.WeightRows > 0:
		return inferLinearOf(c, [2]tensor.Dim{tensor.Dim(b.WeightRows), tensor.Dim(w.Numel() / b.WeightRows)})
	case b.Rows:
		return inferLinearOf(c, [2]tensor.Dim{w.Sizes[0], w.Sizes[1]})
	}
	return inferLinearOf(c, [2]tensor.Dim{w.Sizes[1], w.Sizes[0]})
}

// byteProduct is the State of a product with weights of int8.
type byteProduct struct {
	tiles       *kernel.GemmMixed
	data        []int8 // panels
	depth, cols int
	scales      []float32 // of columns, or nil
	blocked     *blocked  // instead of data and scales
}

func prepareBytes(b Bytes, args []Value, o Options) State {
	w, tiles := args[1].Tensor, kernel.MixedOf(o.Tier, kernel.StoredS8) // which all tiers have that have tiles of blocks
	if tiles == nil || w.Rank() != 2 || w.Numel() == 0 {
		return nil
	}
	m := matrixOf[int8](w, b.Rows)
	if b.WeightRows > 0 {
		if !b.Rows || !w.Contiguous() || w.Numel()%b.WeightRows != 0 {
			return nil
		}
		m.rows, m.cols = w.Numel()/b.WeightRows, b.WeightRows
		m.rs, m.cs = 1, m.rows
	}
	if n := len(b.Scales); n > 1 && n%m.cols != 0 || b.Zeros != nil && len(b.Zeros) != n {
		return nil
	}
	p := &Prep{Pack: o.Pack, Tier: o.Tier}
	fit := len(b.Scales) > 0 && kernel.FitS4(m.data)
	if len(b.Scales) > m.cols || b.Zeros != nil || fit && m.rows%2 == 0 && m.rows >= shortestBlock {
		return prepareBlocks(p, b, w, m, fit)
	}
	if b.WeightRows > 0 {
		return nil
	}
	s := &byteProduct{tiles: tiles, depth: m.rows, cols: m.cols}
	if len(b.Scales) > 0 {
		s.scales = make([]float32, m.cols)
		for i := range s.scales {
			s.scales[i] = b.Scales[min(i, len(b.Scales)-1)]
		}
	}
	t := mixedTiling(tiles)
	s.data = packOf(p, w, mixedLayout(w, b.Rows), t.len(m.rows, m.cols), func(dst []int8) { packWeights(dst, m, t) }).data
	return s
}

// prepareBlocks is prepareBytes of weights with zero points, or with scales for blocks of rows, or all of which fit 4 bits.
func prepareBlocks(p *Prep, b Bytes, w *tensor.Tensor, m matrix[int8], fit bool) State {
	s := blockedOf(p.Tier, b, m, fit)
	if s == nil {
		return nil
	}
	layout := mixedLayout(w, b.Rows) + " in " + strconv.Itoa(s.count) + "x" + strconv.Itoa(s.columns) + " blocks, " + strconv.Itoa(s.weightBytes(s.rows)) + " bytes each"
	s.data = p.Pack.orNew()(w, Packing{Layout: layout, Bytes: s.bytes(), From: [][]byte{bytesOf(b.Scales), bytesOf(b.Zeros)}, Fill: func(dst []byte) { s.pack(dst, b, m) }})
	return &byteProduct{tiles: s.micro, depth: m.rows, cols: m.cols, blocked: s}
}

func runBytes(c *Call, state State) error {
	s, out := state.(*byteProduct), c.Out[0]
	x, err := contiguousOf[float32](c, c.Args[0].Tensor)
	if err != nil || out.Numel() == 0 {
		return err
	}
	g := gemmMixed[int8]{micro: s.tiles, b: s.data, blocked: s.blocked}
	g.set(c, out, x, s.depth, s.cols)
	if bias := vectorOf[float32](tensorAt(c.Args, 2)); s.scales == nil {
		g.bias, g.bounds = bias, c.bounds()
	} else {
		g.scales, g.shifts, g.limits = s.scales, bias, c.bounds()
	}
	g.run(c)
	return nil
}
