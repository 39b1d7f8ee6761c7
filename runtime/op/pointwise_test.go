package op

import (
	"bytes"
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// testTensor makes a contiguous tensor of values.
func testTensor(dtype tensor.ScalarType, sizes []int64, values ...float64) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: sizes}}
	t.Data = make([]byte, t.Nbytes())
	CastBytes(t.Data, dtype, bytesOf(values), tensor.Double, len(values))
	return t
}

// testValues reads t in logical order.
func testValues(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	flat := testTensor(tensor.Double, x.Sizes)
	if err := Convert(testCall(), flat, x); err != nil {
		t.Fatal(err)
	}
	return elems[float64](flat)
}

func testCall() *Call {
	return &Call{Alloc: func(n int) ([]byte, error) { return make([]byte, n), nil }}
}

func testValue(x any) Value {
	switch x := x.(type) {
	case *tensor.Tensor:
		return Value{Kind: Tensor, Tensor: x}
	case int:
		return Value{Kind: Int, Int: int64(x)}
	case float64:
		return Value{Kind: Float, Float: x}
	case bool:
		return Value{Kind: Bool, Int: int64(toBool(x))}
	case string:
		return Value{Kind: String, Str: x}
	case []int64:
		return Value{Kind: Ints, Ints: x}
	}
	return Value{}
}

// testRun infers and runs d, with the casts that a caller makes.
func testRun(t *testing.T, d *Def, outType tensor.ScalarType, args ...any) ([]*tensor.Tensor, error) {
	t.Helper()
	sig := ParseSignature(d.Schema)
	vals := make([]Value, len(args))
	for i := range args {
		vals[i] = testValue(args[i])
	}
	n := 0
	for _, p := range sig.Params {
		if p.Out || p.InPlace {
			n++
		}
	}
	infer := Infer{Args: vals, Out: make([]tensor.Meta, n)}
	if err := d.Infer(&infer); err != nil {
		return nil, err
	}
	outs := make([]*tensor.Tensor, n)
	for i := range outs {
		outs[i] = &tensor.Tensor{Meta: infer.Out[i].Clone()}
		if outType != tensor.Undefined {
			outs[i].DType = outType
		}
		outs[i].Data = make([]byte, outs[i].Nbytes())
	}
	key := KeyOf(d, vals, []tensor.Meta{outs[0].Meta})
	name := sig.Name
	k := NewTable(Kernels).Lookup(name, key)
	if k == nil {
		t.Fatalf("no kernel of %s in %v", name, key)
	}
	metas := make([]tensor.Meta, n)
	for i := range outs {
		metas[i] = outs[i].Meta
	}
	plan, err := Prepare(k, &sig, vals, metas, Options{})
	if err != nil {
		return nil, err
	}
	return outs, plan.Bind(vals, outs, &Env{Temp: &Temp{}}).Call()
}

func near(got, want, rtol float64) bool {
	return got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= rtol*math.Abs(want)
}

func check(t *testing.T, d *Def, want []float64, args ...any) *tensor.Tensor {
	t.Helper()
	outs, err := testRun(t, d, tensor.Undefined, args...)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, outs[0], want)
	return outs[0]
}

func checkValues(t *testing.T, x *tensor.Tensor, want []float64) {
	t.Helper()
	got := testValues(t, x)
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if !near(got[i], want[i], 1e-6) {
			t.Fatalf("element %d: got %v, want %v", i, got, want)
		}
	}
}

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func f32(values ...float64) *tensor.Tensor {
	return testTensor(tensor.Float, []int64{int64(len(values))}, values...)
}

func i64(values ...float64) *tensor.Tensor {
	return testTensor(tensor.Long, []int64{int64(len(values))}, values...)
}

