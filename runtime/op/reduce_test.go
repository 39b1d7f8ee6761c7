package op

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestReduce(t *testing.T) {
	x := func() *tensor.Tensor { return testTensor(tensor.Float, []int64{2, 3}, 1, 5, 3, 4, 2, 6) }
	n := testTensor(tensor.Long, []int64{2, 2}, 1, 2, 3, 4)
	tests := []struct {
		name string
		def  *Def
		args []any
		want []float64
	}{
		{"sum rows", &SumIntList, []any{x(), []int64{1}, false, nil}, []float64{9, 12}},
		{"sum columns", &SumIntList, []any{x(), []int64{0}, true, nil}, []float64{5, 7, 9}},
		{"sum all", &SumIntList, []any{x(), nil, false, nil}, []float64{21}},
		{"sum int", &SumIntList, []any{n, []int64{-1}, false, nil}, []float64{3, 7}},
		{"sum empty", &SumIntList, []any{f32(), []int64{0}, false, nil}, []float64{0}},
		{"mean", &Mean, []any{x(), []int64{-1}, true, nil}, []float64{3, 4}},
		{"mean empty", &Mean, []any{f32(), []int64{0}, false, nil}, []float64{nan}},
		{"amax", &Amax, []any{x(), []int64{0}, false}, []float64{4, 5, 6}},
		{"amin nan", &Amin, []any{f32(1, nan, 0), []int64{0}, false}, []float64{nan}},
		{"argmax nan", &Argmax, []any{f32(1, nan, 7), nil, false}, []float64{1}},
		{"argmax", &Argmax, []any{x(), 1, false}, []float64{1, 2}},
		{"prod", &ProdInt, []any{n, 0, false, nil}, []float64{3, 8}},
		{"any", &AnyDims, []any{f32(0, 0, nan), nil, false}, []float64{1}},
		{"all", &AllAll, []any{f32(1, 0)}, []float64{0}},
		{"max", &MaxUnary, []any{n}, []float64{4}},
		{"var", &VarCorrection, []any{x(), []int64{1}, nil, false}, []float64{4, 4}},
		{"var biased", &Var, []any{x(), []int64{1}, false, false}, []float64{8.0 / 3, 8.0 / 3}},
		{"cumsum", &Cumsum, []any{x(), 0, nil}, []float64{1, 5, 3, 5, 7, 9}},
		{"cumprod", &Cumprod, []any{n, 1, nil}, []float64{1, 2, 3, 12}},
		{"softmax", &Softmax, []any{f32(1000, 1000), 0, false}, []float64{0.5, 0.5}},
		{"log softmax", &LogSoftmax, []any{testTensor(tensor.Float, []int64{2, 2}, 0, 1, 0, 1), 0, false}, []float64{-math.Ln2, -math.Ln2, -math.Ln2, -math.Ln2}},
		{"0-dim", &SumIntList, []any{testTensor(tensor.Float, nil, 3), []int64{-1}, false, nil}, []float64{3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.def, tt.want, tt.args...) })
	}
}

func TestMaxDim(t *testing.T) {
	outs, err := testRun(t, &MaxDim, tensor.Undefined, testTensor(tensor.Float, []int64{2, 2}, 1, 3, 4, 2), 0, true)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, outs[0], []float64{4, 3})
	checkValues(t, outs[1], []float64{1, 0})
	if _, err := testRun(t, &MaxUnary, tensor.Undefined, f32()); err != errEmptyReduce {
		t.Errorf("got %v, want %v", err, errEmptyReduce)
	}
}

// TestArange holds numbers that are counted in integers, and others, against products in float64.
func TestArange(t *testing.T) {
	for _, dtype := range []tensor.ScalarType{tensor.Float, tensor.Double, tensor.Half, tensor.Long, tensor.Int, tensor.Byte} {
		for _, c := range [][3]float64{{0, 3000, 1}, {2, -3000, -1}, {math.Copysign(0, -1), -3, -1}, {0, -3, -1}, {0.5, 2000, 1}, {0, 700, 0.25}, {-7, 9000, 4},
			{1 << 30, 1<<30 + 1500, 1}, {0x1p53 - 2, 0x1p53 + 20, 2}, {1e300, 1e301, 1e300}, {0, 0, 1}} {
			outs, err := testRun(t, &ArangeStart, dtype, c[0], c[1], c[2])
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, outs[0].Numel())
			for i := range x {
				x[i] = c[0] + float64(float64(i)*c[2])
			}
			want := make([]byte, outs[0].Nbytes())
			CastBytes(want, dtype, bytesOf(x), tensor.Double, len(x))
			if n := int(math.Ceil((c[1] - c[0]) / c[2])); len(x) != n || !bytes.Equal(outs[0].Data[:len(want)], want) {
				t.Errorf("%v of %v: other bits than products have, or %d numbers, want %d", c, dtype, len(x), n)
			}
		}
	}
}

