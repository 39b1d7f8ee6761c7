package passes

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestMergeRandom merges random graphs of convolutions, norms, sums and products of an image, and holds what they give after it, and
// after fuse-batch-norm, against what they gave before.
func TestMergeRandom(t *testing.T) {
	merged := 0
	const graphs = 3000
	for seed := range uint64(graphs) {
		r := rand.New(rand.NewPCG(seed, 7))
		g, c := newBranches(r)
		m := c.Program.Methods[0]
		want, nodes, text := g.values(t), len(g.b.Graph.Nodes), m.Text(c.Table)
		for _, pass := range []func(*Context, *exir.Method) error{mergeConvolutions, fuseBatchNorm} {
			if err := pass(c, m); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if err := Verify(c, m, []Fact{CoreOps, TensorArgs, Functional}); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			for k, got := range g.values(t) {
				for i, x := range got {
					if scale := slices.Max(want[k]) - slices.Min(want[k]) + 1; !(math.Abs(x-want[k][i]) <= g.near()*scale) {
						t.Fatalf("seed %d: output %d has %g at %d, want %g\n%s\nafter\n%s", seed, k, x, i, want[k][i], text, m.Text(c.Table))
					}
				}
			}
			if len(m.Graph.Nodes) != nodes {
				merged++
			}
			nodes = -1 // count a graph once
		}
	}
	if merged < graphs/4 {
		t.Errorf("%d of %d graphs change", merged, graphs)
	}
}

// branches makes a graph over constants.
type branches struct {
	*rand.Rand
	b         *exir.Builder
	dtype     tensor.ScalarType
	channels  int
	spatial   int
	groups    []int // divisors of channels
	stride    int64
	literals  int
	images    []*exir.Value
	usedGroup int
}

// noBranches is a graph of dtype to which nodes are to be added, until returns gives it outputs.
func noBranches(r *rand.Rand, dtype tensor.ScalarType) (*branches, *Context) {
	table := symint.NewTable()
	m := &exir.Method{Name: "forward", Graph: &exir.Graph{}}
	c := &Context{Table: table, Program: &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}}
	return &branches{Rand: r, b: exir.NewBuilder(c.Program, m.Graph), dtype: dtype, channels: 4}, c
}

// returns makes values the outputs of c's method, whose nodes are g's.
func (g *branches) returns(c *Context, outs ...*exir.Value) *exir.Method {
	m := c.Program.Methods[0]
	m.Graph.Nodes = g.b.Graph.Nodes
	for _, v := range outs {
		m.Graph.Outputs = append(m.Graph.Outputs, exir.ToArg(v))
	}
	m.Outputs = make([]exir.OutputSpec, len(outs))
	g.b.Graph = m.Graph
	return m
}

func newBranches(r *rand.Rand) (*branches, *Context) {
	g, c := noBranches(r, tensor.Double)
	g.channels, g.spatial, g.stride = []int{1, 2, 4, 4}[r.IntN(4)], 1+r.IntN(3), 1+int64(r.IntN(4)/3)
	if r.IntN(4) == 0 {
		g.dtype = tensor.Float
	}
	for d := 1; d <= g.channels; d++ {
		if g.channels%d == 0 {
			g.groups = append(g.groups, d)
		}
	}
	g.usedGroup = g.groups[r.IntN(len(g.groups))]
	sizes := []int{1 + r.IntN(2), g.channels}
	for range g.spatial {
		sizes = append(sizes, 4+r.IntN(2))
	}
	g.images = append(g.images, g.literal(-1, sizes...))
	for range 3 + r.IntN(12) {
		at := len(g.b.Graph.Nodes)
		if v := g.node(); g.b.Err != nil {
			g.b.Err, g.b.Graph.Nodes = nil, g.b.Graph.Nodes[:at] // sizes do not fit
		} else if v.Spec.Rank() == len(sizes) && int(v.Spec.Sizes[1]) == g.channels && v.Spec.Numel() > 0 {
			g.images = append(g.images, v)
		}
	}
	outs := []*exir.Value{g.images[len(g.images)-1]}
	if r.IntN(5) == 0 {
		outs = append(outs, g.image())
	}
	if err := deadCode(c, g.returns(c, outs...)); err != nil {
		panic(err)
	}
	return g, c
}

// near is how near results are to what they were, relative to the largest.
func (g *branches) near() float64 {
	if g.dtype == tensor.Float {
		return 1e-2
	}
	return 1e-8
}

