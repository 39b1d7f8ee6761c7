package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"unsafe"
)

// halfBits are bits of 16-bit floats, special ones among them, without NaN.
func halfBits(n int, top uint16) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = uint16(uint64(i)*2654435761>>7) & 0x8fff
		if i%3 == 0 {
			x[i] |= top
		}
	}
	return x
}

// TestWidenNarrow holds conversions against their definition on bits, and the way back.
func TestWidenNarrow(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range []int{64, 100, 3*streamMost + 70} {
			for _, c := range []struct {
				name   string
				widen  func(t Tier, o []float32, x []uint16) int
				narrow func(t Tier, o []uint16, x []float32) int
				value  func(bits uint16) float64
				x      []uint16
			}{
				{"f16", WidenF16, NarrowF16, float16Value, halfBits(n, 0x3000)},
				{"bf16", WidenBF16, NarrowBF16, func(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }, halfBits(n, 0x4000)},
			} {
				if !hasHalves && c.name == "f16" {
					continue
				}
				t.Run(fmt.Sprintf("%v/%s/%d", tier, c.name, n), func(t *testing.T) {
					wide, intactWide := guardedOf(n, func(int) float32 { return 0 })
					back, intactBack := guardedOf(n, func(int) uint16 { return 0 })
					m := c.widen(tier, wide, c.x)
					if n-m >= 64 || m == 0 {
						t.Fatalf("%d of %d are widened", m, n)
					}
					for i, got := range wide[:m] {
						if want := c.value(c.x[i]); float64(got) != want {
							t.Fatalf("element %d: %#x is %v, want %v", i, c.x[i], got, want)
						}
					}
					if m := c.narrow(tier, back, wide); n-m >= 64 || m == 0 {
						t.Fatalf("%d of %d are narrowed", m, n)
					}
					for i, got := range back[:m] {
						if i < m && got != c.x[i] {
							t.Fatalf("element %d: %v is %#x, want %#x", i, wide[i], got, c.x[i])
						}
					}
					if !intactWide() || !intactBack() {
						t.Fatal("a value beside the result is changed")
					}
				})
			}
		}
	}
}

func float16Value(b uint16) float64 {
	sign := 1 - 2*float64(b>>15)
	exp, mant := int(b>>10&31), float64(b&1023)
	if exp == 0 {
		return sign * math.Ldexp(mant, -24)
	}
	return sign * math.Ldexp(1024+mant, exp-25)
}

// TestNarrowRounds has numbers between two of 16 bits, and special ones.
func TestNarrowRounds(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{1 + 0x1p-11, 1 + 3*0x1p-11, 65519, 65520, 0x1p-25, 0x1.8p-25, -inf, math.Float32frombits(0xffc12345)}
	f16 := []uint16{0x3c00, 0x3c02, 0x7bff, 0x7c00, 0, 1, 0xfc00, 0xfe00}
	y := []float32{1 + 0x1p-8, 1 + 3*0x1p-8, math.MaxFloat32, 1 + 0x1.02p-8, -1 - 0x1p-8, 0x1p-149, -inf, float32(math.NaN())}
	bf16 := []uint16{0x3f80, 0x3f82, 0x7f80, 0x3f81, 0xbf80, 0, 0xff80, 0x7fc0}
	for _, tier := range tiers() {
		a, b, o := make([]float32, 64), make([]float32, 64), make([]uint16, 64)
		for i := range a {
			a[i], b[i] = x[i%8], y[i%8]
		}
		n := NarrowF16(tier, o, a)
		for i, got := range o[:n] {
			if want := f16[i%8]; got != want {
				t.Errorf("%v: float16 of %v is %#x, want %#x", tier, a[i], got, want)
			}
		}
		NarrowBF16(tier, o, b)
		for i, got := range o {
			if want := bf16[i%8]; got != want {
				t.Errorf("%v: bfloat16 of %v is %#x, want %#x", tier, b[i], got, want)
			}
		}
	}
}

