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

// Scale sets x to (sum - zeros[row]·c.Sums)·c.Scales, or adds that to it. x and sums are Stride apart; Cols is a
// multiple of the weights' Panel.
func (r *Rows) Scale(x []float32, sums []int32, c *kernel.Columns, zeros []int32, add bool) {
	k := r.kernel()
	k.OutStride = r.Stride
	if k.Scale(r.Tier, x, sums, c, zeros, add) {
		return
	}
	for i := range r.Rows {
		to, from := x[i*r.Stride:][:r.Cols], sums[i*r.Stride:]
		for j := range to {
			v := float32(float32(from[j]-zeros[i]*c.Sums[j]) * c.Scales[j])
			if add {
				v += to[j]
			}
			to[j] = v
		}
	}
}

// Complete sets o to x·scales[row] + bias[column], at least low and at most high.
func (r *Rows) Complete(o, x, bias, scales []float32, low, high float32) {
	k := r.kernel()
	k.Low, k.High = low, high
	if k.Complete(r.Tier, o, x, bias, scales) {
		return
	}
	for i := range r.Rows {
		to, from := o[i*r.OutStride:][:r.Cols], x[i*r.Stride:]
		for c := range to {
			v := float32(from[c]*scales[i]) + bias[c]
			if !(v > low) {
				v = low
			}
			to[c] = min(v, high)
		}
	}
}
