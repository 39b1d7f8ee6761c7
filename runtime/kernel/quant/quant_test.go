package quant

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
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
	for _, tier := range kernel.Tiers() {
		for _, size := range [][3]int{{1, 1, 1}, {2, 4, 3}, {3, 5, 7}, {7, 9, 16}, {1, 3, 0}, {21, 70, 37}, {33, 64, 128}} {
			checkMultiply(t, tier, size[0], size[1], size[2])
		}
	}
}

func checkMultiply(t *testing.T, tier kernel.Tier, m, rows, depth int) {
	for _, lda := range []int{depth, depth + 3} {
		a, w := pattern(m*lda, 1), pattern(rows*depth, 2)
		p := Pack(tier, make([]int8, PackedBytes(tier, rows, depth, 1)), w, rows, depth, 1)
		base := make([]int32, rows)
		for j := range base {
			base[j] = int32(1000 * j)
		}
		n := p.Columns()
		got := make([]int32, m*n)
		left := p.Load(make([]byte, m*p.RowBytes()), a, lda, m)
		start := p.Start(base)
		for panel := range n / p.Panel {
			p.Multiply(got[panel*p.Panel:], left, start[panel*p.Panel:], Block{Rows: m, From: panel, Until: panel + 1, Stride: n})
		}
		for i := range m {
			for j := range rows {
				want, sum := base[j], int32(0)
				for k := range depth {
					want += int32(a[i*lda+k]) * int32(w[j*depth+k])
					sum += int32(w[j*depth+k])
				}
				if got[i*n+j] != want || p.Sums[j] != sum {
					t.Fatalf("%v: %d×%d×%d: row %d column %d: got %d and sum %d, want %d and %d", tier, m, rows, depth, i, j, got[i*n+j], p.Sums[j], want, sum)
				}
			}
		}
	}
}

// TestRequantize holds int8 results against Multiply and Rows.Requantize, for panels that are full, narrow and neither.
func TestRequantize(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for _, rows := range []int{1, 4, 8, 16, 24, 32, 40, 48, 70} {
			for _, m := range []int{1, 5, 19} {
				checkRequantize(t, tier, m, rows)
			}
		}
	}
}

func checkRequantize(t *testing.T, tier kernel.Tier, m, rows int) {
	const depth = 37
	w := Pack(tier, make([]int8, PackedBytes(tier, rows, depth, 1)), pattern(rows*depth, 2), rows, depth, 1)
	left, stride, start := w.Load(make([]byte, m*w.RowBytes()), pattern(m*depth, 1), depth, m), rows+3, w.Start(make([]int32, rows))
	factors := make([]float32, w.Columns())
	for i := range factors {
		factors[i] = 1e-3 * float32(i+1)
	}
	b := Block{Rows: m, Until: w.Columns() / w.Panel, Stride: w.Columns()}
	for ; b.From < b.Until; b.From++ {
		sums, at := make([]int32, m*w.Columns()), b.From*w.Panel
		got, want := slices.Repeat([]int8{-128}, m*stride), slices.Repeat([]int8{-128}, m*stride)
		r := Requantized{Tier: tier, Start: start[at:], Factors: factors[at:], Bounds: Bounds{Zero: 7, Low: -90, High: 101}, Stride: stride}
		w.Requantize(got[at:], sums, left, &r, b)
		w.Multiply(sums, left, start[at:], b)
		scalar := Rows{Tier: kernel.Scalar, Rows: m, Cols: rows - at, Stride: b.Stride, OutStride: stride}
		scalar.Requantize(want[at:], sums, factors[at:], r.Bounds)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %d rows of %d columns from %d on: got %v, want %v", tier, m, rows, at, got, want)
		}
	}
}