func TestSums(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tier := range tiers() {
		for _, n := range []int{0, 31, 64, 1000, 3*streamMost + 70} {
			x := guarded(r, n)
			acc, intactSums := guardedOf(n, func(int) float64 { return 0 })
			for i := range x {
				x[i], acc[i] = float32(r.NormFloat64()), r.NormFloat64()
			}
			before := append([]float64(nil), acc...)
			sum, m := SumF32(tier, x)
			squares, k := SquaresF32(tier, x, 0.5)
			if m != k || n-m >= 32 {
				t.Fatalf("%v: sums of %d and %d elements of %d", tier, m, k, n)
			}
			for _, v := range x[:m] {
				sum -= float64(v)
				squares -= (float64(v) - 0.5) * (float64(v) - 0.5)
			}
			if bound := 1e-15 * float64(n*n); math.Abs(sum) > bound || math.Abs(squares) > bound {
				t.Errorf("%v: sums of %d elements are %v and %v wrong", tier, n, sum, squares)
			}
			m = AccumulateF64(tier, acc, x)
			if !intactSums() {
				t.Fatalf("%v: a sum beside %d is changed", tier, n)
			}
			if n-m >= 32 {
				t.Fatalf("%v: %d of %d are added", tier, m, n)
			}
			for i, got := range acc {
				want := before[i]
				if i < m {
					want += float64(x[i])
				}
				if got != want {
					t.Fatalf("%v: element %d of %d: %v, want %v", tier, i, n, got, want)
				}
			}
		}
	}
}

// TestZeros has numbers that are 0 in every place of a vector, and some that are almost 0.
func TestZeros(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = []float32{0, 1, float32(math.Copysign(0, -1)), 0x1p-149, float32(math.NaN()), float32(math.Inf(-1)), -2}[i*i%23%7]
	}
	for _, tier := range tiers() {
		for _, not := range []bool{false, true} {
			o, intactTruths := guardedOf(len(x), func(int) uint8 { return 0 })
			wide, intactWide := guardedOf(len(x), func(int) float64 { return 0 })
			n, m := ZeroF32(tier, o, x, not), WidenF32(tier, wide, x)
			if len(x)-n >= 64 || len(x)-m >= 32 {
				t.Fatalf("%v: %d and %d of %d elements", tier, n, m, len(x))
			}
			if !intactTruths() || !intactWide() {
				t.Fatalf("%v: a value beside the result is changed", tier)
			}
			for i, got := range o[:n] {
				if want := (x[i] == 0) != not; (got == 1) != want || got > 1 {
					t.Errorf("%v: element %d, %v: got %d, want %v", tier, i, x[i], got, want)
				}
			}
			for i, got := range wide[:m] {
				if want := float64(x[i]); got != want && want == want || math.Signbit(got) != math.Signbit(want) {
					t.Errorf("%v: element %d: got %v, want %v", tier, i, got, want)
				}
			}
		}
	}
}

