package kernel

import (
	"math"
	"unsafe"
)

// stream is what a kernel of blocks of elements gets. Its layout is known to the generator.
type stream struct {
	x, out  unsafe.Pointer
	blocks  uintptr
	numbers [4]uint32
}

// streamMost is how many elements one call of a stream may take at most.
const streamMost = 16 << 10

// streamVectors is how many vectors a block has at most.
const streamVectors = 4

// run computes the blocks of n elements, of so many bytes before and after, and gives how many those are.
func (s *stream) run(t Tier, kind, n, size int, bytes [2]int) int {
	done := 0
	for n-done >= size {
		m := min(n-done, streamMost) / size * size
		s.blocks = uintptr(m / size)
		s.call(t, kind)
		done += m
		if done < n {
			s.x, s.out = unsafe.Add(s.x, m*bytes[0]), unsafe.Add(s.out, m*bytes[1])
		}
	}
	return done
}

// WidenF16 makes float32 of float16, as many as it gives, from the first on: none in a tier without a kernel, else all
// but the last few.
func WidenF16(t Tier, o []float32, x []uint16) int {
	if !hasHalves {
		return 0
	}
	return widen(t, o, x, streamWidenF16)
}

// WidenBF16 is WidenF16 of bfloat16.
func WidenBF16(t Tier, o []float32, x []uint16) int { return widen(t, o, x, streamWidenBF16) }

// WidenRows makes float32 of rows of float16, or of bfloat16: row i of x, which begins step elements after the one before, is
// o[i·cols:][:cols]. It reports whether t has a kernel for rows of so many columns.
func WidenRows(t Tier, o []float32, x []uint16, brain bool, rows, cols, step int) bool {
	if t == Scalar || !brain && !hasHalves {
		return false
	}
	kind, size := streamWidenF16, streamVectors*lanesOf(t)
	if brain {
		kind = streamWidenBF16
	}
	if cols < size || cols%size != 0 || cols > streamMost {
		return false
	}
	s := stream{blocks: uintptr(cols / size)}
	for i := range rows {
		s.x, s.out = first(x[i*step:], cols), first(o[i*cols:], cols)
		s.call(t, kind)
	}
	return true
}

// WidenS8 is WidenF16 of int8.
func WidenS8(t Tier, o []float32, x []int8) int { return widen(t, o, x, streamWidenS8) }

func widen[T uint16 | int8](t Tier, o []float32, x []T, kind int) int {
	if t == Scalar {
		return 0
	}
	var z T
	s := stream{x: first(x, len(o)), out: first(o, len(o))}
	return s.run(t, kind, len(o), streamVectors*lanesOf(t), [2]int{int(unsafe.Sizeof(z)), 4})
}

// NarrowF16 makes float16 of float32, ties to even, as many as it gives; see WidenF16. All NaN of a sign become the same.
func NarrowF16(t Tier, o []uint16, x []float32) int {
	if !hasHalves {
		return 0
	}
	return narrow(t, o, x, streamVectors, [4]uint32{0x80000000, 0x7fc00000}, streamNarrowF16)
}

// NarrowBF16 is NarrowF16 to bfloat16; all NaN become the same.
func NarrowBF16(t Tier, o []uint16, x []float32) int {
	return narrow(t, o, x, streamVectors/2, [4]uint32{0x7fff, 1, 0x7fc0}, streamNarrowBF16)
}

func narrow(t Tier, o []uint16, x []float32, vectors int, numbers [4]uint32, kind int) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o)), numbers: numbers}
	return s.run(t, kind, len(o), vectors*lanesOf(t), [2]int{4, 2})
}

// WidenF32 is WidenF16 of float32 to float64.
func WidenF32(t Tier, o []float64, x []float32) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o))}
	return s.run(t, streamWidenF32, len(o), streamVectors*lanesOf(t)/2, [2]int{4, 8})
}

// ZeroF32 sets o to 1 where x is 0, or, if not is set, to 1 where it is not, and else to 0; see WidenF16 for how many.
func ZeroF32(t Tier, o []uint8, x []float32, not bool) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o))}
	if not {
		s.numbers[0] = 1
	}
	return s.run(t, streamZeroF32, len(o), streamVectors*lanesOf(t), [2]int{4, 1})
}

// BytesF32 gives the lowest 8 bits of x without what is behind the point, 0 for what is NaN or infinite; see WidenF16 for how many.
func BytesF32(t Tier, o []uint8, x []float32) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o)), numbers: [4]uint32{math.MaxInt32, math.Float32bits(0x1p31)}}
	return s.run(t, streamBytesF32, len(o), streamVectors*lanesOf(t), [2]int{4, 1})
}

// WordsS64 gives the lowest 32 bits of x; see WidenF16 for how many.
func WordsS64(t Tier, o []uint32, x []int64) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o))}
	return s.run(t, streamWordsS64, len(o), streamVectors*lanesOf(t)/2, [2]int{8, 4})
}

// LongsF32 makes int64 of float32 without what is behind the point, as many as it gives; see WidenF16. From 2⁶³ to below 2⁶⁴ it wraps
// around; what else does not fit becomes the least one.
func LongsF32(t Tier, o []int64, x []float32) int {
	if t.float() != AVX512 {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o)), numbers: [4]uint32{math.Float32bits(0x1p63), math.Float32bits(0x1p64)}}
	return s.run(t, streamLongsF32, len(o), streamVectors/2*lanesOf(t), [2]int{4, 8})
}

// FloatsS64 makes float32 of int64, ties to even, as many as it gives; see WidenF16.
func FloatsS64(t Tier, o []float32, x []int64) int {
	if t.float() != AVX512 {
		return 0
	}
	s := stream{x: first(x, len(o)), out: first(o, len(o))}
	return s.run(t, streamFloatsS64, len(o), streamVectors*lanesOf(t)/2, [2]int{8, 4})
}

// SumF32 adds elements of x in float64, as many as it says, from the first on: none in a tier without a kernel, else all
// but the last few.
func SumF32(t Tier, x []float32) (sum float64, n int) { return sums(t, x, [4]uint32{}, streamSumF32) }

// SquaresF32 is SumF32 of the squares of x[i] - mean.
func SquaresF32(t Tier, x []float32, mean float64) (sum float64, n int) {
	b := math.Float64bits(mean)
	return sums(t, x, [4]uint32{uint32(b), uint32(b >> 32)}, streamSquaresF32)
}

func sums(t Tier, x []float32, numbers [4]uint32, kind int) (sum float64, n int) {
	if t == Scalar {
		return 0, 0
	}
	size := streamVectors * lanesOf(t) / 2
	if len(x) < size {
		return 0, 0
	}
	var parts [maxLanes / 2]float64
	s := stream{out: unsafe.Pointer(&parts), numbers: numbers}
	for len(x)-n >= size {
		s.x = unsafe.Pointer(&x[n])
		m := min(len(x)-n, streamMost) / size
		s.blocks = uintptr(m)
		s.call(t, kind)
		n += m * size
		for w := size / streamVectors / 2; w > 0; w /= 2 {
			for i := range w {
				parts[i] += parts[i+w]
			}
		}
		sum += parts[0]
	}
	return sum, n
}

// AccumulateF64 adds elements of x to those of acc, as many as it gives; see SumF32.
func AccumulateF64(t Tier, acc []float64, x []float32) int {
	if t == Scalar {
		return 0
	}
	s := stream{x: first(x, len(acc)), out: first(acc, len(acc))}
	return s.run(t, streamAccumulateF64, len(acc), streamVectors*lanesOf(t)/2, [2]int{4, 8})
}