// geometries are convolutions whose last four numbers follow from the others.
var geometries = []Conv{
	{Height: 5, Width: 4, Channels: 3, KernelHeight: 3, KernelWidth: 2, StrideHeight: 1, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 1, GroupInputs: 3, GroupOutputs: 2, OutHeight: 5, OutWidth: 2},
	{Height: 20, Width: 1, Channels: 6, KernelHeight: 9, KernelWidth: 1, StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1,
		Top: 3, Groups: 1, GroupInputs: 6, GroupOutputs: 2, OutHeight: 15, OutWidth: 1},
	{Height: 6, Width: 6, Channels: 4, KernelHeight: 2, KernelWidth: 2, StrideHeight: 1, StrideWidth: 1, DilationHeight: 2, DilationWidth: 3,
		Groups: 2, GroupInputs: 2, GroupOutputs: 3, OutHeight: 4, OutWidth: 3},
	{Height: 4, Width: 4, Channels: 3, KernelHeight: 3, KernelWidth: 3, StrideHeight: 2, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 3, GroupInputs: 1, GroupOutputs: 2, OutHeight: 2, OutWidth: 2},
	{Height: 8, Width: 9, Channels: 3, KernelHeight: 3, KernelWidth: 3, StrideHeight: 2, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 1, GroupInputs: 3, GroupOutputs: 4, OutHeight: 4, OutWidth: 5},
	{Height: 7, Width: 6, Channels: 4, KernelHeight: 2, KernelWidth: 4, StrideHeight: 1, StrideWidth: 1, DilationHeight: 3, DilationWidth: 1,
		Top: 2, Left: 1, Groups: 1, GroupInputs: 4, GroupOutputs: 2, OutHeight: 6, OutWidth: 4},
	{Height: 3, Width: 50, Channels: 70, KernelHeight: 3, KernelWidth: 3, StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 1, GroupInputs: 70, GroupOutputs: 2, OutHeight: 3, OutWidth: 50},
	{Height: 2, Width: 9, Channels: 17, KernelHeight: 2, KernelWidth: 5, StrideHeight: 1, StrideWidth: 3, DilationHeight: 2, DilationWidth: 1,
		Top: 1, Left: 7, Groups: 1, GroupInputs: 17, GroupOutputs: 2, OutHeight: 2, OutWidth: 7},
}

// pixel is channel ch of the pixel that a tap sees, zero in the padding.
func pixel(c *Conv, x []int8, pos, kh, kw, ch int, zero int8) int8 {
	y, z := pos/c.OutWidth*c.StrideHeight-c.Top+kh*c.DilationHeight, pos%c.OutWidth*c.StrideWidth-c.Left+kw*c.DilationWidth
	if y < 0 || y >= c.Height || z < 0 || z >= c.Width {
		return zero
	}
	return x[(y*c.Width+z)*c.Channels+ch]
}

// TestUnfold multiplies the unfolded input with rows that have a single one.
func TestUnfold(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for n := range geometries {
			for g := range geometries[n].Groups {
				checkUnfold(t, tier, &geometries[n], g)
			}
		}
	}
}

func checkUnfold(t *testing.T, tier kernel.Tier, c *Conv, group int) {
	x := pattern(c.Height*c.Width*c.Channels, group)
	m, depth := c.OutHeight*c.OutWidth, c.Depth()
	ones := make([]int8, depth*depth)
	for i := range depth {
		ones[i*depth+i] = 1
	}
	w := Pack(tier, make([]int8, PackedBytes(tier, depth, depth, c.Segments())), ones, depth, depth, c.Segments())
	left := make([]byte, m*w.RowBytes())
	c.Unfold(w, left, make([]byte, LineBytes), x, -9, 0, m, group)
	got := make([]int32, m*w.Columns())
	w.Multiply(got, w.Unfolded(left), w.Start(nil), Block{Rows: m, Until: w.Columns() / w.Panel, Stride: w.Columns()})
	for i := range m {
		for j := range depth {
			tap := j / c.GroupInputs
			want := pixel(c, x, i, tap/c.KernelWidth, tap%c.KernelWidth, group*c.GroupInputs+j%c.GroupInputs, -9)
			if got[i*w.Columns()+j] != int32(want) {
				t.Fatalf("%v: %+v: position %d, element %d: got %d, want %d", tier, c, i, j, got[i*w.Columns()+j], want)
			}
		}
	}
}

