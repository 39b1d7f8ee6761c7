package op

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// whole is an argument of fused operators, by its number, and made is the result of one of them.
type (
	whole int
	made  int
)

// linkCase is an operator among those that are fused.
type linkCase struct {
	k    *Kernel
	args []any
	to   tensor.ScalarType // of the result, where the operator does not say
}

// fuseCase are operators that run as one.
type fuseCase struct {
	args  []*tensor.Tensor
	links []linkCase
	// left is how many links there are when functions have taken the place of some.
	left int
}

// apart runs the operators one after another. It gives the arguments of each, and the last result.
func (c *fuseCase) apart(t *testing.T, tier kernel.Tier) (args [][]Value, results []*tensor.Tensor) {
	t.Helper()
	for _, l := range c.links {
		list := make([]any, len(l.args))
		for i, a := range l.args {
			switch a := a.(type) {
			case whole:
				list[i] = c.args[a]
			case made:
				list[i] = results[a]
			default:
				list[i] = a
			}
		}
		sig := ParseSignature(l.k.Def.Schema)
		infer := Infer{Args: vals(list...), Out: make([]tensor.Meta, 1)}
		if err := l.k.Def.Infer(&infer); err != nil {
			t.Fatal(err)
		}
		if !infer.Out[0].DType.Valid() {
			infer.Out[0].DType = l.to
		}
		plan, err := Prepare(l.k, &sig, infer.Args, infer.Out, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: make([]byte, infer.Out[0].Nbytes())}
		if err := plan.Bind(infer.Args, []*tensor.Tensor{out}, &Env{Temp: &Temp{}}).Call(); err != nil {
			t.Fatal(err)
		}
		args, results = append(args, infer.Args), append(results, out)
	}
	return args, results
}

