package quant

import (
	"math"
	"slices"
	"testing"
)

// pattern is n integers from -128 to 127.
func pattern(n, seed int) []int8 {
	x := make([]int8, n)
	for i := range x {
		x[i] = int8((i*37 + seed*101 + i*i%61) & 0xff)
	}
	return x
}

func TestMultiply(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {2, 4, 3}, {3, 5, 7}, {7, 9, 16}, {1, 3, 0}} {
		m, rows, depth := size[0], size[1], size[2]
		lda := depth + 2
		a, w := pattern(m*lda, 1), pattern(rows*depth, 2)
		p := Pack(w, rows, depth)
		got := make([]int32, m*rows)
		p.Multiply(got, a, lda, m)
		for i := range m {
			for j := range rows {
				var want, sum int32
				for k := range depth {
					want += int32(a[i*lda+k]) * int32(w[j*depth+k])
					sum += int32(w[j*depth+k])
				}
				if got[i*rows+j] != want || p.Sums[j] != sum {
					t.Errorf("%v: row %d column %d: got %d and sum %d, want %d and %d", size, i, j, got[i*rows+j], p.Sums[j], want, sum)
				}
			}
		}
	}
}

// geometries are convolutions whose last four numbers follow from the others.
var geometries = []Conv{
	{Height: 5, Width: 4, Channels: 3, KernelHeight: 3, KernelWidth: 2, StrideHeight: 1, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 1, GroupInputs: 3, GroupOutputs: 2, OutHeight: 5, OutWidth: 2},
	{Height: 6, Width: 6, Channels: 4, KernelHeight: 2, KernelWidth: 2, StrideHeight: 1, StrideWidth: 1, DilationHeight: 2, DilationWidth: 3,
		Groups: 2, GroupInputs: 2, GroupOutputs: 3, OutHeight: 4, OutWidth: 3},
	{Height: 4, Width: 4, Channels: 3, KernelHeight: 3, KernelWidth: 3, StrideHeight: 2, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 3, GroupInputs: 1, GroupOutputs: 2, OutHeight: 2, OutWidth: 2},
}

// pixel is channel ch of the pixel that a tap sees, zero in the padding.
func pixel(c *Conv, x []int8, pos, kh, kw, ch int, zero int8) int8 {
	y, z := pos/c.OutWidth*c.StrideHeight-c.Top+kh*c.DilationHeight, pos%c.OutWidth*c.StrideWidth-c.Left+kw*c.DilationWidth
	if y < 0 || y >= c.Height || z < 0 || z >= c.Width {
		return zero
	}
	return x[(y*c.Width+z)*c.Channels+ch]
}

func TestUnfold(t *testing.T) {
	for n := range geometries {
		c := &geometries[n]
		x := pattern(c.Height*c.Width*c.Channels, n)
		m := c.OutHeight * c.OutWidth
		for g := range c.Groups {
			got := make([]int8, m*c.Depth())
			c.Unfold(got, x, 0, m, g, -9)
			var want []int8
			for pos := range m {
				for tap := range c.KernelHeight * c.KernelWidth {
					for k := range c.GroupInputs {
						want = append(want, pixel(c, x, pos, tap/c.KernelWidth, tap%c.KernelWidth, g*c.GroupInputs+k, -9))
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("geometry %d group %d: got %v, want %v", n, g, got, want)
			}
		}
	}
}

func TestDepthwise(t *testing.T) {
	c := &geometries[2]
	outs := c.Groups * c.GroupOutputs
	x, w := pattern(c.Height*c.Width*c.Channels, 5), pattern(9*outs, 6)
	for pos := range c.OutHeight * c.OutWidth {
		got := make([]int32, outs)
		c.Depthwise(got, x, w, pos, 3)
		for o := range outs {
			var want int32
			for tap := range 9 {
				want += (int32(pixel(c, x, pos, tap/3, tap%3, o/c.GroupOutputs, 3)) - 3) * int32(w[tap*outs+o])
			}
			if got[o] != want {
				t.Errorf("position %d output %d: got %d, want %d", pos, o, got[o], want)
			}
		}
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct{ x, zero, want float32 }{
		{0.5, 0, 0}, {1.5, 0, 2}, {-2.5, 1, -1}, {200, 0, 127}, {-200, 0, -128}, {float32(math.NaN()), 5, -128}, {float32(math.Inf(1)), -3, 127},
	} {
		if got := Round(c.x, c.zero, -128, 127); got != c.want {
			t.Errorf("Round(%v, %v) = %v, want %v", c.x, c.zero, got, c.want)
		}
	}
}

// TestDynamic: 0 is exact, and every number is within half a step of what comes back.
func TestDynamic(t *testing.T) {
	for _, x := range [][]float32{{0, 0}, {1, 2, 3}, {-3, -1}, {-1, 0.5, 2}, {1e-3, -4e4}, {5}} {
		inverse, zero := Dynamic(x)
		q, back := make([]int8, len(x)+1), make([]float32, len(x)+1)
		Quantize(q, append(x, 0), inverse, zero)
		Dequantize(back, q, 1/inverse, zero)
		for i, v := range append(x, 0) {
			if d := math.Abs(float64(back[i] - v)); d > 0.5001/float64(inverse) {
				t.Errorf("%v: %v comes back as %v", x, v, back[i])
			}
		}
		if back[len(x)] != 0 {
			t.Errorf("%v: 0 comes back as %v", x, back[len(x)])
		}
	}
}
