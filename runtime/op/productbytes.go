package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Bytes is a product of Float rows with constant weights of int8, which stand for what an operator makes of them: w·Scales.
type Bytes struct {
	// Scales are one for each column of results, one for all, or none, where weights are the numbers that they are.
	Scales []float32
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
	def := &Def{Schema: "rules_pte::bytes.out(Tensor input, Tensor weight, Tensor? bias, *, Tensor(a!) out) -> Tensor(a!)", Infer: b.infer, Tags: Clamps}
	return &Plan{Kernel: &Kernel{Def: def, DType: tensor.Float, Run: p.Kernel.Bytes.run}, state: state, tier: p.tier, inPlace: []int{-1}}
}

// infer is the rule of the operator.
func (b *Bytes) infer(c *Infer) error {
	w := c.Args[1].Tensor.Sizes
	if b.Rows {
		return inferLinearOf(c, [2]tensor.Dim{w[0], w[1]})
	}
	return inferLinearOf(c, [2]tensor.Dim{w[1], w[0]})
}

// byteProduct is the State of a product with weights of int8.
type byteProduct struct {
	tiles       *kernel.GemmMixed
	data        []int8 // panels
	depth, cols int
	scales      []float32 // of columns, or nil
}

func prepareBytes(b Bytes, args []Value, o Options) State {
	w, tiles := args[1].Tensor, kernel.MixedOf(o.Tier, kernel.StoredS8)
	if tiles == nil || w.Rank() != 2 || w.Numel() == 0 {
		return nil
	}
	m := matrixOf[int8](w, b.Rows)
	s := &byteProduct{tiles: tiles, depth: m.rows, cols: m.cols}
	switch len(b.Scales) {
	case 0:
	case 1, m.cols:
		s.scales = make([]float32, m.cols)
		for i := range s.scales {
			s.scales[i] = b.Scales[min(i, len(b.Scales)-1)]
		}
	default:
		return nil
	}
	t := mixedTiling(tiles)
	s.data = packOf(&Prep{Pack: o.Pack}, w, mixedLayout(w, b.Rows), t.len(m.rows, m.cols), func(dst []int8) { pack(dst, m, t) }).data
	return s
}

func runBytes(c *Call, state State) error {
	s, out := state.(*byteProduct), c.Out[0]
	x, err := contiguousOf[float32](c, c.Args[0].Tensor)
	if err != nil || out.Numel() == 0 {
		return err
	}
	g := gemmMixed[int8]{micro: s.tiles, b: s.data}
	g.set(c, out, x, s.depth, s.cols)
	if bias := vectorOf[float32](tensorAt(c.Args, 2)); s.scales == nil {
		g.bias, g.bounds = bias, c.bounds()
	} else {
		g.scales, g.shifts, g.limits = s.scales, bias, c.bounds()
	}
	g.run(c)
	return nil
}
