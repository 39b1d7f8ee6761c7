package kernel

import "unsafe"

// lines is what a kernel of rows gets. Its layout is known to the generator.
type lines struct {
	x                unsafe.Pointer
	xStride          uintptr // bytes, like outStride
	out              unsafe.Pointer
	outStride        uintptr
	a, b             unsafe.Pointer // what rows have in common: 4 bytes for each column
	row              unsafe.Pointer // what columns have in common: a DynamicRow for each row
	rows, blocks     uintptr        // blocks is how many vectors a row has
	tail             uintptr        // the column of a last vector, which overlaps the one before; or 0
	low, high, scale float32
	zero             int32
	offset           float32
	c                unsafe.Pointer // like a and b
}

// RowsS8 are rows of results of integers, and the way to them. A call should not be for more than some 10000 results.
type RowsS8 struct {
	Rows, Cols        int
	Stride, OutStride int // elements from a row to the next
	Low, High         float32
	Zero              int32
}

// lines are r's for vectors of t; ok is false if t has no kernels, or none for rows so short.
func (r *RowsS8) lines(t Tier) (l lines, ok bool) {
	lanes := lanesOf(t)
	if t == Scalar || r.Cols < lanes || r.Rows == 0 {
		return l, false
	}
	l = lines{rows: uintptr(r.Rows), blocks: uintptr(r.Cols / lanes), low: r.Low, high: r.High, zero: r.Zero}
	if r.Cols%lanes != 0 {
		l.tail = uintptr(r.Cols - lanes)
	}
	return l, true
}

// extent is how many elements rows have that are stride apart.
func (r *RowsS8) extent(stride int) int { return (r.Rows-1)*stride + r.Cols }

// first is the address of x[0], for n elements.
func first[T any](x []T, n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x[:n])) }

// Requant makes int8 of sums: round(sum · factors[c]), at least Low and at most High, plus Zero. Ties go to even
// numbers, NaN to Low. It reports whether t has a kernel for it.
func (r *RowsS8) Requant(t Tier, o []int8, sums []int32, factors []float32) bool {
	l, ok := r.lines(t)
	if !ok {
		return false
	}
	l.x, l.xStride = first(sums, r.extent(r.Stride)), uintptr(4*r.Stride)
	l.out, l.outStride = first(o, r.extent(r.OutStride)), uintptr(r.OutStride)
	l.a = first(factors, r.Cols)
	runRequantS8(t, &l)
	return true
}

// Columns are the sums and the scales of the columns of the weights.
type Columns struct {
	Sums   []int32
	Scales []float32
}

// DynamicRow is the zero point of a row of the left factor, and its scale.
type DynamicRow struct {
	Zero  int32
	Scale float32
}

// Scale sets o to, or adds to it if add is true, (sum - rows[r].Zero·c.Sums) · c.Scales. Cols is a multiple of the tier's
// lanes. It reports whether t has a kernel for it.
func (r *RowsS8) Scale(t Tier, o []float32, sums []int32, c *Columns, rows []DynamicRow, add bool) bool {
	l, ok := r.lines(t)
	if !ok || l.tail != 0 {
		return false
	}
	l.x, l.xStride = first(sums, r.extent(r.Stride)), uintptr(4*r.Stride)
	l.out, l.outStride = first(o, r.extent(r.OutStride)), uintptr(4*r.OutStride)
	l.a, l.b, l.row = first(c.Sums, r.Cols), first(c.Scales, r.Cols), first(rows, r.Rows)
	if add {
		runScaleAddS8(t, &l)
	} else {
		runScaleS8(t, &l)
	}
	return true
}

// Complete sets o to x · rows[r].Scale + bias[c], at least Low and at most High; NaN becomes Low. o is not x. It reports
// whether t has a kernel for it.
func (r *RowsS8) Complete(t Tier, o, x, bias []float32, rows []DynamicRow) bool {
	l, ok := r.lines(t)
	if !ok {
		return false
	}
	l.x, l.xStride = first(x, r.extent(r.Stride)), uintptr(4*r.Stride)
	l.out, l.outStride = first(o, r.extent(r.OutStride)), uintptr(4*r.OutStride)
	l.a, l.row = first(bias, r.Cols), first(rows, r.Rows)
	runCompleteS8(t, &l)
	return true
}