// TestStrip holds strips of lines against the unfolded input, both times weights, for all pieces of a line.
func TestStrip(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for n := range geometries {
			c := geometries[n]
			c.OutWidth += stripsLeast
			if w := Pack(tier, make([]int8, PackedBytes(tier, 3, c.Depth(), c.Segments())), pattern(3*c.Depth(), 4), 3, c.Depth(), c.Segments()); c.Strips(w) {
				checkStrips(t, tier, &c, w)
			} else if n == 0 && tier != kernel.Scalar {
				t.Fatalf("%v: %+v has no strips", tier, c)
			}
		}
	}
}

func checkStrips(t *testing.T, tier kernel.Tier, c *Conv, w *Weights) {
	x, line, start := pattern(c.Height*c.Width*c.Channels, 3), make([]byte, LineBytes), w.Start(nil)
	for _, m := range []int{1, 5, c.OutWidth} {
		for pos := 0; pos < c.OutHeight*c.OutWidth; pos += m {
			m := min(m, c.OutWidth-pos%c.OutWidth)
			unfolded, strip := make([]byte, m*w.RowBytes()), bytes.Repeat([]byte{77}, c.StripBytes(w, m)+1)
			b := Block{Rows: m, Until: w.Columns() / w.Panel, Stride: w.Columns()}
			got, want := make([]int32, m*b.Stride), make([]int32, m*b.Stride)
			c.Unfold(w, unfolded, line, x, -9, pos, m, 0)
			w.Multiply(want, w.Unfolded(unfolded), start, b)
			w.Multiply(got, c.Strip(w, strip[:len(strip)-1], x, -9, pos, m), start, b)
			if !slices.Equal(got, want) || strip[len(strip)-1] != 77 {
				t.Fatalf("%v: %+v: %d positions from %d on: got %v, want %v", tier, c, m, pos, got, want)
			}
		}
	}
}

func TestDepthwise(t *testing.T) {
	wide := Conv{Height: 6, Width: 9, Channels: 37, KernelHeight: 3, KernelWidth: 3, StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1,
		Top: 1, Left: 1, Groups: 37, GroupInputs: 1, GroupOutputs: 1, OutHeight: 6, OutWidth: 9}
	strided := wide
	strided.StrideHeight, strided.StrideWidth, strided.OutHeight, strided.OutWidth = 2, 2, 3, 5
	dilated := wide
	dilated.DilationWidth, dilated.Left, dilated.OutWidth = 4, 2, 5
	narrow := wide
	narrow.Width, narrow.Top, narrow.OutHeight, narrow.OutWidth = 2, 2, 8, 2
	large := wide
	large.KernelHeight, large.KernelWidth, large.Top, large.Left, large.StrideHeight, large.OutHeight, large.OutWidth = 5, 5, 2, 4, 3, 2, 11
	far := wide // padding alone beside the image
	far.Width, far.StrideWidth, far.Left, far.OutWidth = 1, 5, 6, 2
	for _, tier := range kernel.Tiers() {
		for _, c := range []*Conv{&geometries[2], &wide, &strided, &dilated, &narrow, &large, &far} {
			checkDepthwise(t, tier, c)
		}
	}
}

