package passes

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestFuseProducts fuses what has its results' channels elsewhere than a convolution: a transposed one, whose weights have them in dimension
// 1 and whose input has fewer, and linears, with a bias and without.
func TestFuseProducts(t *testing.T) {
	for name, product := range map[string]func(g *branches) *exir.Value{
		"transposed convolution": func(g *branches) *exir.Value {
			return g.b.Op(convolution, g.literal(-1, 1, 3, 5, 5), g.literal(-1, 3, 4, 3, 2), nil, []int64{2, 1}, []int64{1, 0}, []int64{1, 1}, true, []int64{0, 0}, 1)
		},
		"linear": func(g *branches) *exir.Value {
			return g.b.Op(linearName, g.literal(-1, 2, 3), g.literal(-1, 4, 3), g.literal(-1, 4))
		},
		"linear without bias": func(g *branches) *exir.Value {
			return g.b.Op(linearName, g.literal(-1, 2, 3), g.literal(-1, 4, 3), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, context := noBranches(rand.New(rand.NewPCG(1, 3)), tensor.Double)
			v := product(g)
			m := g.returns(context, g.b.Op(batchNorm, v, g.literal(-1, 4), g.literal(-1, 4), g.literal(-1, 4), g.literal(0.1, 4), 0.0, 1e-5))
			want := g.values(t)[0]
			if err := fuseBatchNorm(context, m); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(m.Graph.Nodes, func(n *exir.Node) bool { return n.Op.Name == batchNorm }) {
				t.Fatal("the norm is still there")
			}
			for i, got := range g.values(t)[0] {
				if !(math.Abs(got-want[i]) <= 1e-9) {
					t.Fatalf("result %d is %g, want %g", i, got, want[i])
				}
			}
		})
	}
}

// TestFuseHalves fuses a convolution of a half type, with a bias and without, with its norm: results stay within four roundings of the largest,
// those of the convolution's result before, of the norm's, and of the weights.
func TestFuseHalves(t *testing.T) {
	for _, c := range []struct {
		dtype tensor.ScalarType
		near  float64 // one rounding, relative to the largest result
	}{{tensor.Half, 1.0 / 1024}, {tensor.BFloat16, 1.0 / 128}} {
		for seed := range uint64(8) {
			g, context := noBranches(rand.New(rand.NewPCG(seed, 3)), c.dtype)
			x, w, bias := g.literal(-1, 1, 4, 6, 6), g.literal(-1, 4, 4, 3, 3), g.maybe()
			mean, variance := g.literal(-1, 4), g.literal(0.01, 4)
			v := g.b.Op(convolution, x, w, bias, []int64{1, 1}, []int64{1, 1}, []int64{1, 1}, false, []int64{0, 0}, 1)
			m := g.returns(context, g.b.Op(batchNorm, v, g.maybe(), g.maybe(), mean, variance, 0.0, 1e-5))
			want := g.values(t)[0]
			if err := fuseBatchNorm(context, m); err != nil {
				t.Fatal(err)
			}
			if err := Verify(context, m, []Fact{CoreOps, TensorArgs, Functional}); err != nil {
				t.Fatal(err)
			}
			if n := len(m.Graph.Nodes); n != 1 {
				t.Fatalf("%v: there are %d nodes, want the convolution alone", c.dtype, n)
			}
			most := 0.0
			for _, v := range want {
				most = max(most, math.Abs(v))
			}
			for i, got := range g.values(t)[0] {
				if !(math.Abs(got-want[i]) <= 4*c.near*most) {
					t.Fatalf("%v, seed %d: result %d is %g, want %g, the largest is %g", c.dtype, seed, i, got, want[i], most)
				}
			}
		}
	}
}
