package op

import (
	"fmt"
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// attention64 is softmax(scale·(q·k) + mask)·v in float64; bias is the mask.
func attention64(q, k, v []float32, n, rows, depth, columns, width int, scale float64, bias func(i, r, s int) float64) []float64 {
	out := make([]float64, n*rows*width)
	for i := range n {
		for r := range rows {
			x, top, sum := make([]float64, columns), math.Inf(-1), 0.0
			for s := range x {
				for d := range depth {
					x[s] += float64(q[(i*rows+r)*depth+d]) * float64(k[(i*depth+d)*columns+s])
				}
				x[s] = x[s]*scale + bias(i, r, s)
				top = max(top, x[s])
			}
			for s := range x {
				x[s] = math.Exp(x[s] - top)
				sum += x[s]
			}
			for s := range x {
				for w := range width {
					out[(i*rows+r)*width+w] += x[s] / sum * float64(v[(i*columns+s)*width+w])
				}
			}
		}
	}
	return out
}

// planOfAttention is what the executor makes of two products and what is between them.
func planOfAttention(t *testing.T, tier kernel.Tier, a Attention) *Plan {
	t.Helper()
	sig := ParseSignature(Bmm.Schema)
	first, err := Prepare(&BmmF32, &sig, nil, nil, Options{Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	return PrepareAttention(first, a)
}

// TestAttention holds attention with masks of all kinds against float64, at sizes around those of tiles and blocks.
func TestAttention(t *testing.T) {
	for _, s := range [][5]int{{1, 1, 1, 1, 1}, {3, 5, 4, 7, 3}, {4, 25, 8, 33, 32}, {2, 49, 64, 197, 64}, {2, 3, 16, 1300, 20}, {2, 30, 32, 512, 8}, {3, 1, 32, 1029, 64}, {2, 8, 64, 1040, 96}, {2, 2, 16, 11, 16}} {
		n, rows, depth, columns, width := s[0], s[1], s[2], s[3], s[4]
		q, k, v := wave(int64(n), int64(rows), int64(depth)), wave(int64(n), int64(depth), int64(columns)), wave(int64(n), int64(columns), int64(width))
		added := wave(int64(n), 1, int64(rows), int64(columns))
		causal := testTensor(tensor.Bool, []int64{int64(rows), int64(columns)})
		for i := range causal.Data {
			causal.Data[i] = toBool(i%columns <= i/columns)
		}
		padding := testTensor(tensor.Bool, []int64{1, 1, 1, int64(columns)})
		for i := range padding.Data {
			padding.Data[i] = toBool(i*2 <= columns)
		}
		never := func(yes bool) float64 {
			if yes {
				return 0
			}
			return math.Inf(-1)
		}
		for name, m := range map[string]struct {
			mask *tensor.Tensor
			bias func(i, r, s int) float64
		}{
			"none":    {nil, func(_, _, _ int) float64 { return 0 }},
			"added":   {added, func(i, r, s int) float64 { return float64(elems[float32](added)[(i*rows+r)*columns+s]) }},
			"causal":  {causal, func(_, r, s int) float64 { return never(s <= r) }},
			"padding": {padding, func(_, _, s int) float64 { return never(2*s <= columns) }},
		} {
			for _, tier := range kernel.Tiers()[1:] {
				t.Run(fmt.Sprintf("%v/%s/%v", s, name, tier), func(t *testing.T) {
					scale := 1 / math.Sqrt(float64(depth)) / 4
					want := attention64(elems[float32](q), elems[float32](k), elems[float32](v), n, rows, depth, columns, width, scale, m.bias)
					plan := planOfAttention(t, tier, Attention{Scale: float32(scale)})
					for _, right := range []*tensor.Tensor{k, ordered(k, 0, 2, 1)} {
						checkAttention(t, plan, want, q, right, v, m.mask)
					}
				})
			}
		}
	}
}

// checkAttention runs a plan, on two threads too, with results of its own and where q lies.
func checkAttention(t *testing.T, plan *Plan, want []float64, q, k, v, mask *tensor.Tensor) {
	t.Helper()
	args := []any{q, k, v}
	if mask != nil {
		args = append(args, mask)
	}
	var temp Temp
	two := func(n, grain int, f func(lo, hi int)) {
		done := make(chan bool)
		go func() { f(n/2, n); close(done) }()
		f(0, n/2)
		<-done
	}
	for _, parallel := range []func(n, grain int, f func(lo, hi int)){nil, two} {
		out := testTensor(tensor.Float, []int64{q.Sizes[0], q.Sizes[1], v.Sizes[2]})
		if err := plan.Bind(vals(args...), []*tensor.Tensor{out}, &Env{Temp: &temp, Parallel: parallel}).Call(); err != nil {
			t.Fatal(err)
		}
		for i, x := range elems[float32](out) {
			if !(math.Abs(float64(x)-want[i]) <= 2e-5*(1+math.Abs(want[i]))) {
				t.Fatalf("element %d is %v, want %v", i, x, want[i])
			}
		}
	}
	if q.Sizes[2] != v.Sizes[2] {
		return
	}
	same := &tensor.Tensor{Meta: q.Meta.Clone(), Data: append([]byte(nil), q.Data...)}
	args[0] = same
	if err := plan.Bind(vals(args...), []*tensor.Tensor{same}, &Env{Temp: &temp}).Call(); err != nil {
		t.Fatal(err)
	}
	for i, x := range elems[float32](same) {
		if !(math.Abs(float64(x)-want[i]) <= 2e-5*(1+math.Abs(want[i]))) {
			t.Fatalf("in place element %d is %v, want %v", i, x, want[i])
		}
	}
}

// TestAttentionMaskedNaN masks scores that are no numbers, in rows with and without a kernel for the mask.
func TestAttentionMaskedNaN(t *testing.T) {
	for _, columns := range []int{9, maskLeast, 50} {
		q, k, v := wave(1, 2, 4), wave(1, 4, int64(columns)), wave(1, int64(columns), 16)
		mask := testTensor(tensor.Bool, []int64{1, int64(columns)})
		for i := range mask.Data {
			mask.Data[i] = toBool(i != 7)
		}
		bias := func(_, _, s int) float64 {
			if s == 7 {
				return math.Inf(-1)
			}
			return 0
		}
		want := attention64(elems[float32](q), elems[float32](k), elems[float32](v), 1, 2, 4, columns, 16, 1, bias)
		elems[float32](k)[7] = float32(math.NaN())
		for _, tier := range kernel.Tiers()[1:] {
			t.Run(fmt.Sprintf("%d/%v", columns, tier), func(t *testing.T) {
				checkAttention(t, planOfAttention(t, tier, Attention{Scale: 1}), want, q, k, v, mask)
			})
		}
	}
}

// TestAttentionEmptyRows masks all columns of a row, whose weights are NaN, or zeros: then a value that is infinite gives NaN.
func TestAttentionEmptyRows(t *testing.T) {
	for _, columns := range []int64{20, 1200} {
		q, k, v := wave(1, 2, 4), wave(1, 4, columns), wave(1, columns, 16)
		mask := testTensor(tensor.Bool, []int64{2, columns})
		mask.Data[columns] = 1
		first := elems[float32](v)[0]
		for _, tier := range kernel.Tiers()[1:] {
			for _, zero := range []bool{false, true} {
				for _, infinite := range []bool{false, true} {
					out := testTensor(tensor.Float, []int64{1, 2, 16})
					elems[float32](v)[16*(columns-2)+5] = 0
					if infinite {
						elems[float32](v)[16*(columns-2)+5] = float32(math.Inf(1))
					}
					plan := planOfAttention(t, tier, Attention{Scale: 1, EmptyZero: zero})
					if err := plan.Bind(vals(q, k, v, mask), []*tensor.Tensor{out}, &Env{Temp: new(Temp)}).Call(); err != nil {
						t.Fatal(err)
					}
					o := elems[float32](out)
					if zero && o[3] != 0 || !zero && o[3] == o[3] || (o[5] == o[5]) != (zero && !infinite) || (o[21] == o[21]) == infinite || o[16] != first {
						t.Errorf("%v: %d columns: zero %v, infinite %v: got %v", tier, columns, zero, infinite, o)
					}
				}
			}
		}
	}
}

// TestAttentionGroups lets heads share keys that have a row for each column, and values: by panels, and as they lie.
func TestAttentionGroups(t *testing.T) {
	checkAttentionGroups(t, 25, 8, 20, 33)
	for _, columns := range []int{33, 128, 300, 1100} {
		checkAttentionGroups(t, 1, 16, 32, columns)
		checkAttentionGroups(t, 4, 16, 32, columns)
	}
}

func checkAttentionGroups(t *testing.T, rows, depth, width, columns int) {
	t.Helper()
	const batch, shared, group = 2, 3, 2
	const n = batch * shared * group
	dim := func(n int) tensor.Dim { return tensor.Dim(n) }
	q := wave(batch, shared*group, dim(rows), dim(depth))
	k, v := wave(batch, shared, dim(columns), dim(depth)), wave(batch, shared, dim(columns), dim(width))
	keys, values := make([]float32, n*depth*columns), make([]float32, n*columns*width)
	for i := range n {
		for c := range columns {
			for d := range depth {
				keys[(i*depth+d)*columns+c] = elems[float32](k)[(i/group*columns+c)*depth+d]
			}
			copy(values[(i*columns+c)*width:][:width], elems[float32](v)[(i/group*columns+c)*width:])
		}
	}
	want := attention64(elems[float32](q), keys, values, n, rows, depth, columns, width, 1, func(_, _, _ int) float64 { return 0 })
	for _, tier := range kernel.Tiers()[1:] {
		a := Attention{Scale: 1, KeyRows: true, KeyGroups: true, ValueGroups: true, Lists: []AttentionSizes{KeyRowSizes}}
		plan := planOfAttention(t, tier, a)
		for sizes, ok := range map[[2]int64]bool{{int64(columns), int64(depth)}: true, {-1, int64(depth)}: true, {int64(depth), int64(columns)}: false} {
			out := testTensor(tensor.Float, []int64{n, int64(rows), int64(width)})
			call := plan.Bind(append(vals(q, k, v), Value{Kind: Ints, Ints: sizes[:]}), []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
			if err := call.Call(); (err == nil) != ok {
				t.Fatalf("%v: keys of sizes %v: %v", tier, sizes, err)
			}
			for i, x := range elems[float32](out) {
				if ok && !(math.Abs(float64(x)-want[i]) <= 2e-5*(1+math.Abs(want[i]))) {
					t.Fatalf("%v: element %d is %v, want %v", tier, i, x, want[i])
				}
			}
		}
		if err := planOfAttention(t, tier, Attention{Scale: 1, KeyRows: true}).Bind(vals(q, k, v), []*tensor.Tensor{testTensor(tensor.Float, []int64{n, int64(rows), int64(width)})},
			&Env{Temp: new(Temp)}).Call(); err == nil {
			t.Errorf("%v: fewer keys than heads are no error without groups", tier)
		}
	}
}