func TestBinary(t *testing.T) {
	bools := func(v ...float64) *tensor.Tensor { return testTensor(tensor.Bool, []int64{int64(len(v))}, v...) }
	column := testTensor(tensor.Float, []int64{2, 1}, 10, 20)
	tests := []struct {
		name  string
		def   *Def
		args  []any
		want  []float64
		dtype tensor.ScalarType
	}{
		{"add", &Add, []any{f32(1, 2), f32(3, nan), 1}, []float64{4, nan}, tensor.Float},
		{"add alpha", &Add, []any{f32(1, 2), f32(3, 4), 2}, []float64{7, 10}, tensor.Float},
		{"add broadcast", &Add, []any{f32(1, 2, 3), column, 1}, []float64{11, 12, 13, 21, 22, 23}, tensor.Float},
		{"add promotes", &Add, []any{i64(1, 2), f32(0.5, 0.5), 1}, []float64{1.5, 2.5}, tensor.Float},
		{"add bool", &Add, []any{bools(1, 1, 0), bools(1, 0, 0), 1}, []float64{1, 1, 0}, tensor.Bool},
		{"add scalar", &AddScalar, []any{i64(1, 2), 0.5, 1}, []float64{1.5, 2.5}, tensor.Float},
		{"add empty", &Add, []any{f32(), f32(), 1}, []float64{}, tensor.Float},
		{"rsub", &RsubScalar, []any{f32(1, 2), 10, 2}, []float64{8, 6}, tensor.Float},
		{"div int", &Div, []any{i64(1, 3), i64(2, 2)}, []float64{0.5, 1.5}, tensor.Float},
		{"div floor", &DivMode, []any{i64(-7, 7), i64(2, -2), "floor"}, []float64{-4, -4}, tensor.Long},
		{"div trunc", &DivMode, []any{i64(-7, 7), i64(2, -2), "trunc"}, []float64{-3, -3}, tensor.Long},
		{"div floor float", &DivMode, []any{f32(-7, 7, 1), f32(2, -2, 0), "floor"}, []float64{-4, -4, inf}, tensor.Float},
		{"remainder", &Remainder, []any{f32(-7, 7), f32(3, -3)}, []float64{2, -2}, tensor.Float},
		{"remainder int", &RemainderScalar, []any{i64(-7, 7), 3}, []float64{2, 1}, tensor.Long},
		{"fmod", &Fmod, []any{i64(-7, 7), i64(3, -3)}, []float64{-1, 1}, tensor.Long},
		{"maximum", &Maximum, []any{f32(1, nan, 3), f32(nan, 1, 2)}, []float64{nan, nan, 3}, tensor.Float},
		{"minimum", &Minimum, []any{f32(1, nan, 3), f32(nan, 1, 2)}, []float64{nan, nan, 2}, tensor.Float},
		{"pow 2", &PowTensorScalar, []any{f32(-3, 4), 2}, []float64{9, 16}, tensor.Float},
		{"pow int", &Pow, []any{i64(2, -1, 3), i64(10, -3, -1)}, []float64{1024, -1, 0}, tensor.Long},
		{"pow scalar", &PowScalar, []any{2, f32(0.5, 3)}, []float64{math.Sqrt2, 8}, tensor.Float},
		{"lt", &LtScalar, []any{f32(1, 2, nan), 2}, []float64{1, 0, 0}, tensor.Bool},
		{"eq", &Eq, []any{i64(1, 2), f32(1, 2.5)}, []float64{1, 0}, tensor.Bool},
		{"xor", &LogicalXor, []any{f32(1, 0, nan), f32(1, 1, 0)}, []float64{0, 1, 1}, tensor.Bool},
		{"and", &BitwiseAndScalar, []any{i64(6, 5), 4}, []float64{4, 4}, tensor.Long},
		{"shift", &BitwiseLeftShiftScalar, []any{i64(1, 3), 4}, []float64{16, 48}, tensor.Long},
		{"shift to the sign", &BitwiseLeftShiftScalar, []any{i64(1, 2, -1), 63}, []float64{-0x1p63, 0, -0x1p63}, tensor.Long},
		{"shift out of it", &BitwiseLeftShiftScalar, []any{i64(1, -3), 64}, []float64{0, 0}, tensor.Long},
		{"shift by less than 0", &BitwiseLeftShiftScalar, []any{i64(1, -3), -1}, []float64{0, 0}, tensor.Long},
		{"abs of the least", &Abs, []any{i64(math.MinInt64, -1, 0, 7)}, []float64{-0x1p63, 1, 0, 7}, tensor.Long},
		{"where", &WhereSelf, []any{bools(1, 0, 1), f32(1, 2, 3), testTensor(tensor.Float, nil, 9)}, []float64{1, 9, 3}, tensor.Float},
		{"atan2", &Atan2, []any{f32(1), f32(-1)}, []float64{3 * math.Pi / 4}, tensor.Float},
		{"half", &Mul, []any{testTensor(tensor.Half, []int64{2}, 1.5, 2), testTensor(tensor.Half, []int64{1}, 3)}, []float64{4.5, 6}, tensor.Half},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if out := check(t, tt.def, tt.want, tt.args...); out.DType != tt.dtype {
				t.Errorf("type %v, want %v", out.DType, tt.dtype)
			}
		})
	}
}

