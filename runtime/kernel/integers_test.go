package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"unsafe"
)

// guardedOf is n elements between 17 guards on each side, at an odd place.
func guardedOf[T int8 | uint8 | uint16 | int32 | int64 | float32 | float64](n int, of func(i int) T) (x []T, intact func() bool) {
	const side = 17
	b := make([]T, n+2*side)
	for i := range b {
		b[i] = 77
	}
	x = b[side : side+n : side+n]
	for i := range x {
		x[i] = of(i)
	}
	return x, func() bool {
		for i := range side {
			if b[i] != 77 || b[side+n+i] != 77 {
				return false
			}
		}
		return true
	}
}

// randomS8 gives all int8, the extremes more often.
func randomS8(r *rand.Rand) func(int) int8 {
	return func(int) int8 {
		switch r.Intn(8) {
		case 0:
			return math.MinInt8
		case 1:
			return math.MaxInt8
		}
		return int8(r.Intn(256) - 128)
	}
}

// TestGemmS8 holds every tile of every tier against the sums, exactly.
func TestGemmS8(t *testing.T) {
	for _, tier := range tiers() {
		g := IntegersOf(tier)
		for rows := 1; rows <= g.Rows; rows++ {
			depths := []int{1, 2, 3, 4, 5, 15, 16, 17, 31, 64, 130, 2500}
			if rows == 1 || rows == g.Rows {
				depths = append(depths, 3*tileMostS8*g.Group+5) // in pieces
			}
			for _, depth := range depths {
				t.Run(fmt.Sprintf("%v/%dx%d", tier, rows, depth), func(t *testing.T) { checkTileS8(t, g, rows, depth) })
			}
		}
	}
}

// checkSumsS8 holds the sums of a panel against those of its columns, which are ld apart in w.
func checkSumsS8(t *testing.T, g *GemmS8, panel, w []int8, depth, ld int) {
	sums, intact := guardedOf(g.Cols, func(int) int32 { return 7 })
	g.Sums(sums, panel, depth)
	for c, got := range sums {
		want := int32(0)
		for k := 0; c*ld < len(w) && k < depth; k++ {
			want += int32(w[c*ld+k])
		}
		if got != want || !intact() {
			t.Fatalf("depth %d: sum of column %d: got %d, want %d", depth, c, got, want)
		}
	}
}

func checkTileS8(t *testing.T, g *GemmS8, rows, depth int) {
	r := rand.New(rand.NewSource(int64(rows*1000 + depth)))
	const ld = 3 // rows of weights are further apart than they are long
	x, _ := guardedOf(rows*depth, randomS8(r))
	w, _ := guardedOf((g.Cols-2)*(depth+ld), randomS8(r))
	panel := make([]int8, g.PanelBytes(depth))
	g.Pack(panel, w, depth, depth+ld)
	checkSumsS8(t, g, panel, w, depth, depth+ld)
	stride := g.RowBytes(depth) + 5
	left, leftIntact := guardedOf(rows*stride, func(int) uint8 { return 99 })
	start, _ := guardedOf(g.Cols, func(int) int32 { return int32(r.Uint32() >> 8) })
	for i := range rows {
		g.Load(left[i*stride:], x[i*depth:(i+1)*depth])
	}
	for c := range g.Cols - 2 {
		if g.Flips {
			for _, v := range w[c*(depth+ld):][:depth] {
				start[c] -= 128 * int32(v)
			}
		}
	}
	sums := make([]int32, rows*g.Cols)
	for i := range sums {
		row, c := i/g.Cols, i%g.Cols
		sums[i] = start[c]
		for k := 0; c < g.Cols-2 && k < depth; k++ {
			v := int32(x[row*depth+k])
			if g.Flips {
				v += 128
			}
			sums[i] += v * int32(w[c*(depth+ld)+k])
		}
	}
	tile := TileS8{Left: &left[0], Stride: uintptr(stride), Panel: &panel[0], Depth: uintptr(g.Groups(depth)), Segments: 1, Start: &start[0]}
	for cols, run := range map[int]func(*TileS8, int){g.Cols: g.Run, g.Narrow: g.RunNarrow} {
		outStride := g.Cols + 3
		out, outIntact := guardedOf(rows*outStride, func(int) int32 { return 88 })
		tile.Out, tile.OutStride, tile.Factors = unsafe.Pointer(&out[0]), uintptr(4*outStride), nil
		run(&tile, rows)
		checkRowsS8(t, out, outStride, cols, 88, func(row, c int) int32 { return sums[row*g.Cols+c] })
		bounds := RowsS8{Low: -100, High: 90.5, Zero: -11}
		factors, _ := guardedOf(g.Cols, func(c int) float32 { return 1e-6 * float32(1+c) })
		bytes, bytesIntact := guardedOf(rows*outStride, func(int) int8 { return 88 })
		tile.Out, tile.OutStride, tile.Factors = unsafe.Pointer(&bytes[0]), uintptr(outStride), &factors[0]
		tile.Low, tile.High, tile.Zero = bounds.Low, bounds.High, bounds.Zero
		run(&tile, rows)
		checkRowsS8(t, bytes, outStride, cols, 88, func(row, c int) int8 { return int8(roundTo(float32(sums[row*g.Cols+c])*factors[c], &bounds)) })
		if !leftIntact() || !outIntact() || !bytesIntact() {
			t.Fatal("a value beside a buffer is changed")
		}
	}
}