// fused is the plan of the operators in one; sizes says of each what the result has at most, or 0 for what it has.
func (c *fuseCase) fused(t *testing.T, tier kernel.Tier) *Plan {
	t.Helper()
	args, results := c.apart(t, tier)
	links := make([]Link, len(c.links))
	for k, l := range c.links {
		sig := ParseSignature(l.k.Def.Schema)
		for i := range args[k] {
			if x := args[k][i].Tensor; x != nil { // which is no constant
				args[k][i].Tensor = &tensor.Tensor{Meta: x.Meta}
			}
		}
		plan, err := Prepare(l.k, &sig, args[k], []tensor.Meta{results[k].Meta}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		links[k] = Link{Plan: plan, Args: args[k], From: make([]int, len(l.args)), Out: results[k].Meta}
		for i, a := range l.args {
			switch a := a.(type) {
			case whole:
				links[k].From[i] = int(a)
			case made:
				links[k].From[i] = ^int(a)
			}
		}
		if !links[k].Fuses() {
			t.Fatalf("link %d does not fuse", k)
		}
	}
	return PrepareFused(links)
}

// hardswishOf and preluOf are what programs have in place of these functions.
func hardswishOf() []linkCase {
	return []linkCase{{k: &AddScalarF32, args: []any{whole(0), 3, 1}}, {k: &ClampF32, args: []any{made(0), 0, 6}}, {k: &MulF32, args: []any{whole(0), made(1)}},
		{k: &DivScalarF32, args: []any{made(2), 6}}}
}

func preluOf() []linkCase {
	return []linkCase{{k: &GtScalarF32, args: []any{whole(0), 0}}, {k: &MulF32, args: []any{whole(1), whole(0)}}, {k: &WhereSelfF32, args: []any{made(0), whole(0), made(1)}}}
}

// TestFused holds operators that run as one against the same ones apart: the bits are the same, but where a function takes
// the place of some.
func TestFused(t *testing.T) {
	pool := threads.New(3)
	defer pool.Close()
	last := func(x *tensor.Tensor) *tensor.Tensor { return ordered(x, lastOrder(4, true)...) }
	silu := []linkCase{{k: &SigmoidF32, args: []any{whole(0)}}, {k: &MulF32, args: []any{whole(0), made(0)}}}
	curve := []linkCase{{k: &TanhF32, args: []any{whole(0)}}, {k: &MulF32, args: []any{whole(0), made(0)}}}
	gated := []linkCase{silu[0], {k: &MulF32, args: []any{made(0), whole(0)}}, {k: &MulF32, args: []any{made(1), whole(1)}}}
	shared := []linkCase{silu[0], silu[1], {k: &AddF32, args: []any{made(0), made(1), 1}}}
	scaled := []linkCase{{k: &MulF32, args: []any{whole(0), whole(1)}}, {k: &AddF32, args: []any{made(0), whole(2), 2}}, {k: &TanhF32, args: []any{made(1)}}}
	chosen := []linkCase{{k: &GtF32, args: []any{whole(0), whole(1)}}, {k: &LogicalNotBool, args: []any{made(0)}}, {k: &WhereSelfF32, args: []any{made(1), whole(0), whole(1)}}}
	whole7 := append(hardswishOf(), linkCase{k: &AddF32, args: []any{made(3), whole(0), 1}}, linkCase{k: &ReluF32, args: []any{made(4)}})
	for name, c := range map[string]fuseCase{
		"one element":            {[]*tensor.Tensor{wave(1)}, curve, 2},
		"no elements":            {[]*tensor.Tensor{wave(0, 3)}, curve, 2},
		"some pieces":            {[]*tensor.Tensor{wave(5, 1001)}, curve, 2},
		"several threads":        {[]*tensor.Tensor{wave(3, 77777)}, curve, 2},
		"by column":              {[]*tensor.Tensor{wave(50, 333), wave(333), wave(50, 333)}, scaled, 3},
		"by few columns":         {[]*tensor.Tensor{wave(7777, 5), wave(5), wave(1, 5)}, scaled, 3},
		"by long column":         {[]*tensor.Tensor{wave(3, 5000), wave(5000), wave(1)}, scaled, 3},
		"by row":                 {[]*tensor.Tensor{wave(50, 700), wave(50, 1), wave(50, 700)}, scaled, 3},
		"by short row":           {[]*tensor.Tensor{wave(700, 7, 3), wave(700, 1, 1), wave(7, 1)}, scaled, 3},
		"by channel":             {[]*tensor.Tensor{wave(2, 10, 40, 30), wave(1, 10, 1, 1), wave(2, 10, 40, 30)}, scaled, 3},
		"by channel, last":       {[]*tensor.Tensor{last(wave(2, 10, 40, 30)), wave(1, 10, 1, 1), last(wave(2, 10, 40, 30))}, scaled, 3},
		"by column and row":      {[]*tensor.Tensor{wave(90, 80), wave(90, 1), wave(1, 80)}, scaled, 3},
		"choice":                 {[]*tensor.Tensor{wave(60, 60), wave(60, 1)}, chosen, 3},
		"hardswish":              {[]*tensor.Tensor{wave(3, 4000)}, hardswishOf(), 1},
		"hardswish and more":     {[]*tensor.Tensor{wave(3, 4000)}, whole7, 3},
		"slope by channel":       {[]*tensor.Tensor{wave(2, 10, 40, 30), wave(10, 1, 1)}, preluOf(), 1},
		"slope by channel, last": {[]*tensor.Tensor{last(wave(2, 10, 40, 30)), wave(10, 1, 1)}, preluOf(), 1},
		"half":                   {rounded(tensor.Half, wave(3, 77777)), []linkCase{{k: &SigmoidF16, args: []any{whole(0)}}, {k: &MulF16, args: []any{whole(0), made(0)}}}, 2},
		"one of half":            {rounded(tensor.Half, wave(3, 4000)), []linkCase{{k: &HardtanhF16, args: []any{whole(0), 0, 6}}}, 1},
		"half by channel": {rounded(tensor.BFloat16, last(wave(2, 10, 40, 30)), wave(1, 10, 1, 1), last(wave(2, 10, 40, 30))),
			[]linkCase{{k: &MulBF16, args: []any{whole(0), whole(1)}}, {k: &AddBF16, args: []any{made(0), whole(2), 2}}, {k: &TanhBF16, args: []any{made(1)}}}, 3},
		"half as float": {rounded(tensor.Half, wave(50, 333), wave(50, 333)), []linkCase{{k: &ToDimOrderCopyF32, args: []any{whole(0), false, nil}, to: tensor.Float},
			{k: &SigmoidF32, args: []any{made(0)}}, {k: &ToDimOrderCopyF16, args: []any{made(1), false, nil}, to: tensor.Half}, {k: &MulF16, args: []any{made(2), whole(1)}}}, 4},
		"half and bool": {rounded(tensor.Half, wave(60, 60), wave(60, 1)),
			[]linkCase{{k: &GtF16, args: []any{whole(0), whole(1)}}, {k: &LogicalNotBool, args: []any{made(0)}}, {k: &WhereSelfF16, args: []any{made(1), whole(0), whole(1)}}}, 3},
		"silu":               {[]*tensor.Tensor{wave(3, 7777)}, silu, 1},
		"silu of one":        {[]*tensor.Tensor{wave(1)}, silu, 1},
		"silu, and more":     {[]*tensor.Tensor{last(wave(2, 10, 40, 30)), wave(10, 1, 1)}, gated, 2},
		"sigmoid read twice": {[]*tensor.Tensor{wave(3, 777)}, shared, 3},
		"slope for each":     {[]*tensor.Tensor{wave(3, 7777), wave(3, 7777)}, preluOf(), 1},
		"slope for all":      {[]*tensor.Tensor{wave(2, 10, 40, 30), wave(1)}, preluOf(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
				_, results := c.apart(t, tier)
				want := results[len(results)-1]
				plan := c.fused(t, tier)
				left := len(c.links)
				if tier != kernel.Scalar {
					left = c.left
				}
				if n := len(plan.state.(*fused).links); n != left {
					t.Errorf("%v: %d links are left, want %d", tier, n, left)
				}
				for _, count := range []int{1, 3} {
					got := &tensor.Tensor{Meta: want.Meta.Clone(), Data: make([]byte, len(want.Data))}
					v := plan.Bind(valsOf(c.args), []*tensor.Tensor{got}, &Env{Temp: &Temp{}, Parallel: pool.Run, Threads: count})
					v.Fixed = true
					for range 3 { // the second call keeps what follows from the sizes
						clear(got.Data)
						if err := v.Call(); err != nil {
							t.Fatal(err)
						}
						checkFused(t, got, want, left < len(c.links))
					}
					if n := testing.AllocsPerRun(5, func() {
						if err := v.Call(); err != nil {
							t.Fatal(err)
						}
					}); n != 0 {
						t.Errorf("%v: %v allocations", tier, n)
					}
					for i := range c.args {
						c.inPlace(t, plan, i, want, &Env{Temp: &Temp{}, Parallel: pool.Run, Threads: count}, left < len(c.links))
					}
				}
			}
		})
	}
}

