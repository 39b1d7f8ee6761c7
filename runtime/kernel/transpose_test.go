package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

// transposeSizes are rows and columns around the squares', and around the block of rows.
var transposeSizes = []int{0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 19, 24, 31, 64, 67, 130}

// TestTranspose transposes matrices whose rows have gaps, in every tier.
func TestTranspose(t *testing.T) {
	for _, tier := range append([]Tier{Scalar}, tiers()...) {
		for _, n := range transposeSizes {
			for _, m := range transposeSizes {
				t.Run(fmt.Sprintf("%v/%dx%d", tier, n, m), func(t *testing.T) {
					testTranspose[uint32](t, squareSides(tier, 4), n, m)
					testTranspose[float32](t, squareSides(tier, 4), n, m)
					testTranspose[uint16](t, squareSides(tier, 2), n, m)
					testTranspose[uint8](t, squareSides(tier, 1), n, m)
				})
			}
		}
	}
	testTranspose[float64](t, squareSides(Best(), 8), 67, 19)
	for _, size := range []uintptr{0, 3, 8} {
		if sides := squareSides(Best(), size); sides != nil {
			t.Errorf("squares of elements of %d bytes have the sides %v", size, sides)
		}
	}
}

// testTranspose transposes n rows of m elements and looks at the gaps, too.
func testTranspose[T uint8 | uint16 | uint32 | float32 | float64](t *testing.T, sides []int, n, m int) {
	const gap, guard = 3, 77
	src, dst := make([]T, m*(n+gap)), make([]T, n*(m+gap))
	for i := range src {
		src[i] = T(i % 251)
	}
	for i := range dst {
		dst[i] = guard
	}
	transposeBy(sides, dst, src, n, m, m+gap, n+gap)
	for i := range dst {
		row, col := i/(m+gap), i%(m+gap)
		want := T(guard)
		if col < m {
			want = src[col*(n+gap)+row]
		}
		if dst[i] != want {
			t.Fatalf("row %d, column %d: got %v, want %v", row, col, dst[i], want)
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	benchmarkTranspose[uint8](b)
	benchmarkTranspose[uint16](b)
	benchmarkTranspose[float32](b)
}

func benchmarkTranspose[T any](b *testing.B) {
	size := unsafe.Sizeof(*new(T))
	for _, c := range []struct{ n, m, columns int }{{512, 512, 32}, {1024, 1024, 1024}, {3136, 64, 64}, {64, 3136, 3136}} {
		src, dst := make([]T, c.n*c.m), make([]T, c.n*c.m)
		for _, tier := range tiers() {
			b.Run(fmt.Sprintf("%v/%T/%dx%d by %d", tier, src, c.n, c.m, c.columns), func(b *testing.B) {
				b.SetBytes(2 * int64(size) * int64(len(src)))
				for b.Loop() {
					for at := 0; at < c.m; at += c.columns {
						transposeBy(squareSides(tier, size), dst[at:], src[at*c.n:], c.n, c.columns, c.m, c.n)
					}
				}
			})
		}
	}
}

// TestReadAhead has a one in every line of the cache, all of which are read, and further ones in rows that are not.
func TestReadAhead(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 640} {
		x := make([]byte, n+cacheLine)
		for i := 0; i < len(x); i += cacheLine {
			x[i] = 1
		}
		if got, want := touch(unsafe.Pointer(&x[0]), uintptr(n)), (n+cacheLine-1)/cacheLine; int(got) != want {
			t.Errorf("of %d bytes: %d lines are read, want %d", n, got, want)
		}
	}
	ReadAhead([]float32(nil), 3, 0, 3)
	ReadAhead(make([]float32, 5), 2, 2, 3) // with a gap, nothing
}

// BenchmarkPack transposes panels of 40 MB of weights, which lie in memory, with and without reading them ahead.
func BenchmarkPack(b *testing.B) {
	const cols, total = 32, 10 << 20
	src := make([]float32, total)
	for i := range src {
		src[i] = float32(i)
	}
	for _, n := range []int{384, 1536, 4096} {
		panel := make([]float32, cols*n)
		for _, ahead := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%v", n, ahead), func(b *testing.B) {
				b.SetBytes(4 * total)
				for b.Loop() {
					for at := 0; at+len(panel) <= total; at += len(panel) {
						if ahead {
							ReadAhead(src[at:], n, cols, n)
						}
						Transpose(panel, src[at:], n, cols, cols, n)
					}
				}
			})
		}
	}
}