// Finish is Scale and then Complete, with nothing between that is written.
func (r *RowsS8) Finish(t Tier, o []float32, sums []int32, c *Columns, bias []float32, rows []DynamicRow) bool {
	l, ok := r.lines(t)
	if !ok {
		return false
	}
	l.x, l.xStride = first(sums, r.extent(r.Stride)), uintptr(4*r.Stride)
	l.out, l.outStride = first(o, r.extent(r.OutStride)), uintptr(4*r.OutStride)
	l.a, l.b, l.c, l.row = first(c.Sums, r.Cols), first(c.Scales, r.Cols), first(bias, r.Cols), first(rows, r.Rows)
	runFinishS8(t, &l)
	return true
}

// RangeS8 is the least and the largest of x and zero; NaN plays no part. It reports whether t has a kernel for it.
func RangeS8(t Tier, x []float32) (low, high float32, ok bool) {
	lanes := lanesOf(t)
	if t == Scalar || len(x) < lanes {
		return 0, 0, false
	}
	var ends [2 * maxLanes]float32
	for n := 0; len(x) > 0; x = x[n:] {
		n = lineOf(len(x), lanes)
		r := RowsS8{Rows: 1, Cols: n}
		l, _ := r.lines(t)
		l.x, l.out = first(x, n), unsafe.Pointer(&ends)
		runRangeS8(t, &l)
		low, high = min(low, ends[0]), max(high, ends[lanes])
	}
	return low, high, true
}

// QuantizeS8 sets o, bytes of int8 or uint8, to round(x · inverse), at least low and at most high, plus zero. It
// reports whether t has a kernel for it.
func QuantizeS8[T int8 | uint8](t Tier, o []T, x []float32, inverse float32, r RowsS8) bool {
	if t == Scalar || len(x) < lanesOf(t) {
		return false
	}
	for n := 0; len(x) > 0; x, o = x[n:], o[n:] {
		n = lineOf(len(x), lanesOf(t))
		r.Rows, r.Cols = 1, n
		l, _ := r.lines(t)
		l.x, l.out, l.scale = first(x, n), first(o, n), inverse
		runQuantizeS8(t, &l)
	}
	return true
}

// DequantizeS8 sets o to (x - zero) · scale. It reports whether t has a kernel for it.
func DequantizeS8[T int8 | uint8](t Tier, o []float32, x []T, scale, zero float32) bool {
	if t == Scalar || len(x) < lanesOf(t) {
		return false
	}
	for n := 0; len(x) > 0; x, o = x[n:], o[n:] {
		n = lineOf(len(x), lanesOf(t))
		r := RowsS8{Rows: 1, Cols: n}
		l, _ := r.lines(t)
		l.x, l.out, l.scale, l.offset = first(x, n), first(o, n), scale, zero
		if ^T(0) < 0 {
			runDequantizeS8(t, &l)
		} else {
			runDequantizeU8(t, &l)
		}
	}
	return true
}

// Dequantize sets row i of o to (x - zeros[i·step]) · scales[i·step]. It reports whether t has a kernel for it.
func (r *RowsS8) Dequantize(t Tier, o []float32, x, zeros []int8, scales []float32, step int) bool {
	one := RowsS8{Rows: min(r.Rows, 1), Cols: r.Cols}
	l, ok := one.lines(t)
	if !ok || lineOf(r.Cols, lanesOf(t)) < r.Cols {
		return false
	}
	for i := range r.Rows {
		l.x, l.out = first(x[i*r.Stride:], r.Cols), first(o[i*r.OutStride:], r.Cols)
		l.scale, l.offset = scales[i*step], float32(zeros[i*step])
		runDequantizeS8(t, &l)
	}
	return true
}

// lineOf is how many of n elements the next call takes: all, or some that leave enough for another.
func lineOf(n, lanes int) int {
	if n < mapMost+lanes {
		return n
	}
	return mapMost
}
