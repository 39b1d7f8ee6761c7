package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
)

// IntegerProduct is a linear operator or a convolution of int8 inputs with constant weights, and the way from its sums to
// results. Nobody changes it once it has run.
type IntegerProduct struct {
	Tier kernel.Tier
	// Weights are those of each group of channels, or of each block of columns.
	Weights []*quant.Weights
	// Nibbles are weights of 4 bits that stay so, instead of Weights.
	Nibbles *quant.Nibbles
	// Depthwise are the weights of a depthwise convolution, instead of Weights.
	Depthwise *quant.Depthwise
	// Blocks is the number of blocks of columns; 1 but for weights quantized by group. A row of all of them has Depth elements.
	Blocks, Rows, Depth int
	// Starts are what the sums of each of the weights start at.
	Starts [][]int32
	// Static says that input and results have one scale and zero point each: a result is sum·Factors, bounded.
	Static  bool
	ZeroIn  int8
	Factors []float32 // and some more, as quant.Requantized has them
	Bounds  quant.Bounds
	// Columns and Bias are those of dynamic inputs.
	Columns []kernel.Columns
	Bias    []float32
}

// Quantization is how an input of an integer product stands for numbers, and a result.
type Quantization struct {
	In, Out         float32 // scales
	ZeroIn, ZeroOut int32
	Low, High       float32 // of results, with the zero point
}

// SetStatic makes starts, factors and bounds of packed weights. base is what is added to the products of a row; a row has
// a scale of its own, or all have one.
func (p *IntegerProduct) SetStatic(q *Quantization, scales []float32, base []int32) {
	p.Static, p.ZeroIn = true, int8(q.ZeroIn)
	p.Bounds = quant.Bounds{Zero: float32(q.ZeroOut), Low: q.Low, High: q.High}
	p.Factors = make([]float32, p.Rows+kernel.MaxColsS8)
	for i := range p.Rows {
		p.Factors[i] = q.In * scales[min(i, len(scales)-1)] / q.Out
	}
	if p.Depthwise != nil {
		p.Starts = [][]int32{p.Depthwise.Start(base, q.ZeroIn)}
		return
	}
	at := 0
	for _, w := range p.Weights {
		part := append([]int32(nil), base[at:at+w.Rows]...)
		for i, s := range w.Sums {
			part[i] -= q.ZeroIn * s
		}
		p.Starts = append(p.Starts, w.Start(part))
		at += w.Rows
	}
}

// SetDynamic makes starts and columns of packed weights, whose scales are those of each row or, if there are more of them, of
// each block of the first row, then of the second, and so on.
func (p *IntegerProduct) SetDynamic(scales []float32) {
	first := 0
	for i, w := range p.Weights {
		c := kernel.Columns{Sums: make([]int32, w.Columns()), Scales: make([]float32, w.Columns())}
		copy(c.Sums, w.Sums)
		for r := range w.Rows {
			at := first + r
			if p.Blocks > 1 {
				at = r*p.Blocks + i
			}
			c.Scales[r] = scales[min(at, len(scales)-1)]
		}
		if p.Blocks == 1 {
			first += w.Rows
		}
		p.Columns, p.Starts = append(p.Columns, c), append(p.Starts, w.Start(nil))
	}
}

// IntegerCall is a call of an integer product. The same one serves all calls of one user, so that steady state allocates
// nothing.
type IntegerCall struct {
	// X is the input. Params of dynamic inputs are the scale and the zero point of its rows: some rows of results that follow
	// each other share them, equally many everywhere.
	X      []int8
	Params []float32
	// Int8 are the results of static inputs, Float those of dynamic ones, bounded by Low and High.
	Int8      []int8
	Float     []float32
	Low, High float32
	// Geometry is that of one image.
	Geometry quant.Conv
	Threads  int
	Parallel func(n, grain int, f func(lo, hi int))
	Alloc    func(n int) ([]byte, error)

	body    func(lo, hi int) // made by the first call
	scratch []byte
	slots   Slots
	work    integerPieces
}

// SetRows makes c the product of m rows.
func (p *IntegerProduct) SetRows(c *IntegerCall, m int) {
	c.Geometry = quant.Conv{Height: 1, Width: m, Channels: p.Depth, OutHeight: 1, OutWidth: m, KernelHeight: 1, KernelWidth: 1,
		StrideHeight: 1, StrideWidth: 1, Groups: 1, GroupInputs: p.Depth, GroupOutputs: p.Rows}
}