func TestDivideByZero(t *testing.T) {
	if _, err := testRun(t, &FloorDivide, tensor.Undefined, i64(1), i64(0)); err != errDivZero {
		t.Errorf("got %v, want %v", err, errDivZero)
	}
}

func TestUnary(t *testing.T) {
	tests := []struct {
		name string
		def  *Def
		args []any
		want []float64
	}{
		{"sign", &Sign, []any{f32(-2, 0, 3, nan)}, []float64{-1, 0, 1, 0}},
		{"round", &Round, []any{f32(0.5, 1.5, -2.5)}, []float64{0, 2, -2}},
		{"relu", &Relu, []any{f32(-1, 2, nan)}, []float64{0, 2, nan}},
		{"abs", &Abs, []any{i64(-3, 3)}, []float64{3, 3}},
		{"clamp", &Clamp, []any{f32(-5, 0, 5, nan), -1, nil}, []float64{-1, 0, 5, nan}},
		{"clamp int", &Clamp, []any{i64(-5, 0, 5), -1, 2}, []float64{-1, 0, 2}},
		{"clamp tensor", &ClampTensor, []any{f32(-5, 0, 5), f32(-1, 1, 1), f32(3, 3, 3)}, []float64{-1, 1, 3}},
		{"hardtanh", &Hardtanh, []any{f32(-5, 0.5, 5), -1, 1}, []float64{-1, 0.5, 1}},
		{"sigmoid", &Sigmoid, []any{i64(0)}, []float64{0.5}},
		{"isinf", &Isinf, []any{f32(inf, nan, 1)}, []float64{1, 0, 0}},
		{"isnan int", &Isnan, []any{i64(1)}, []float64{0}},
		{"isnan uint16", &Isnan, []any{testTensor(tensor.UInt16, []int64{2}, 0, 65535)}, []float64{0, 0}},
		{"gelu", &Gelu, []any{f32(1, -1), "none"}, []float64{0.8413447, -0.15865526}},
		{"gelu tanh", &Gelu, []any{f32(1), "tanh"}, []float64{0.841192}},
		{"elu", &Elu, []any{f32(1, -1), 1, 1, 1}, []float64{1, math.Expm1(-1)}},
		{"leaky", &LeakyRelu, []any{f32(1, -1), 0.25}, []float64{1, -0.25}},
		{"glu", &Glu, []any{f32(3, 0), -1}, []float64{1.5}},
		{"logit", &Logit, []any{f32(0.5, 1), 0.25}, []float64{0, math.Log(3)}},
		{"not", &BitwiseNot, []any{testTensor(tensor.Bool, []int64{2}, 0, 1)}, []float64{1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.def, tt.want, tt.args...) })
	}
}

func TestChannelsLast(t *testing.T) {
	x := testTensor(tensor.Float, []int64{1, 2, 2, 2}, 1, 5, 2, 6, 3, 7, 4, 8)
	x.DimOrder = []uint8{0, 2, 3, 1}
	y := testTensor(tensor.Float, []int64{1, 2, 2, 2}, 10, 20, 30, 40, 50, 60, 70, 80)
	out := check(t, &Add, []float64{11, 22, 33, 44, 55, 66, 77, 88}, x, y, 1)
	if len(out.DimOrder) != 4 || out.DimOrder[3] != 1 {
		t.Errorf("order %v, want that of x", out.DimOrder)
	}
	check(t, &Add, []float64{11, 22, 33, 44, 55, 66, 77, 88}, y, x, 1)
	check(t, &MeanDtype, []float64{4.5}, x, nil)
	check(t, &SumIntList, []float64{6, 8, 10, 12}, x, []int64{1}, false, nil)
	check(t, &Argmax, []float64{7}, x, nil, false)
}