// TestSegmentsS8 holds tiles of rows in segments, which lie apart, or overlap, against one segment that has all of them, also in pieces.
func TestSegmentsS8(t *testing.T) {
	for _, tier := range tiers() {
		g := IntegersOf(tier)
		for _, c := range []struct{ rows, depth, segments, gap int }{
			{1, 3, 2, 8}, {g.Rows, 7, 3, 4}, {2, 1, 5, -4}, {3, 5, 3, -16}, {2, tileMostS8/2 - 1, 5, 12}, {2, tileMostS8 + 3, 2, -20}} {
			checkSegmentsS8(t, g, c.rows, c.depth, c.segments, c.gap)
		}
	}
}

func checkSegmentsS8(t *testing.T, g *GemmS8, rows, depth, segments, gap int) {
	const step = 12 // bytes from a row to the next
	r := rand.New(rand.NewSource(int64(depth)))
	part := depth*groupBytes + gap // from a segment to the next
	bytes := make([]byte, step*(rows-1)+max(part, 0)*(segments-1)+depth*groupBytes)
	weights := make([]int8, segments*depth*g.Group*g.Cols)
	for i := range bytes {
		if bytes[i] = byte(r.Intn(256)); g.Group == 2 && i%2 == 1 { // int16
			bytes[i] = byte(int8(bytes[i-1]) >> 7)
		}
	}
	for i := range weights {
		weights[i] = int8(r.Intn(256))
	}
	whole := make([]byte, rows*segments*depth*groupBytes)
	for i := range rows {
		for s := range segments {
			copy(whole[(i*segments+s)*depth*groupBytes:][:depth*groupBytes], bytes[i*step+s*part:])
		}
	}
	start := make([]int32, g.Cols)
	got, want := make([]int32, rows*g.Cols), make([]int32, rows*g.Cols)
	tile := TileS8{Left: &bytes[0], Stride: step, Panel: &weights[0], Out: unsafe.Pointer(&got[0]), OutStride: uintptr(4 * g.Cols),
		Depth: uintptr(depth), Segments: uintptr(segments), Gap: uintptr(gap), Start: &start[0]}
	g.Run(&tile, rows)
	for s := range segments { // each alone: without another loop, and with less depth
		sums := make([]int32, rows*g.Cols)
		one := TileS8{Left: &whole[s*depth*groupBytes], Stride: uintptr(segments * depth * groupBytes), Panel: &weights[s*depth*g.Group*g.Cols],
			Out: unsafe.Pointer(&sums[0]), OutStride: uintptr(4 * g.Cols), Depth: uintptr(depth), Segments: 1, Start: &start[0]}
		g.Run(&one, rows)
		for i, x := range sums {
			want[i] += x
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v: %d rows, %d segments of %d groups, %d apart: got %v, want %v", g.tier, rows, segments, depth, gap, got, want)
	}
	clear(got)
	g.RunNarrow(&tile, rows)
	checkRowsS8(t, got, g.Cols, g.Narrow, 0, func(row, c int) int32 { return want[row*g.Cols+c] })
	bounds, factors, o := RowsS8{Low: -100, High: 90, Zero: 5}, make([]float32, g.Cols), slices.Repeat([]int8{44}, rows*g.Cols)
	for c := range factors {
		factors[c] = 1e-6 * float32(c+1)
	}
	tile.Out, tile.OutStride, tile.Factors = unsafe.Pointer(&o[0]), uintptr(g.Cols), &factors[0]
	tile.Low, tile.High, tile.Zero = bounds.Low, bounds.High, bounds.Zero
	g.RunNarrow(&tile, rows)
	checkRowsS8(t, o, g.Cols, g.Narrow, 44, func(row, c int) int8 { return int8(roundTo(float32(want[row*g.Cols+c])*factors[c], &bounds)) })
}

// checkRowsS8 holds cols results of rows that are stride apart, behind which others are, against what they should be.
func checkRowsS8[T int8 | int32](t *testing.T, out []T, stride, cols int, other T, of func(row, c int) T) {
	for i, got := range out {
		want := other
		if row, c := i/stride, i%stride; c < cols {
			want = of(row, c)
		}
		if got != want {
			t.Fatalf("%d columns of %T: row %d, column %d: got %d, want %d", cols, got, i/stride, i%stride, got, want)
		}
	}
}

// TestLoadS8 holds rows of the left factor of any length against what a group is.
func TestLoadS8(t *testing.T) {
	for _, tier := range tiers() {
		g := IntegersOf(tier)
		for _, n := range []int{0, 1, 7, 8, 16, 31, 32, 33, 63, 64, 65, 200, 1 << 15} {
			x, _ := guardedOf(n, randomS8(rand.New(rand.NewSource(int64(n)))))
			dst, intact := guardedOf(g.RowBytes(n), func(int) uint8 { return 0 })
			g.Load(dst, x)
			if !intact() {
				t.Errorf("%v: %d elements: a value beside the row is changed", tier, n)
			}
			for i, v := range x {
				got, want := int(int8(dst[i*4/g.Group])), int(v)
				switch {
				case g.Flips:
					got = int(dst[i]) - 128
				case g.Group == 2:
					got = int(int16(uint16(dst[2*i]) | uint16(dst[2*i+1])<<8))
				}
				if got != want {
					t.Fatalf("%v: %d elements: element %d: got %d, want %d", tier, n, i, got, want)
				}
			}
		}
	}
}

// TestTapsS8 holds sums of pixels against the formula, for all numbers of channels around those of vectors.
func TestTapsS8(t *testing.T) {
	for _, tier := range tiers() {
		g := IntegersOf(tier)
		for _, n := range []int{g.Lanes, g.Lanes + 1, 2*g.Lanes - 1, 4 * g.Lanes, 5*g.Lanes + 3, 144} {
			for _, pixels := range []int{1, 3} {
				t.Run(fmt.Sprintf("%v/%dx%d", tier, pixels, n), func(t *testing.T) { checkTapsS8(t, g, n, pixels) })
			}
		}
	}
}

func checkTapsS8(t *testing.T, g *GemmS8, n, pixels int) {
	const taps, gap = 5, 3
	r := rand.New(rand.NewSource(int64(n)))
	var inputs [taps]*int8
	var lines [taps][]int8
	for i := range lines {
		lines[i], _ = guardedOf(pixels*(n+gap), randomS8(r))
		inputs[i] = &lines[i][0]
	}
	w, _ := guardedOf(taps*n, randomS8(r))
	weights, start := make([]int32, taps*n), make([]int32, n)
	for i, v := range w {
		weights[i] = g.TapWeight(v)
	}
	for i := range start {
		start[i] = int32(r.Intn(1 << 20))
	}
	out, intact := guardedOf(pixels*n, func(int) int32 { return 0 })
	g.Taps(&TapsS8{Inputs: &inputs[0], Weights: &weights[0], Step: uintptr(4 * n), Count: taps, Out: &out[0], Start: &start[0],
		Pixels: uintptr(pixels), InStep: uintptr(n + gap), OutStep: uintptr(4 * n)}, n)
	if !intact() {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		want := start[i%n]
		for k := range taps {
			want += int32(lines[k][i/n*(n+gap)+i%n]) * int32(w[k*n+i%n])
		}
		if got != want {
			t.Fatalf("pixel %d, channel %d: got %d, want %d", i/n, i%n, got, want)
		}
	}
}

// roundTo is what Requant and QuantizeS8 do with a number.
func roundTo(x float32, r *RowsS8) float32 {
	if !(x > r.Low) {
		x = r.Low
	}
	return float32(math.RoundToEven(float64(min(x, r.High)))) + float32(r.Zero)
}

// rowWidths are widths around those of vectors.
func rowWidths(tier Tier) []int {
	n := lanesOf(tier)
	return []int{n, n + 1, 2*n - 1, 3 * n, 4 * n, 9*n + 2}
}

func TestRequantS8(t *testing.T) {
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, 1e30, 0.5}
	for _, tier := range tiers() {
		for _, n := range rowWidths(tier) {
			r := rand.New(rand.NewSource(int64(n)))
			rows := RowsS8{Rows: 3, Cols: n, Stride: n + 2, OutStride: n + 1, Low: -100, High: 103, Zero: -20}
			sums, _ := guardedOf(3*rows.Stride, func(int) int32 { return int32(r.Uint32()) >> r.Intn(32) })
			factors, _ := guardedOf(n, func(i int) float32 {
				if i%5 == 0 {
					return special[r.Intn(len(special))]
				}
				return float32(math.Exp(-20 * r.Float64()))
			})
			o, intact := guardedOf(3*rows.OutStride, func(int) int8 { return 55 })
			if !rows.Requant(tier, o, sums, factors) || !intact() {
				t.Fatalf("%v: %d columns: no kernel, or a value beside the output is changed", tier, n)
			}
			for i, got := range o {
				row, c := i/rows.OutStride, i%rows.OutStride
				want := int8(55)
				if c < n {
					want = int8(roundTo(float32(sums[row*rows.Stride+c])*factors[c], &rows))
				}
				if got != want {
					t.Fatalf("%v: %d columns: row %d, column %d: got %d, want %d", tier, n, row, c, got, want)
				}
			}
		}
	}
}

