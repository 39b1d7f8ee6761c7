package quant

import "github.com/rules-pte/rules_pte/runtime/kernel"

// Rows are rows of sums, and the way from them to results. Sums are Stride apart, results OutStride.
type Rows struct {
	Tier              kernel.Tier
	Rows, Cols        int
	Stride, OutStride int
}

func (r *Rows) kernel() kernel.RowsS8 {
	return kernel.RowsS8{Rows: r.Rows, Cols: r.Cols, Stride: r.Stride, OutStride: r.OutStride}
}

// Bounds are those of quantized results, and the zero point that they contain.
type Bounds struct{ Zero, Low, High float32 }

// Requantize makes int8 of sums: round(sum·factors[column]) + Zero, bounded.
func (r *Rows) Requantize(o []int8, sums []int32, factors []float32, b Bounds) {
	k := r.kernel()
	k.Zero, k.Low, k.High = int32(b.Zero), b.Low-b.Zero, b.High-b.Zero
	if k.Requant(r.Tier, o, sums, factors) {
		return
	}
	for i := range r.Rows {
		to, from := o[i*r.OutStride:][:r.Cols], sums[i*r.Stride:]
		for c := range to {
			to[c] = int8(Round(float32(from[c])*factors[c], b.Zero, b.Low, b.High))
		}
	}
}

// Scale sets x to (sum - rows[row].Zero·c.Sums)·c.Scales, or adds that to it. x and sums are Stride apart; Cols is a
// multiple of the weights' Panel.
func (r *Rows) Scale(x []float32, sums []int32, c *kernel.Columns, rows []kernel.DynamicRow, add bool) {
	k := r.kernel()
	k.OutStride = r.Stride
	if k.Scale(r.Tier, x, sums, c, rows, add) {
		return
	}
	for i := range r.Rows {
		to, from := x[i*r.Stride:][:r.Cols], sums[i*r.Stride:]
		for j := range to {
			v := float32(float32(from[j]-rows[i].Zero*c.Sums[j]) * c.Scales[j])
			if add {
				v += to[j]
			}
			to[j] = v
		}
	}
}

// Complete sets o to x·rows[row].Scale + bias[column], bounded by Low and High of b.
func (r *Rows) Complete(o, x []float32, rows []kernel.DynamicRow, b *Linear) {
	k := r.kernel()
	k.Low, k.High = b.Low, b.High
	if k.Complete(r.Tier, o, x, b.Bias, rows) {
		return
	}
	for i := range r.Rows {
		to, from := o[i*r.OutStride:][:r.Cols], x[i*r.Stride:]
		for c := range to {
			to[c] = b.of(float32(from[c]*rows[i].Scale), c)
		}
	}
}

// Linear are a bias for each column, and the bounds of results.
type Linear struct {
	Bias      []float32
	Low, High float32
}

// of is x with the bias of column c, bounded.
func (b *Linear) of(x float32, c int) float32 {
	v := x + b.Bias[c]
	if !(v > b.Low) {
		v = b.Low
	}
	return min(v, b.High)
}

// Finish is Scale and then Complete.
func (r *Rows) Finish(o []float32, sums []int32, c *kernel.Columns, rows []kernel.DynamicRow, b *Linear) {
	k := r.kernel()
	k.Low, k.High = b.Low, b.High
	if k.Finish(r.Tier, o, sums, c, b.Bias, rows) {
		return
	}
	for i := range r.Rows {
		to, from := o[i*r.OutStride:][:r.Cols], sums[i*r.Stride:]
		for j := range to {
			v := float32(float32(from[j]-rows[i].Zero*c.Sums[j]) * c.Scales[j])
			to[j] = b.of(float32(v*rows[i].Scale), j)
		}
	}
}

// Fill sets all of x to v.
func Fill[T any](x []T, v T) {
	if len(x) == 0 {
		return
	}
	x[0] = v
	for n := 1; n < len(x); n *= 2 {
		copy(x[n:], x[:n])
	}
}