func BenchmarkAdd(b *testing.B) {
	benchBinary(b, rowAdd[float32])
}

func BenchmarkExp(b *testing.B) {
	c := testCall()
	x := testTensor(tensor.Float, []int64{4096})
	c.Args, c.Out = []Value{testValue(x)}, []*tensor.Tensor{testTensor(tensor.Float, []int64{4096})}
	b.ReportAllocs()
	for b.Loop() {
		if err := unary(c, rowExp[float32]); err != nil {
			b.Fatal(err)
		}
	}
}

func benchBinary(b *testing.B, row rowFunc2[float32, float32]) {
	c := testCall()
	x := testTensor(tensor.Float, []int64{4096})
	c.Args, c.Out = []Value{testValue(x), testValue(x)}, []*tensor.Tensor{testTensor(tensor.Float, []int64{4096})}
	b.ReportAllocs()
	for b.Loop() {
		if err := binary(c, row); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEmptyRows broadcasts an operand to rows that have no elements.
func TestEmptyRows(t *testing.T) {
	wantOut[float32](t, mustCall(t, &MulF32, mf32(dims{2, 1}, 1, 2), mf32(dims{1, 0})), dims{2, 0})
}

// TestRepeats multiplies, and takes from each other, images and one row for all positions, whose copies make longer rows where the
// number of positions has a divisor.
func TestRepeats(t *testing.T) {
	for _, c := range []struct{ n, rows, row, times int }{
		{1, 196, 16, 49}, {1, 3136, 16, 64}, {1, 196, 120, 7}, {1, 49, 576, 1}, {1, 47, 96, 1}, {1, 6, 3, 6}, {1, 1, 9, 1}, {2, 20, 16, 1}, {1, 20, 1, 1},
	} {
		x, y := wave(tensor.Dim(c.n), tensor.Dim(c.rows), tensor.Dim(c.row)), wave(tensor.Dim(c.n), 1, tensor.Dim(c.row))
		var n nest
		if err := n.setup(&x.Meta, &x.Meta, &y.Meta); err != nil {
			t.Fatal(err)
		}
		if _, times := n.repeats(); times != c.times {
			t.Errorf("%+v: %d rows are one", c, times)
		}
		product, left, right := plain[float32](mustCall(t, &MulF32, x, y)), plain[float32](mustCall(t, &SubF32, x, y, 1)), plain[float32](mustCall(t, &SubF32, y, x, 1))
		one := plain[float32](y)
		for i, v := range plain[float32](x) {
			w := one[i/(c.rows*c.row)*c.row+i%c.row]
			if got, want := [...]float32{product[i], left[i], right[i]}, [...]float32{v * w, v - w, w - v}; got != want {
				t.Fatalf("%+v: elements %d are %v, want %v", c, i, got, want)
			}
		}
	}
}

// TestNextafterHalves holds neighbours among narrow numbers against torch 2.13.
func TestNextafterHalves(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		typ        tensor.ScalarType
		x, y, want []float64
	}{
		{tensor.Half, []float64{1, 0, 0, -1, 65504, 0x1p-24, inf, 3}, []float64{2, -1, 1, -2, inf, 0, 0, 3}, []float64{1.0009765625, -0x1p-24, 0x1p-24, -1.0009765625, inf, 0, 65504, 3}},
		{tensor.BFloat16, []float64{1, -1, 2}, []float64{2, -2, 1}, []float64{1.0078125, -1.0078125, 1.9921875}},
	} {
		size := []int64{int64(len(test.x))}
		got, err := testRun(t, &Nextafter, test.typ, testTensor(test.typ, size, test.x...), testTensor(test.typ, size, test.y...))
		if err != nil {
			t.Fatal(err)
		}
		if want := testTensor(test.typ, size, test.want...); !bytes.Equal(got[0].Data, want.Data) {
			t.Errorf("%v: got %x, want %x", test.typ, got[0].Data, want.Data)
		}
	}
}