// TestScaleS8 holds the way from sums to float32, in its two steps, against the formulas, to the bit.
func TestScaleS8(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range rowWidths(tier) {
			r := rand.New(rand.NewSource(int64(n)))
			normal := func(int) float32 { return float32(r.NormFloat64()) }
			wide := (n + MaxColsS8 - 1) / MaxColsS8 * MaxColsS8
			rows := RowsS8{Rows: 2, Cols: wide, Stride: wide + 1, OutStride: wide}
			sums, _ := guardedOf(2*rows.Stride, func(int) int32 { return int32(r.Uint32()) >> 12 })
			weightSums, _ := guardedOf(wide, func(int) int32 { return int32(r.Uint32()) >> 16 })
			c := Columns{weightSums, make([]float32, wide)}
			for i := range c.Scales {
				c.Scales[i] = normal(i)
			}
			dynamic := []DynamicRow{{-128, 0.125}, {17, 3.1}}
			acc, accIntact := guardedOf(2*wide, normal)
			want := slices.Clone(acc)
			for _, add := range []bool{true, false, true} {
				if !rows.Scale(tier, acc, sums, &c, dynamic, add) || !accIntact() {
					t.Fatalf("%v: %d columns: no kernel, or a value beside the output is changed", tier, n)
				}
				for i := range want {
					k := i % wide
					v := float32(float32(sums[i/wide*rows.Stride+k]-dynamic[i/wide].Zero*weightSums[k]) * c.Scales[k])
					if add {
						v = want[i] + v
					}
					want[i] = v
				}
				if !slices.Equal(acc, want) {
					t.Fatalf("%v: %d columns, add %v: got %v, want %v", tier, n, add, acc, want)
				}
			}
			checkComplete(t, tier, n, acc, dynamic)
			checkFinish(t, tier, n, &c, dynamic)
		}
	}
}