// inPlace holds the result in the place of argument i, if that is like it, against one apart.
func (c *fuseCase) inPlace(t *testing.T, plan *Plan, i int, want *tensor.Tensor, env *Env, near bool) {
	t.Helper()
	x := c.args[i]
	if x.DType != want.DType || !slices.Equal(x.Sizes, want.Sizes) {
		return
	}
	args := valsOf(c.args)
	got := &tensor.Tensor{Meta: x.Meta, Data: bytes.Clone(x.Data)}
	args[i].Tensor = got
	if err := plan.Bind(args, []*tensor.Tensor{got}, env).Call(); err != nil {
		t.Fatal(err)
	}
	checkFused(t, got, want, near)
}

// rounded are tensors of Float in another type.
func rounded(d tensor.ScalarType, list ...*tensor.Tensor) (all []*tensor.Tensor) {
	for _, t := range list {
		all = append(all, halfOf(t, d))
	}
	return all
}

// valsOf is vals of tensors.
func valsOf(list []*tensor.Tensor) (v []Value) {
	for _, t := range list {
		v = append(v, Value{Kind: Tensor, Tensor: t})
	}
	return v
}

// checkFused holds one result against another: the same bits, or nearly so.
func checkFused(t *testing.T, got, want *tensor.Tensor, near bool) {
	t.Helper()
	if !near {
		if !bytes.Equal(got.Data, want.Data) {
			t.Fatal("the bits differ")
		}
		return
	}
	w := elems[float32](want)
	for i, x := range elems[float32](got) {
		if math.Abs(float64(x-w[i])) > 1e-6*math.Abs(float64(w[i])) {
			t.Fatalf("element %d is %v, want %v", i, x, w[i])
		}
	}
}

// TestFusedOfOtherSizes calls a plan for sizes that are smaller than those that it was made for, so that they broadcast in
// other ways.
func TestFusedOfOtherSizes(t *testing.T) {
	links := []linkCase{{k: &SigmoidF32, args: []any{whole(0)}}, {k: &MulF32, args: []any{made(0), whole(1)}}, {k: &AddF32, args: []any{made(1), whole(2), 1}}}
	large := fuseCase{[]*tensor.Tensor{wave(6, 50, 40), wave(6, 50, 40), wave(6, 50, 40)}, links, 3}
	for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
		plan := large.fused(t, tier)
		for _, sizes := range [][3]dims{
			{{6, 50, 40}, {6, 50, 40}, {6, 50, 40}},
			{{1, 1, 1}, {1, 1, 1}, {6, 50, 40}},
			{{1, 50, 1}, {1, 50, 40}, {6, 1, 1}},
			{{6, 1, 40}, {6, 50, 40}, {1, 50, 1}},
			{{1, 1, 40}, {6, 1, 1}, {1, 1, 1}},
		} {
			c := fuseCase{nil, links, 3}
			for _, s := range sizes {
				c.args = append(c.args, wave(s...))
			}
			_, results := c.apart(t, tier)
			want := results[len(results)-1]
			got := &tensor.Tensor{Meta: want.Meta.Clone(), Data: make([]byte, len(want.Data))}
			if err := plan.Bind(valsOf(c.args), []*tensor.Tensor{got}, &Env{Temp: &Temp{}}).Call(); err != nil {
				t.Fatal(err)
			}
			checkFused(t, got, want, tier != kernel.Scalar) // one number has bits of its own
		}
	}
}
