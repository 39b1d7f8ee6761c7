package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestWeave makes pixels of planes with gaps and planes of pixels, and looks at the gaps, too.
func TestWeave(t *testing.T) {
	testWeave[uint8](t)
	testWeave[uint16](t)
	testWeave[float32](t)
	testWeave[float64](t)
}

func testWeave[T uint8 | uint16 | float32 | float64](t *testing.T) {
	const gap, guard = 3, 77
	size := unsafe.Sizeof(*new(T))
	turn := weaveTurn(size)
	for planes := 1; planes <= weaveMost+1; planes++ {
		for _, n := range []int{0, 1, turn - 1, turn, turn + 1, 2*turn - 1, 67, turn*weaveTurns + 5} {
			if n < 0 {
				continue
			}
			for _, toPixels := range []bool{true, false} {
				name := fmt.Sprintf("%T, %d pixels of %d planes, to pixels %v", *new(T), n, planes, toPixels)
				apart := n + gap
				inPlanes, inPixels := make([]T, planes*apart), make([]T, n*planes+gap)
				src, dst := inPlanes, inPixels
				if !toPixels {
					src, dst = inPixels, inPlanes
				}
				for i := range src {
					src[i] = T(i % 251)
				}
				for i := range dst {
					dst[i] = guard
				}
				fits := weaves(size, n, planes)
				if weave(toPixels, dst, src, n, planes, apart) != fits {
					t.Fatalf("%s: there is a kernel: %v, want %v", name, !fits, fits)
				}
				if !fits {
					continue
				}
				for i := range n {
					for c := range planes {
						if inPixels[i*planes+c] != inPlanes[c*apart+i] {
							t.Fatalf("%s: element %d of plane %d: %v in the pixel, %v in the plane", name, i, c, inPixels[i*planes+c], inPlanes[c*apart+i])
						}
					}
				}
				for i, v := range dst {
					if inside := toPixels && i < n*planes || !toPixels && i%apart < n; !inside && v != guard {
						t.Fatalf("%s: element %d behind the result is %v", name, i, v)
					}
				}
			}
		}
	}
}

// TestWeaves looks at which matrices have a kernel.
func TestWeaves(t *testing.T) {
	if weaveBlocks == 0 || moveTier() == Scalar {
		t.Skip("this tier has no kernel")
	}
	for _, c := range []struct {
		size           uintptr
		pixels, planes int
		want           bool
	}{{1, 100, 3, true}, {4, 100, 3, true}, {8, 100, 8, true}, {2, 100, weaveMost + 1, false}, {4, 100, 8, len(squareSides(moveTier(), 4)) == 0}, {4, 3, 2, false}, {3, 100, 3, false}, {16, 100, 3, false},
		{4, 100, 1, false}} {
		if got := weaves(c.size, c.pixels, c.planes); got != c.want {
			t.Errorf("%d pixels of %d planes with elements of %d bytes: %v, want %v", c.pixels, c.planes, c.size, got, c.want)
		}
	}
}

// TestRepeat repeats elements, where there is a kernel.
func TestRepeat(t *testing.T) {
	src := []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for times := range weaveMost + 2 {
		dst := make([]uint16, times*len(src)+1)
		if has := weaves(2, len(src), times); Repeat(dst, src, times) != has {
			t.Errorf("%d times: there is a kernel: %v, want %v", times, !has, has)
		} else if !has {
			continue
		}
		for i, v := range dst[:times*len(src)] {
			if v != uint16(i/times) {
				t.Fatalf("%d times, element %d: got %d", times, i, v)
			}
		}
		if dst[times*len(src)] != 0 {
			t.Errorf("%d times: wrote behind the result", times)
		}
	}
}

// TestTransposeThin holds matrices of few columns or rows, with gaps and without, against their definition.
func TestTransposeThin(t *testing.T) {
	for n := 1; n <= weaveMost+1; n++ {
		for _, gap := range []int{0, 2} {
			const m = 75
			src, dst := make([]uint16, m*(n+gap)), make([]uint16, n*(m+gap))
			for i := range src {
				src[i] = uint16(i + 1)
			}
			Transpose(dst, src, n, m, m+gap, n+gap)
			back := make([]uint16, len(src))
			Transpose(back, dst, m, n, n+gap, m+gap)
			for i := range n {
				for j := range m {
					if at := j*(n+gap) + i; dst[i*(m+gap)+j] != src[at] || back[at] != src[at] {
						t.Fatalf("%d rows, gap %d: row %d, column %d: got %d, and back %d, want %d", n, gap, i, j, dst[i*(m+gap)+j], back[at], src[at])
					}
				}
			}
		}
	}
}