// TestLongs holds conversions between float32 and int64 against those of Go.
func TestLongs(t *testing.T) {
	floats := []float32{0, -0.75, 1.999, -3.5, 0x1p31, -0x1p40, 0x1.fffffep62, 0x1p63, 0x1.8p63, 0x1.fffffep63, 0x1p64, -0x1p63, -0x1.000002p63, -0x1p64,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	for _, tier := range tiers() {
		for _, n := range []int{0, 31, 32, 67, streamMost + 70} {
			x, ints := make([]float32, n), make([]int64, n)
			for i := range x {
				x[i] = floats[i%len(floats)] + float32(i/len(floats)%300)
				ints[i] = int64(uint64(i+1)*0x9e3779b97f4a7c15) >> (i % 64)
			}
			o, intact := guardedOf(n+1, func(int) int64 { return 0 })
			m := LongsF32(tier, o[:n], x)
			for i, got := range o[:m] {
				want := int64(math.MinInt64)
				if v := x[i]; v >= 0 && v < 0x1p64 {
					want = int64(uint64(v))
				} else if v < 0 && v >= -0x1p63 {
					want = int64(v)
				}
				if got != want {
					t.Fatalf("%v: %v is %d, want %d", tier, x[i], got, want)
				}
			}
			if o[n] != 0 || !intact() || tier.float() == AVX512 && n-m >= 32 {
				t.Errorf("%v: %d of %d, intact: %v", tier, m, n, intact())
			}
			back, intactBack := guardedOf(n+1, func(int) float32 { return 0 })
			m = FloatsS64(tier, back[:n], ints)
			for i, got := range back[:m] {
				if got != float32(ints[i]) {
					t.Fatalf("%v: %d is %v, want %v", tier, ints[i], got, float32(ints[i]))
				}
			}
			if back[n] != 0 || !intactBack() || tier.float() == AVX512 && n-m >= 32 {
				t.Errorf("%v: %d of %d, intact: %v", tier, m, n, intactBack())
			}
		}
	}
}

// TestLowBits holds what takes the lowest bits of numbers against conversions of Go.
func TestLowBits(t *testing.T) {
	floats := []float64{0, -0.75, 1.999, -3.5, 127, 128.5, 255, 256, -129, 70000, -70001.5, 0x1p31 - 128, 0x1p31, -0x1p31, 0x1p32, 0x1p40, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, tier := range tiers() {
		for _, n := range []int{64, 131, streamMost + 70} {
			x := make([]float32, n)
			ints := make([]int64, n)
			for i := range x {
				x[i] = float32(floats[i%len(floats)]) + float32(i/len(floats)%300)
				ints[i] = int64(uint64(i+1) * 0x9e3779b97f4a7c15)
			}
			o, intact := guardedOf(n, func(int) uint8 { return 0 })
			m := BytesF32(tier, o, x)
			if n-m >= 64 || m == 0 || !intact() {
				t.Fatalf("%v: %d of %d are bytes, intact: %v", tier, m, n, intact())
			}
			for i, got := range o[:m] {
				want := uint8(0)
				if v := math.Abs(float64(x[i])); v < 0x1p31 {
					want = uint8(int64(x[i]))
				}
				if got != want {
					t.Fatalf("%v: %v is %d, want %d", tier, x[i], got, want)
				}
			}
			words, intactWords := guardedOf(n, func(int) int32 { return 0 })
			m = WordsS64(tier, unsafe.Slice((*uint32)(unsafe.Pointer(&words[0])), n), ints)
			if n-m >= 32 || m == 0 || !intactWords() {
				t.Fatalf("%v: %d of %d are words, intact: %v", tier, m, n, intactWords())
			}
			for i, got := range words[:m] {
				if got != int32(ints[i]) {
					t.Fatalf("%v: %#x is %#x", tier, ints[i], got)
				}
			}
		}
	}
}

// TestWidenRows holds rows against each of them alone.
func TestWidenRows(t *testing.T) {
	for _, tier := range tiers() {
		size := streamVectors * lanesOf(tier)
		for _, cols := range []int{size, 3 * size, 2*size + 1, size - 1, streamMost + size} {
			const rows = 5
			step := cols + 7
			x := halfBits(rows*step, 0x4000)
			for _, brain := range []bool{false, true} {
				o, want := guarded(rand.New(rand.NewSource(1)), rows*cols), make([]float32, rows*cols)
				one := WidenF16
				if brain {
					one = WidenBF16
				}
				has := cols%size == 0 && cols <= streamMost
				for i := range rows {
					has = one(tier, want[i*cols:][:cols], x[i*step:]) == cols && has
				}
				if ok := WidenRows(tier, o, x, brain, rows, cols, step); ok != has {
					t.Fatalf("%v, %d columns, bfloat16 %v: there is a kernel: %v, want %v", tier, cols, brain, ok, has)
				} else if ok && !slices.Equal(o, want) || !intact(o) {
					t.Errorf("%v, %d columns, bfloat16 %v: other numbers than row by row, or a value beside them is changed", tier, cols, brain)
				}
			}
		}
	}
	if WidenRows(Scalar, make([]float32, 64), make([]uint16, 64), true, 1, 64, 64) || WidenRows(Best(), nil, nil, true, 1, 0, 0) {
		t.Error("the scalar tier has a kernel, or rows of no elements")
	}
}
