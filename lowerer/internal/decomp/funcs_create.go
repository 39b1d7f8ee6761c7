package decomp

import (
	"math"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// linspace is linspace and logspace, computed here.
func linspace(c *call) []*exir.Value {
	n, t := c.n("steps"), c.dtype("dtype", tensor.Float)
	start, end := c.f("start"), c.f("end")
	step := 0.0
	if n > 1 {
		step = (end - start) / float64(n-1)
	}
	if t == tensor.Float && c.s.Base() == "linspace" {
		step = float64(float32(step))
	}
	elements := make([]float64, n)
	for i := range elements {
		elements[i] = start + float64(step*float64(i))
		if i >= n/2 && i > 0 {
			elements[i] = end - float64(step*float64(n-1-i))
		}
		if c.s.Base() == "logspace" {
			elements[i] = scalarmath.Pow(c.f("base"), elements[i])
		}
	}
	return one(c.literal(c.s.Base(), t, []int64{int64(n)}, elements))
}

// eye is the identity matrix.
func eye(c *call) []*exir.Value {
	rows, columns := c.i("n"), c.i("n")
	if c.s.Arg("m") >= 0 {
		columns = c.i("m")
	}
	if tensor.IsSymbol(rows) || tensor.IsSymbol(columns) {
		on := c.op("eq.Tensor", c.unsqueeze(c.arange(rows), 1), c.arange(columns))
		return one(c.to(on, c.dtype("dtype", tensor.Float)))
	}
	n, m := int(rows), int(columns)
	elements := make([]float64, n*m)
	for i := range min(n, m) {
		elements[i*m+i] = 1
	}
	return one(c.literal("eye", c.dtype("dtype", tensor.Float), []int64{int64(n), int64(m)}, elements))
}

// triangleIndices is tril_indices and triu_indices.
func triangleIndices(c *call) []*exir.Value {
	var rows, cols []float64
	for i := range c.n("row") {
		for j := range c.n("col") {
			below := j-i <= c.n("offset")
			if strings.HasPrefix(c.s.Base(), "triu") {
				below = j-i >= c.n("offset")
			}
			if below {
				rows, cols = append(rows, float64(i)), append(cols, float64(j))
			}
		}
	}
	return one(c.literal(c.s.Base(), c.dtype("dtype", tensor.Long), []int64{2, int64(len(rows))}, append(rows, cols...)))
}

// window is hann_window and hamming_window.
func window(c *call) []*exir.Value {
	n := c.n("window_length")
	alpha := 0.5
	if c.s.Base() == "hamming_window" {
		alpha = 0.54
	}
	span := float64(n)
	if c.s.Arg("periodic") >= 0 && !c.bool("periodic") {
		span--
	}
	elements := make([]float64, n)
	for i := range elements {
		elements[i] = alpha - float64((1-alpha)*scalarmath.Cos(2*math.Pi*float64(i)/span))
	}
	if n == 1 {
		elements[0] = 1
	}
	return one(c.literal(c.s.Base(), c.dtype("dtype", tensor.Float), []int64{int64(n)}, elements))
}