func checkComplete(t *testing.T, tier Tier, n int, x []float32, dynamic []DynamicRow) {
	r := rand.New(rand.NewSource(int64(n)))
	rows := RowsS8{Rows: 2, Cols: n, Stride: len(x) / 2, OutStride: n + 1, Low: -1e4, High: 2e4}
	bias, _ := guardedOf(n, func(int) float32 { return float32(r.NormFloat64()) })
	o, intact := guardedOf(2*rows.OutStride, func(int) float32 { return 55 })
	if !rows.Complete(tier, o, x, bias, dynamic) || !intact() {
		t.Fatalf("%v: %d columns: no kernel, or a value beside the output is changed", tier, n)
	}
	for i, got := range o {
		row, c := i/rows.OutStride, i%rows.OutStride
		want := float32(55)
		if c < n {
			want = min(max(float32(x[row*rows.Stride+c]*dynamic[row].Scale)+bias[c], rows.Low), rows.High)
		}
		if got != want {
			t.Fatalf("%v: %d columns: row %d, column %d: got %v, want %v", tier, n, row, c, got, want)
		}
	}
}

// checkFinish holds the two steps in one against one after the other.
func checkFinish(t *testing.T, tier Tier, n int, c *Columns, dynamic []DynamicRow) {
	r := rand.New(rand.NewSource(int64(n)))
	wide := len(c.Scales)
	whole := RowsS8{Rows: 2, Cols: wide, Stride: wide, OutStride: wide, Low: -1e4, High: 2e4}
	rows := RowsS8{Rows: 2, Cols: n, Stride: wide, OutStride: n + 1, Low: -1e4, High: 2e4}
	sums, _ := guardedOf(2*wide, func(int) int32 { return int32(r.Uint32()) >> 12 })
	bias, _ := guardedOf(n, func(int) float32 { return float32(r.NormFloat64()) })
	acc, want := make([]float32, 2*wide), make([]float32, 2*rows.OutStride)
	o, intact := guardedOf(2*rows.OutStride, func(int) float32 { return 0 })
	whole.Scale(tier, acc, sums, c, dynamic, false)
	rows.Complete(tier, want, acc, bias, dynamic)
	if !rows.Finish(tier, o, sums, c, bias, dynamic) || !intact() {
		t.Fatalf("%v: %d columns: no kernel, or a value beside the output is changed", tier, n)
	}
	if !slices.Equal(o, want) {
		t.Fatalf("%v: %d columns: got %v, want %v", tier, n, o, want)
	}
}

