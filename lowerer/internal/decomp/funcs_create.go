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

// inclusiveRange is range, which has the number at its end. Integral types step by the numbers without their fractions.
func inclusiveRange(c *call) []*exir.Value {
	t, start, end, step := c.dtype("dtype", tensor.Float), c.f("start"), c.f("end"), 1.0
	if c.s.Arg("step") >= 0 {
		step = c.f("step")
	}
	elements := make([]float64, int((end-start)/step)+1)
	if !t.IsFloat() {
		start, step = math.Trunc(start), math.Trunc(step)
	}
	for i := range elements {
		elements[i] = start + float64(step*float64(i))
	}
	return one(c.literal(c.s.Base(), t, []int64{int64(len(elements))}, elements))
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

// windowFuncs are the window functions by their base names, at x from 0 to 1; a and b are numbers that some take.
var windowFuncs = map[string]func(x, a, b float64) float64{
	"hann_window":    cosineWindow,
	"hamming_window": cosineWindow,
	"bartlett_window": func(x, _, _ float64) float64 {
		return 1 - math.Abs(float64(2*x)-1)
	},
	"blackman_window": func(x, _, _ float64) float64 {
		return cosineWindow(x, 0.42, 0.5) + float64(0.08*scalarmath.Cos(4*math.Pi*x))
	},
}

func cosineWindow(x, a, b float64) float64 { return a - float64(b*scalarmath.Cos(2*math.Pi*x)) }

// cosines are the numbers of a cosine window, unless arguments give them.
func (c *call) cosines() (a, b float64) {
	a, b = 0.5, 0.5
	if c.s.Base() == "hamming_window" {
		a, b = 0.54, 0.46
	}
	if c.s.Arg("alpha") >= 0 {
		a = c.f("alpha")
	}
	if c.s.Arg("beta") >= 0 {
		b = c.f("beta")
	}
	return a, b
}

// window is a window function, computed here.
func window(c *call) []*exir.Value {
	at := c.windowPlaces()
	a, b := c.cosines()
	for i, x := range at {
		at[i] = windowFuncs[c.s.Base()](x, a, b)
	}
	return one(c.windowOf(at))
}

// windowPlaces are the places from 0 to 1 of a window's elements.
func (c *call) windowPlaces() []float64 {
	at := make([]float64, c.n("window_length"))
	span := len(at)
	if c.s.Arg("periodic") >= 0 && !c.bool("periodic") {
		span--
	}
	for i := range at {
		at[i] = float64(i) / float64(span)
	}
	return at
}

// windowOf is the constant of a window's elements; a window of one element is 1.
func (c *call) windowOf(elements []float64) *exir.Value {
	if len(elements) == 1 {
		elements[0] = 1
	}
	return c.literal(c.s.Base(), c.dtype("dtype", tensor.Float), []int64{int64(len(elements))}, elements)
}

// kaiserWindow is I0(beta·sqrt(1 - (2x-1)²)) / I0(beta) at x from 0 to 1, with the modified Bessel function I0.
func kaiserWindow(c *call) []*exir.Value {
	beta := 12.0
	if c.s.Arg("beta") >= 0 {
		beta = c.f("beta")
	}
	at := c.windowPlaces()
	if len(at) == 1 {
		return one(c.windowOf(at))
	}
	for i, x := range at {
		y := float64(2*x) - 1
		at[i] = beta * math.Sqrt(max(0, 1-float64(y*y)))
	}
	y := c.op("i0", c.windowOf(at))
	return one(c.op("div.Tensor", y, c.op("i0", c.scalar(y.Spec.DType, beta))))
}