// literal is a constant of numbers from low to 1.
func (g *branches) literal(low float64, sizes ...int) *exir.Value {
	m, data := tensor.Meta{DType: g.dtype}, []byte(nil)
	n := 1
	for _, s := range sizes {
		n *= s
		m.Sizes = append(m.Sizes, tensor.Dim(s))
	}
	for range n {
		data = append(data, exir.EncodeFloat(g.dtype, low+(1-low)*g.Float64())...)
	}
	g.literals++
	return g.b.Literal("c"+strconv.Itoa(g.literals), m, data)
}

// image is one of those made, most often of the last ones.
func (g *branches) image() *exir.Value {
	n := len(g.images)
	if g.IntN(2) == 0 {
		return g.images[g.IntN(n)]
	}
	return g.images[n-1-g.IntN(min(3, n))]
}

// byChannel is a constant of one number, or of one for each channel.
func (g *branches) byChannel() *exir.Value {
	n := []int{1, g.channels}[g.IntN(2)]
	sizes := [][]int{{}, {n}, {1, n}}[g.IntN(3)]
	if len(sizes) > 0 {
		sizes = append(sizes, ones2(g.spatial)...)
	}
	return g.literal(-1, sizes...)
}

func ones2(n int) []int { return slices.Repeat([]int{1}, n) }

// maybe is a constant with a number for each channel, or nil.
func (g *branches) maybe() any {
	if g.IntN(2) == 0 {
		return nil
	}
	return g.literal(-1, g.channels)
}

// node adds a node.
func (g *branches) node() *exir.Value {
	v, add := g.image(), []string{"aten::add.Tensor", "aten::sub.Tensor"}[g.IntN(2)]
	alpha := []float64{1, 1, 2, -0.5}[g.IntN(4)]
	switch g.IntN(12) {
	case 0, 1, 2, 3, 4:
		return g.convolution(v)
	case 5:
		return g.b.Op("aten::relu", v)
	case 6:
		return g.b.Op("aten::_native_batch_norm_legit_no_training", v, g.maybe(), g.maybe(), g.literal(-1, g.channels), g.literal(0.5, g.channels), 0.0, 1e-5)
	case 7:
		return g.b.Op("aten::mul.Tensor", v, g.byChannel())
	case 8:
		return g.b.Op(add, v, g.byChannel(), alpha)
	case 9:
		return g.b.Op(add, g.byChannel(), v, alpha)
	}
	return g.b.Op(add, v, g.image(), alpha)
}

func (g *branches) convolution(v *exir.Value) *exir.Value {
	groups, sizes := g.usedGroup, []int{g.channels, 0}
	if g.IntN(6) == 0 {
		groups = g.groups[g.IntN(len(g.groups))]
	}
	sizes[1] = g.channels / groups
	var stride, pad, dilation []int64
	for range g.spatial {
		k, d := 1+g.IntN(4), 1+g.IntN(2)
		if (k-1)*d%2 != 0 {
			d = 2
		}
		sizes = append(sizes, k)
		stride, dilation, pad = append(stride, g.stride), append(dilation, int64(d)), append(pad, int64((k-1)*d/2))
	}
	if g.IntN(12) == 0 {
		pad[0] = int64(g.IntN(3))
	}
	if g.IntN(15) == 0 {
		stride[0] = 3 - stride[0]
	}
	if g.IntN(4) == 0 { // one for all dimensions
		stride, pad, dilation = stride[:1], pad[:1], dilation[:1]
	}
	return g.b.Op(convolution, v, g.literal(-1, sizes...), g.maybe(), stride, pad, dilation, false, make([]int64, g.spatial), groups)
}

// values computes the outputs.
func (g *branches) values(t *testing.T) (all [][]float64) {
	for _, n := range g.b.Graph.Nodes {
		for i, v := range n.Outs {
			v.Const = &exir.Constant{Name: v.Name, Meta: v.Spec, Node: &exir.ConstExpr{Op: n.Op, Args: n.Args, Out: i}}
			defer func() { v.Const = nil }()
		}
	}
	var room scratch.Scratch
	defer room.Close()
	evaluate := pack.Evaluator(nil, &room)
	for _, out := range g.b.Graph.Outputs {
		data, err := evaluate(out.Value.Const)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, out.Value.Spec.Numel())
		for i := range x {
			switch g.dtype {
			case tensor.Double:
				x[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
			case tensor.Float:
				x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
			case tensor.Half:
				x[i] = float64(tensor.HalfToFloat32(binary.LittleEndian.Uint16(data[2*i:])))
			case tensor.BFloat16:
				x[i] = float64(tensor.BFloat16ToFloat32(binary.LittleEndian.Uint16(data[2*i:])))
			}
		}
		all = append(all, x)
	}
	return all
}
