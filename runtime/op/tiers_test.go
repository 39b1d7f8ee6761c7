package op

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mixed is n numbers of type t: special ones among others of either sign that repeat in no short period.
func mixed(t tensor.ScalarType, seed uint32, sizes ...tensor.Dim) *tensor.Tensor {
	specials := []float64{0, math.Copysign(0, -1), inf, -inf, nan, 1e-40, 3e38}
	m := tensor.Meta{Sizes: sizes}
	x := make([]float64, m.Numel())
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float64(int32(seed)>>16) / 256
		if k := seed >> 8 % 37; t.IsFloat() && int(k) < len(specials) {
			x[i] = specials[k]
		}
	}
	return testTensor(t, sizes, x...)
}

// finite is mixed without special numbers.
func finite(sizes ...tensor.Dim) *tensor.Tensor {
	x := mixed(tensor.Char, 1, sizes...)
	o := testTensor(tensor.Float, sizes)
	CastBytes(o.Data, tensor.Float, x.Data, tensor.Char, x.Numel())
	return o
}

// TestTiers runs kernels of lines in every tier, which call holds against Scalar, at lengths around those of vectors.
func TestTiers(t *testing.T) {
	long, float, char, byteT, boolT := tensor.Long, tensor.Float, tensor.Char, tensor.Byte, tensor.Bool
	pair := func(dt tensor.ScalarType, extra ...any) func(n int64) []any {
		return func(n int64) []any { return append([]any{mixed(dt, 1, n), mixed(dt, 2, n)}, extra...) }
	}
	for _, tt := range []struct {
		k    *Kernel
		args func(n int64) []any
	}{
		{&BitwiseAndI64, pair(long)}, {&BitwiseAndU8, pair(byteT)}, {&BitwiseAndBool, pair(boolT)},
		{&BitwiseOrI16, pair(tensor.Short)}, {&BitwiseOrI32, pair(tensor.Int)}, {&BitwiseXorI8, pair(char)}, {&BitwiseXorI64, pair(long)},
		{&BitwiseAndScalarU8, func(n int64) []any { return []any{mixed(byteT, 1, n), 0x35} }},
		{&BitwiseOrScalarI32, func(n int64) []any { return []any{mixed(tensor.Int, 1, n), 0x10305} }},
		{&BitwiseXorI16, func(n int64) []any { return []any{mixed(tensor.Short, 1, 1), mixed(tensor.Short, 2, n)} }},
		{&BitwiseXorScalarI64, func(n int64) []any { return []any{mixed(long, 1, n), 5} }},
		{&BitwiseNotBool, func(n int64) []any { return []any{someMask(n)} }}, {&LogicalNotBool, func(n int64) []any { return []any{someMask(n)} }},
		{&NeScalarBool, func(n int64) []any { return []any{someMask(n), true} }}, {&EqI8, pair(char)},
		{&AddU8, pair(byteT, 1)}, {&AddI8, pair(char, 1)}, {&AddI8, pair(char, 2)}, {&SubI8, pair(char, 1)}, {&SubU8, pair(byteT, 1)},
		{&WhereSelfF32, func(n int64) []any { return []any{mixed(boolT, 3, n), mixed(float, 1, n), mixed(float, 2, n)} }},
		{&WhereSelfI64, func(n int64) []any { return []any{mixed(boolT, 3, n), mixed(long, 1, 1), mixed(long, 2, n)} }},
		{&ClampTensorF32, func(n int64) []any { return []any{mixed(float, 1, n), mixed(float, 2, n), mixed(float, 3, n)} }},
		{&GluF32, func(n int64) []any { return []any{finite(2*n, 3), 0} }},
		{&GluF32, func(n int64) []any { return []any{finite(3, 2*n), 1} }},
		{&LogicalNotF32, func(n int64) []any { return []any{mixed(float, 1, n)} }},
		{&LogitF32, func(n int64) []any { return []any{mixed(float, 1, n), nil} }},
		{&EluF32, func(n int64) []any { return []any{mixed(float, 1, n), 1.0, 1.0, 1.0} }},
		{&EluF32, func(n int64) []any { return []any{mixed(float, 1, n), -1.6732632423543772, 1.0507009873554805, 0.3} }},
		{&EluF32, func(n int64) []any { return []any{mixed(float, 1, n), 2.0, 3.0, -0.5} }},
		{&EluF32, func(n int64) []any { return []any{mixed(float, 1, n), math.Inf(1), 1.0, 1.0} }},
		{&AtanF32, func(n int64) []any { return []any{mixed(float, 1, n)} }},
		{&AsinF32, func(n int64) []any { return []any{mixed(float, 1, n)} }},
		{&AcosF32, func(n int64) []any { return []any{mixed(float, 1, n)} }},
		{&DivModeF32, func(n int64) []any { return []any{mixed(float, 1, n), mixed(float, 2, n), "trunc"} }},
		{&DivModeF32, func(n int64) []any { return []any{mixed(float, 1, n), f32(-0.3), "trunc"} }},
		{&SumIntListF32, func(n int64) []any { return []any{iota32(3, n), []int64{0}, false, nil} }},
		{&SumIntListF32, func(n int64) []any { return []any{mixed(float, 1, n, 3), []int64{0}, false, nil} }},
		{&VarCorrectionF32, func(n int64) []any { return []any{iota32(2, n), []int64{1}, nil, false} }},
		{&SoftmaxF32, func(n int64) []any { return []any{mixed(float, 1, 5, n), 0, false} }},
		{&SoftmaxF32, func(n int64) []any { return []any{finite(3, 5, n), 1, false} }},
		{&LogSoftmaxF32, func(n int64) []any { return []any{mixed(float, 1, 5, n), 0, false} }},
		{&LogSoftmaxF32, func(n int64) []any { return []any{finite(3, 5, n), 1, false} }},
		{&LogSoftmaxF32, func(n int64) []any { return []any{mixed(float, 1, 5, n), 1, false} }},
		{&LogSoftmaxF32, func(n int64) []any { return []any{finite(5, n), 1, false} }},
		{&NativeGroupNormF32, func(n int64) []any {
			return []any{finite(2, 4, n), f32(1, 2, 3, -4), f32(1, 0, 2, 3), 2, 4, int(n), 2, 1e-5}
		}},
		{&NativeLayerNormF32, func(n int64) []any { return []any{finite(5, n), dims{n}, iota32(n), nil, 1e-5} }},
		{&NativeBatchNormLegitNoTrainingF32, func(n int64) []any {
			return []any{mixed(float, 1, 2, 4, n), f32(1, 2, 3, -4), nil, f32(1, 0, 2, 3), f32(1, 2, 3, 4), 0.1, 1e-5}
		}},
		{&QuantizePerTensorF32, func(n int64) []any { return []any{mixed(float, 1, n), 0.5, 3, -128, 127, int(char)} }},
		{&QuantizePerTensorF32, func(n int64) []any { return []any{mixed(float, 1, n), 0.3, 120, 5, 250, int(byteT)} }},
		{&QuantizePerChannelF32, func(n int64) []any {
			return []any{mixed(float, 1, 2, n), f32(0.3, 0.5), i64(3, -4), 0, -128, 127, int(char)}
		}},
		{&DequantizePerTensorI8, func(n int64) []any { return []any{mixed(char, 1, n), 0.3, 3, -128, 127, int(char), nil} }},
		{&DequantizePerTensorU8, func(n int64) []any { return []any{mixed(byteT, 1, n), 0.3, 120, 0, 255, int(byteT), nil} }},
	} {
		for _, n := range []int64{0, 1, 3, 8, 15, 64, 67, 1030} {
			t.Run(fmt.Sprintf("%s/%v/%d", tt.k.Def.Schema[6:12], tt.k.DType, n), func(t *testing.T) {
				if _, err := call(tt.k, outsOfDef(tt.k.Def), true, tt.args(n)...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// byteRows are row functions of bytes that call kernels.
var byteRows = []struct {
	name string
	row  rowFunc2[uint8, uint8]
	want func(x, y uint8) uint8
}{
	{"eq", rowEq[uint8], func(x, y uint8) uint8 { return toBool(x == y) }},
	{"ne", rowNe[uint8], func(x, y uint8) uint8 { return toBool(x != y) }},
	{"not", func(o, a, _ []uint8, p par) { rowLogicalNot(o, a, p) }, func(x, _ uint8) uint8 { return toBool(x == 0) }},
	{"logical and", rowLogicalAnd[uint8], func(x, y uint8) uint8 { return toBool(x != 0 && y != 0) }},
	{"logical or", rowLogicalOr[uint8], func(x, y uint8) uint8 { return toBool(x != 0 || y != 0) }},
	{"logical xor", rowLogicalXor[uint8], func(x, y uint8) uint8 { return toBool((x != 0) != (y != 0)) }},
	{"and", rowAnd[uint8], func(x, y uint8) uint8 { return x & y }},
	{"or", rowOr[uint8], func(x, y uint8) uint8 { return x | y }},
	{"xor", rowXor[uint8], func(x, y uint8) uint8 { return x ^ y }},
	{"add", rowAdd[uint8], func(x, y uint8) uint8 { return x + y }},
	{"sub", rowSub[uint8], func(x, y uint8) uint8 { return x - y }},
}

// TestByteRows runs them in every tier on bytes that need not be 0 or 1: operands that lie anywhere, have one element or are overwritten.
func TestByteRows(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	some := func(n, at int) []uint8 { // n bytes from the at-th on, and a guard
		x := make([]uint8, at+n+1)
		for i := range x {
			x[i] = []uint8{0, 0, 1, 1, 2, 128, 255}[r.Intn(7)]
		}
		return x[at:]
	}
	for _, c := range byteRows {
		for _, tier := range kernel.Tiers() {
			if tier > kernel.Best() {
				break
			}
			for _, n := range []int{1, 63, 64, 65, 255, 256, 259, 1030} {
				for k := range 12 {
					x, y, o := some(n, k%4)[:n], some(n, k/2%4)[:n], some(n, k/3%4)
					switch k / 4 { // which operand has one element
					case 1:
						x = x[:1]
					case 2:
						y = y[:1]
					}
					want := make([]uint8, n, n+1)
					for i := range want {
						want[i] = c.want(x[i%len(x)], y[i%len(y)])
					}
					guard := o[n]
					c.row(o[:n], x, y, par{tier: tier})
					if !slices.Equal(o, append(want, guard)) {
						t.Fatalf("%s, %v, %d elements, case %d: got %v, want %v and %d", c.name, tier, n, k, o, want, guard)
					}
					if len(x) < n {
						continue
					}
					if c.row(x, x, y, par{tier: tier}); !slices.Equal(x, want) {
						t.Fatalf("%s, %v, %d elements, case %d, in place: got %v, want %v", c.name, tier, n, k, x, want)
					}
				}
			}
		}
	}
}

// outsOfDef is how many outs a definition has.
func outsOfDef(d *Def) (n int) {
	for _, p := range ParseSignature(d.Schema).Params {
		if p.Out {
			n++
		}
	}
	return n
}

// outsOf are the elements that go into each out, by definition.
func outsOf(x []float64, sizes []tensor.Dim, gone map[int]bool) (rows [][]float64) {
	at := map[int]int{}
	for i, v := range x {
		out, rest := 0, i
		scale := 1
		for d := len(sizes) - 1; d >= 0; d-- {
			k := rest % int(sizes[d])
			rest /= int(sizes[d])
			if !gone[d] {
				out += k * scale
				scale *= int(sizes[d])
			}
		}
		if _, ok := at[out]; !ok {
			at[out] = len(rows)
			rows = append(rows, nil)
		}
		rows[at[out]] = append(rows[at[out]], v)
	}
	return rows
}

// TestReduceDims reduces inner, middle, outer and several dimensions.
func TestReduceDims(t *testing.T) {
	sum := func(row []float64) (s float64) {
		for _, v := range row {
			s += v
		}
		return s
	}
	largest := func(row []float64) float64 {
		best := row[0]
		for _, v := range row {
			if v > best || v != v {
				best = v
			}
		}
		return best
	}
	some := func(row []float64) float64 {
		for _, v := range row {
			if v != 0 {
				return 1
			}
		}
		return 0
	}
	every := func(row []float64) float64 {
		for _, v := range row {
			if v == 0 {
				return 0
			}
		}
		return 1
	}
	for _, tt := range []struct {
		name  string
		def   *Def
		want  func(row []float64) float64
		extra []any
	}{
		{"sum", &SumIntList, sum, []any{false, nil}},
		{"amax", &Amax, largest, []any{false}},
		{"amin", &Amin, func(row []float64) float64 {
			least := row[0]
			for _, v := range row {
				if v < least || v != v {
					least = v
				}
			}
			return least
		}, []any{false}},
		{"any", &AnyDims, some, []any{false}},
		{"all", &AllDims, every, []any{false}},
	} {
		for _, dt := range []tensor.ScalarType{tensor.Float, tensor.Double, tensor.Long, tensor.Int, tensor.Char, tensor.Bool, tensor.Half} {
			for _, over := range [][]int64{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}} {
				for _, sizes := range [][]tensor.Dim{{5, 3, 40}, {2, 9, 1}, {1, 2, 1100}, {3, 4, 7}} {
					t.Run(fmt.Sprint(tt.name, dt, over, sizes), func(t *testing.T) {
						x := mixed(dt, 7, sizes...)
						gone := map[int]bool{}
						for _, d := range over {
							gone[int(d)] = true
						}
						outs, err := testRun(t, tt.def, tensor.Undefined, append([]any{x, over}, tt.extra...)...)
						if err != nil {
							t.Fatal(err)
						}
						got := testValues(t, outs[0])
						for i, row := range outsOf(testValues(t, x), sizes, gone) {
							want := tt.want(row)
							switch dt {
							case tensor.Half:
								want = float64(tensor.HalfToFloat32(tensor.Float32ToHalf(float32(want))))
							case tensor.Float:
								want = float64(float32(want))
							}
							if !near(got[i], want, 1e-6) && math.Abs(got[i]-want) > 1e-3 {
								t.Fatalf("out %d: got %v, want %v", i, got[i], want)
							}
						}
					})
				}
			}
		}
	}
}

// TestPlaces finds the first largest and the first smallest along each dimension; NaN counts as either.
func TestPlaces(t *testing.T) {
	sizes := []tensor.Dim{4, 5, 11}
	x := mixed(tensor.Float, 5, sizes...)
	for dim := range 3 {
		rows := outsOf(testValues(t, x), sizes, map[int]bool{dim: true})
		for sign, defs := range map[float64][2]*Def{1: {&Argmax, &MaxDim}, -1: {&Argmin, &MinDim}} {
			var places, values []float64
			for _, row := range rows {
				at := 0
				for i, v := range row {
					if row[at] == row[at] && (v != v || v*sign > row[at]*sign) {
						at = i
					}
				}
				places, values = append(places, float64(at)), append(values, row[at])
			}
			check(t, defs[0], places, x, dim, false)
			outs, err := testRun(t, defs[1], tensor.Undefined, x, dim, false)
			if err != nil {
				t.Fatal(err)
			}
			checkValues(t, outs[0], values)
			checkValues(t, outs[1], places)
		}
	}
}

func TestCumsumDims(t *testing.T) {
	for _, dt := range []tensor.ScalarType{tensor.Float, tensor.Double, tensor.Long, tensor.Int} {
		x := testTensor(dt, []int64{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
		check(t, &Cumsum, []float64{1, 2, 3, 4, 6, 8, 10, 12}, x, 0, nil)
		check(t, &Cumsum, []float64{1, 2, 4, 6, 5, 6, 12, 14}, x, 1, nil)
		check(t, &Cumsum, []float64{1, 3, 3, 7, 5, 11, 7, 15}, x, 2, nil)
	}
}

// TestProductOrder has numbers whose product in lanes would be that of infinity and 0.
func TestProductOrder(t *testing.T) {
	x := testTensor(tensor.Double, []int64{8}, 1e200, 1e-200, 1, 1, 1e200, 1e-200, 1, 1)
	check(t, &ProdInt, []float64{1}, x, 0, false, nil)
}

// TestRemainders holds remainders of float32 against those of float64, which are exact.
func TestRemainders(t *testing.T) {
	x, y := mixed(tensor.Float, 1, 20000), mixed(tensor.Float, 2, 20000)
	for i, a := range elems[float32](x) {
		b := elems[float32](y)[i]
		if i%3 == 0 {
			b /= 1 << 12
		}
		if got, want := float64(modOf(a, b)), math.Mod(float64(a), float64(b)); !near(got, want, 0) || math.Signbit(got) != math.Signbit(want) && want == want {
			t.Fatalf("fmod of %v and %v: got %v, want %v", a, b, got, want)
		}
	}
	for _, c := range [][3]int64{{7, 3, 1}, {-7, 3, 2}, {7, -3, -2}, {math.MaxInt64, 10, 7}, {1 << 31, 7, 2}} {
		if got := remainderInt(c[0], c[1]); got != c[2] {
			t.Errorf("remainder of %v and %v: got %v, want %v", c[0], c[1], got, c[2])
		}
		if got, want := floorDivInt(c[0], c[1]), (c[0]-c[2])/c[1]; got != want {
			t.Errorf("floor of %v / %v: got %v, want %v", c[0], c[1], got, want)
		}
	}
}

// TestFloorDivision holds quotients of float32 against those of float64, whose definition has no short cuts.
func TestFloorDivision(t *testing.T) {
	for i := range 3000 {
		x, y := elems[float32](mixed(tensor.Float, uint32(i), 1))[0], elems[float32](mixed(tensor.Float, uint32(i)*7+1, 1))[0]
		if i%5 == 0 {
			y = float32(inf) * float32(1-i%2*2)
		}
		got, want := float64(floorDivFloat(x, y)), float64(float32(floorDivFloat(float64(x), float64(y))))
		if !near(got, want, 0) || math.Signbit(got) != math.Signbit(want) && want == want {
			t.Fatalf("floor of %v / %v: got %v, want %v", x, y, got, want)
		}
		rest, wanted := float64(remainderFloat(x, y)), float64(float32(remainderFloat(float64(x), float64(y))))
		if !near(rest, wanted, 1e-7) || math.Signbit(rest) != math.Signbit(wanted) && wanted == wanted {
			t.Fatalf("remainder of %v and %v: got %v, want %v", x, y, rest, wanted)
		}
	}
}

func TestGatedLines(t *testing.T) {
	x := mixed(tensor.Float, 9, 3, 40)
	want := make([]float64, 0, 60)
	for i, in := 0, elems[float32](x); i < 3; i++ {
		for j := range 20 {
			want = append(want, float64(in[i*40+j]*scalarmath.Sigmoid(in[i*40+20+j])))
		}
	}
	check(t, &Glu, want, x, 1)
}