func TestFillsAndCopies(t *testing.T) {
	run := func(d *Def, dtype tensor.ScalarType, want []float64, args ...any) {
		t.Helper()
		outs, err := testRun(t, d, dtype, args...)
		if err != nil {
			t.Fatal(err)
		}
		checkValues(t, outs[0], want)
	}
	run(&Full, tensor.Half, []float64{1.5, 1.5}, []int64{2}, 1.5)
	run(&Ones, tensor.Bool, []float64{1, 1, 1}, []int64{3})
	run(&ArangeStart, tensor.Long, []float64{5, 3, 1}, 5, 0, -2)
	run(&Arange, tensor.Float, []float64{0, 1, 2}, 2.5)
	run(&ScalarTensor, tensor.Float, []float64{7}, 7)
	run(&ToCopy, tensor.Long, []float64{1, -1}, f32(1.9, -1.9), false, nil)
	x := testTensor(tensor.Float, []int64{1, 2, 1, 2}, 1, 2, 3, 4)
	run(&ToDimOrderCopy, tensor.Half, []float64{1, 2, 3, 4}, x, false, []int64{0, 2, 3, 1})
	run(&Copy, tensor.Float, []float64{9, 9}, f32(1, 2), testTensor(tensor.Long, nil, 9), false)
	run(&FillTensor, tensor.Float, []float64{9, 9}, f32(1, 2), testTensor(tensor.Long, nil, 9))
}

func TestPromote(t *testing.T) {
	tests := []struct{ a, b, want tensor.ScalarType }{
		{tensor.Byte, tensor.Char, tensor.Short}, {tensor.Half, tensor.BFloat16, tensor.Float},
		{tensor.Long, tensor.Half, tensor.Half}, {tensor.Bool, tensor.Byte, tensor.Byte},
		{tensor.Float, tensor.Double, tensor.Double}, {tensor.Undefined, tensor.Int, tensor.Int},
	}
	for _, tt := range tests {
		if got := Promote(tt.a, tt.b); got != tt.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := Promote(tt.b, tt.a); got != tt.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", tt.b, tt.a, got, tt.want)
		}
	}
}

// TestEnds holds the largest and the smallest elements of rows in every tier, and their places, against those that a loop finds: with equal
// elements, infinities, and NaN.
func TestEnds(t *testing.T) {
	inf := float32(math.Inf(1))
	largest, smallest := largestOf[float32](), smallestOf[float32]()
	check := func(tier kernel.Tier, name string, x []float32) {
		t.Helper()
		for k, p := range []*picker[float32]{&largest, &smallest} {
			want := p.at(x)
			if got := p.place(tier, x); got != want {
				t.Errorf("%v, %d elements, %s, end %d: at %d, want %d", tier, len(x), name, k, got, want)
			}
			if got := p.of(tier, x); math.Float32bits(got) != math.Float32bits(x[want]) && x[want] == x[want] {
				t.Errorf("%v, %d elements, %s, end %d: %v, want %v", tier, len(x), name, k, got, x[want])
			}
		}
	}
	for _, tier := range kernel.Tiers() {
		for _, n := range []int{1, 7, 8, 9, 63, 64, 65, endBlock + 3, 1000} {
			for name, set := range map[string][]float32{"equal": {5, 5}, "equal and least": {-500, -500}, "infinity": {inf, 3}, "-infinity": {-inf, 3}, "no finite": {-inf, inf},
				"nan": {float32(nan), 5}, "two nan": {float32(nan), float32(nan)}} {
				x := make([]float32, n)
				for i := range x {
					x[i] = -float32(i * 37 % 101)
				}
				for i, v := range set {
					x[(n/3+i*n/2)%n] = v
				}
				check(tier, name, x)
			}
			x := make([]float32, n)
			x[0] = float32(math.Copysign(0, -1))
			check(tier, "zeros", x)
			x[0] = 0
			x[n-1] = 1
			check(tier, "last", x)
			x[n-1] = -1
			check(tier, "last", x)
			for i := range x {
				x[i] = -inf
			}
			check(tier, "-infinity alone", x)
		}
	}
}