// TestRangeS8 holds the extremes of lines against a loop; NaN may be anywhere.
func TestRangeS8(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range append(rowWidths(tier), mapMost+1, 3*mapMost+100) {
			for _, shift := range []float32{0, 10, -10} {
				r := rand.New(rand.NewSource(int64(n)))
				x, _ := guardedOf(n, func(i int) float32 { return float32(r.NormFloat64()) + shift })
				x[r.Intn(n)], x[n-1] = 100*shift, float32(math.NaN())
				var wantLow, wantHigh float32
				for _, v := range x[:n-1] {
					wantLow, wantHigh = min(wantLow, v), max(wantHigh, v)
				}
				low, high, ok := RangeS8(tier, x)
				if !ok || low != wantLow || high != wantHigh {
					t.Errorf("%v: %d elements: got %v, %v and %v, want %v and %v", tier, n, low, high, ok, wantLow, wantHigh)
				}
			}
		}
	}
}

// TestQuantizeS8 holds both ways between float32 and bytes against the formulas.
func TestQuantizeS8(t *testing.T) {
	for _, tier := range tiers() {
		for _, n := range append(rowWidths(tier), mapMost+1, 3*mapMost+100) {
			x := mapInputs(rand.New(rand.NewSource(int64(n))), n)
			checkQuantize[int8](t, tier, x, RowsS8{Low: -128 + 5, High: 127 + 5, Zero: -5})
			checkQuantize[uint8](t, tier, x, RowsS8{Low: -3, High: 252, Zero: 3})
		}
	}
}