func checkDepthwise(t *testing.T, tier kernel.Tier, c *Conv) {
	const zero = 3
	outs, taps := c.Groups*c.GroupOutputs, c.KernelHeight*c.KernelWidth
	x, w := pattern(c.Height*c.Width*c.Channels, 5), pattern(taps*outs, 6)
	d, base := PackDepthwise(tier, w, c), make([]int32, outs)
	for i := range base {
		base[i] = int32(100 * i)
	}
	sums := make([]int32, c.OutHeight*c.OutWidth*outs)
	for i := range sums {
		o, pos := i%outs, i/outs
		sums[i] = base[o]
		for tap := range taps {
			p := pixel(c, x, pos, tap/c.KernelWidth, tap%c.KernelWidth, o/c.GroupOutputs, zero)
			sums[i] += (int32(p) - zero) * int32(w[tap*outs+o])
		}
	}
	if d.Windowed() {
		checkWindows(t, &Windows{Conv: c, Depthwise: d, X: x, Start: d.Start(base, zero)}, zero, sums)
		return
	}
	zeros := make([]int8, c.Width*c.Channels)
	Fill(zeros, zero)
	l := Line{Conv: c, Depthwise: d, X: x, Zeros: zeros, Base: d.Start(base, zero)}
	for y := range c.OutHeight {
		got, want := make([]int32, c.OutWidth*outs), sums[y*c.OutWidth*outs:]
		l.Sums(got, y)
		for i, v := range got {
			if v != want[i] {
				t.Fatalf("%v: %+v: line %d, column %d, output %d: got %d, want %d", tier, c, y, i/outs, i%outs, v, want[i])
			}
		}
	}
}

// checkWindows holds lines of an image to these sums, forwards and backwards, each after the same line of another image.
func checkWindows(t *testing.T, w *Windows, zero int8, sums []int32) {
	other := make([]int8, len(w.X))
	for i, x := range w.X {
		other[i] = ^x
	}
	w.X = append(other, w.X...)
	w.Bounds = Bounds{Zero: 5, Low: -100, High: 101}
	w.Factors = make([]float32, w.Outputs)
	for i := range w.Factors {
		w.Factors[i] = 1 / float32(100+i)
	}
	w.Use(make([]byte, w.FramesBytes()), zero)
	got, n := make([]int8, w.OutWidth*w.Outputs), w.OutWidth*w.Outputs
	for line := range 2 * w.OutHeight {
		y := min(line, 2*w.OutHeight-1-line)
		w.Line(got, 0, y)
		w.Line(got, 1, y)
		for i, v := range got {
			if want := int8(Round(float32(sums[y*n+i])*w.Factors[i%w.Outputs], w.Zero, w.Low, w.High)); v != want {
				t.Fatalf("%v: %+v: line %d, column %d, output %d: got %d, want %d", w.tier, w.Conv, y, i/w.Outputs, i%w.Outputs, v, want)
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
		inverse, zero := Dynamic(kernel.Best(), x)
		q, back := make([]int8, len(x)+1), make([]float32, len(x)+1)
		Quantize(kernel.Best(), q, append(x, 0), inverse, zero)
		Dequantize(kernel.Best(), back, q, 1/inverse, zero)
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

// TestSpread holds moves of pieces of every size against copies, and a source or a destination that is too short against a panic.
func TestSpread(t *testing.T) {
	for size := 1; size <= 2*callLeast; size++ {
		s := spreading{count: 3, size: size, step: size + 2, stride: size + 20, room: size + 20}
		src, dst, want := make([]byte, 2*s.step+size+moveMost), make([]byte, 2*s.stride+s.room), make([]byte, 2*s.stride+s.room)
		for i := range src {
			src[i] = byte(i*7 + 1)
		}
		for i := range s.count {
			copy(want[i*s.stride:], src[i*s.step:][:size])
		}
		spread(dst, src, s)
		for i := range s.count {
			if at := i * s.stride; !bytes.Equal(dst[at:at+size], want[at:at+size]) {
				t.Fatalf("piece %d of %d bytes is %x, want %x", i, size, dst[at:at+size], want[at:at+size])
			}
		}
	}
	s := spreading{count: 3, size: 20, step: 5, stride: 25, room: 20}
	spread(make([]byte, 70), make([]byte, 30), s)
	for _, short := range [][2]int{{69, 30}, {70, 29}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d bytes of %d are spread", short[0], short[1])
				}
			}()
			spread(make([]byte, short[0]), make([]byte, short[1]), s)
		}()
	}
}