// TestSumsSideBySide adds rows that lie side by side several at a time: all of them, or parts of runs with gaps between.
func TestSumsSideBySide(t *testing.T) {
	for _, c := range []struct {
		sizes dims
		gone  []int64
		rows  int
	}{
		{dims{1, 60, 16}, []int64{1}, 32},
		{dims{3, 7, 8}, []int64{1}, 7},
		{dims{5, 2, 100, 8}, []int64{0, 2}, 50},
		{dims{5, 2, 101, 8}, []int64{0, 2}, 1},
		{dims{5, 2, 3, 8}, []int64{0, 2}, 3},
		{dims{4, 30, 13}, []int64{0, 1}, 39},
		{dims{9, 300}, []int64{0}, 1},
		{dims{130, 16}, []int64{0}, 32},
		{dims{1, 5, 27, 2, 40}, []int64{1, 2, 3}, 12},
		{dims{100, 1030}, []int64{0}, 1},
		{dims{2, 33, 96}, []int64{1}, 1},
	} {
		x := wave(c.sizes...)
		out := mustCall(t, &SumIntListF32, x, c.gone, false, nil)
		n := out.Numel()
		want, at := make([]float64, n), make([]int, len(c.sizes))
		for i, v := range plain[float32](x) {
			k := 0
			for d := range c.sizes {
				at[d] = i
				for _, s := range c.sizes[d+1:] {
					at[d] /= int(s)
				}
				if at[d] %= int(c.sizes[d]); !slices.Contains(c.gone, int64(d)) {
					k = k*int(c.sizes[d]) + at[d]
				}
			}
			want[k] += float64(v)
		}
		for i, got := range plain[float32](out) {
			if math.Abs(float64(got)-want[i]) > 1e-6*(1+math.Abs(want[i])) {
				t.Errorf("%v: sum %d is %v, want %v", c.sizes, i, got, want[i])
			}
		}
		mask := uint32(0)
		for _, d := range c.gone {
			mask |= 1 << d
		}
		call := &Call{Args: vals(x, c.gone, false, nil), Out: []*tensor.Tensor{out}, Threads: 1}
		var j foldJob[float32, float64]
		if err := j.setup(call, mask, true); err != nil {
			t.Fatal(err)
		}
		if j.lines == 0 || j.sideBySide(longLine) != c.rows {
			t.Errorf("%v: %d rows of %d outs are one line, want %d", c.sizes, j.sideBySide(longLine), j.lines, c.rows)
		}
	}
}

// TestMergeAxes: neighbours are one where elements and outs lie alike.
func TestMergeAxes(t *testing.T) {
	for _, c := range []struct {
		size, step, out, want []int
	}{
		{[]int{2, 3, 4}, []int{12, 4, 1}, []int{12, 4, 1}, []int{24}},
		{[]int{2, 3, 4}, []int{12, 4, 1}, []int{1, 8, 2}, []int{2, 12}},
		{[]int{2, 3, 4}, []int{120, 40, 10}, []int{12, 4, 1}, []int{24}},
		{[]int{2, 1, 4}, []int{40, 4, 1}, []int{4, 4, 1}, []int{2, 4}},
		{[]int{1, 1}, []int{5, 1}, []int{1, 1}, []int{1}},
	} {
		a := axes{n: len(c.size)}
		copy(a.size[:], c.size)
		copy(a.step[:], c.step)
		copy(a.out[:], c.out)
		if a.merge(); !slices.Equal(a.size[:a.n], c.want) {
			t.Errorf("sizes %v, steps %v, outs %v: got %v, want %v", c.size, c.step, c.out, a.size[:a.n], c.want)
		}
	}
}

// TestSumsOfDoubles sums float32 to float64, where lines of float32 would lose what is small.
func TestSumsOfDoubles(t *testing.T) {
	x := wave(64, 64)
	for i := range elems[float32](x) {
		elems[float32](x)[i] = 1
		if i < 64 {
			elems[float32](x)[i] = 1 << 25
		}
	}
	for _, tier := range kernel.Tiers() {
		outs, err := callOn(&SumIntListF32, 1, tier, nil, []any{x, dims{0}, false, int(tensor.Double)})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range testValues(t, outs[0]) {
			if got != 1<<25+63 || outs[0].DType != tensor.Double {
				t.Fatalf("%v: sum %d is %v, a %v", tier, i, got, outs[0].DType)
			}
		}
	}
}

// TestSumWithoutRoom adds lines where there is no room at all, then others, and then as many where there is none for the sums of groups that
// threads would divide.
func TestSumWithoutRoom(t *testing.T) {
	large, small := wave(4000, 40), wave(40, 40)
	sum := func(x *tensor.Tensor, env *Env) *Invoker {
		v := invokerOf(t, &SumIntListF32, env, vals(x, dims{0}, false, nil), Options{Tier: kernel.Best()}, 0)
		v.Stable = true
		return v
	}
	alone := &Env{Temp: new(Temp), Threads: 1}
	temp := &Temp{Limit: 256}
	v := sum(ordered(large), &Env{Temp: temp, Parallel: shuffled(2), Threads: 2})
	if v.Call() == nil {
		t.Fatal("there is room in 256 bytes")
	}
	for i, x := range []*tensor.Tensor{small, large, small} {
		if temp.Limit = 0; i > 0 {
			temp.Limit = 8 << 10
		}
		*v.Args[0].Tensor = *x
		want := sum(x, alone)
		if err := errors.Join(v.Call(), want.Call()); err != nil {
			t.Fatal(err)
		}
		if err := sameResults(want.Outs[0], v.Outs[0]); err != nil {
			t.Errorf("%v: %v", x.Sizes, err)
		}
	}
}