func checkQuantize[T int8 | uint8](t *testing.T, tier Tier, x []float32, r RowsS8) {
	const inverse, scale = 3.5, 0.3
	q, qIntact := guardedOf(len(x), func(int) T { return 1 })
	o, oIntact := guardedOf(len(x), func(int) float32 { return 1 })
	if !QuantizeS8(tier, q, x, inverse, r) || !DequantizeS8(tier, o, q, scale, float32(r.Zero)) || !qIntact() || !oIntact() {
		t.Fatalf("%v: %d elements: no kernel, or a value beside the output is changed", tier, len(x))
	}
	for i, v := range x {
		want := T(int(roundTo(v*inverse, &r)))
		if q[i] != want || o[i] != (float32(want)-float32(r.Zero))*scale {
			t.Fatalf("%v: %d elements of %d bytes: element %d, %v: got %d and %v, want %d", tier, len(x), unsafe.Sizeof(want), i, v, q[i], o[i], want)
		}
	}
}

// TestDequantizeRows holds rows that lie apart, each with a scale and a zero point, against the formula.
func TestDequantizeRows(t *testing.T) {
	const rows, step = 3, 2
	r := rand.New(rand.NewSource(1))
	zeros, scales := make([]int8, rows*step), make([]float32, rows*step)
	for i := range zeros {
		zeros[i], scales[i] = int8(r.Intn(256)), r.Float32()
	}
	for _, tier := range tiers() {
		for _, n := range rowWidths(tier) {
			lines := RowsS8{Rows: rows, Cols: n, Stride: n + 3, OutStride: n + 1}
			x, _ := guardedOf((rows-1)*lines.Stride+n, func(int) int8 { return int8(r.Intn(256)) })
			o, intact := guardedOf((rows-1)*lines.OutStride+n, func(int) float32 { return -1 })
			if !lines.Dequantize(tier, o, x, zeros[:rows*step-1], scales[:rows*step-1], step) || !intact() {
				t.Fatalf("%v: %d elements: no kernel, or a value beside the output is changed", tier, n)
			}
			for i, v := range o {
				row, c := i/lines.OutStride, i%lines.OutStride
				want := float32(-1) // between the rows
				if c < n {
					want = (float32(x[row*lines.Stride+c]) - float32(zeros[row*step])) * scales[row*step]
				}
				if v != want {
					t.Fatalf("%v: %d elements: element %d of row %d is %v, want %v", tier, n, c, row, v, want)
				}
			}
		}
		for _, lines := range []RowsS8{{Rows: 0, Cols: 64}, {Rows: 1, Cols: lanesOf(tier) - 1}, {Rows: 1, Cols: 2 * mapMost}} {
			if lines.Dequantize(tier, make([]float32, 2*mapMost), make([]int8, 2*mapMost), zeros, scales, step) {
				t.Errorf("%v: %+v: a kernel for that", tier, lines)
			}
		}
	}
}

func BenchmarkGemmS8(b *testing.B) {
	for _, tier := range tiers() {
		g := IntegersOf(tier)
		for _, depth := range []int{32, 96, 512} {
			b.Run(fmt.Sprintf("%v/%dx%d", tier, g.Rows, depth), func(b *testing.B) {
				left, panel, out := make([]byte, g.Rows*g.RowBytes(depth)), make([]int8, g.PanelBytes(depth)), make([]int32, g.Rows*g.Cols)
				t := &TileS8{Left: &left[0], Stride: uintptr(g.RowBytes(depth)), Panel: &panel[0], Out: unsafe.Pointer(&out[0]), OutStride: uintptr(4 * g.Cols), Depth: uintptr(g.Groups(depth)), Segments: 1, Start: &out[0]}
				for b.Loop() {
					g.Run(t, g.Rows)
				}
				b.ReportMetric(2*float64(g.Rows*depth*g.Cols)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
