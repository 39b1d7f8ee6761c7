package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// CdistForward is aten::_cdist_forward.out, the distance of each row of one matrix to each row of another.
var CdistForward = Def{
	Schema:     "aten::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::_cdist_forward", Infer: inferCdist, Tags: Core,
}

var errNorm = errors.New("check p: must not be negative")

func inferCdist(c *Infer) error {
	x, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	y, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	n, m := x.Rank(), y.Rank()
	if n < 2 || m < 2 {
		return errDims
	}
	if x.DType != y.DType || c.Shapes.Equal(x.Sizes[n-1], y.Sizes[m-1]) == tensor.No {
		return errSizes
	}
	if !(c.Args[2].Scalar() >= 0) {
		return errNorm
	}
	c.Set(0, x.DType, x.Sizes[:n-2]...)
	out := &c.Out[0]
	if out.Sizes, err = BroadcastSizes(c.Shapes, out.Sizes, y.Sizes[:m-2]); err != nil {
		return err
	}
	out.Sizes = append(out.Sizes, x.Sizes[n-2], y.Sizes[m-2])
	return nil
}

// runCdist computes every distance from rows in row-major order.
func runCdist[T float](c *Call, _ State) error {
	a, b, out := c.Args[0].Tensor, c.Args[1].Tensor, c.Out[0]
	x, err := contiguousOf[T](c, a)
	if err != nil {
		return err
	}
	y, err := contiguousOf[T](c, b)
	if err != nil {
		return err
	}
	o, k := elems[T](out), out.Rank()
	rows, cols, width := int(out.Sizes[k-2]), int(out.Sizes[k-1]), int(a.Sizes[a.Rank()-1])
	p := c.Args[2].Scalar()
	if isFloat32[T]() && len(o) > 0 {
		if d := (lineDistances{tier: c.Tier, squares: p == 2, rows: rows, cols: cols, width: width}); (p == 1 || p == 2) && d.fits() && d.run(c, floats(x), floats(y)) {
			return nil
		}
	}
	for i := 0; i < len(o); i += cols {
		batch, row := i/cols/rows, i/cols%rows
		r := (batchOf(out.Sizes, a.Sizes, batch)*rows + row) * width
		s := batchOf(out.Sizes, b.Sizes, batch) * cols * width
		for j := range cols {
			o[i+j] = T(distance(x[r:r+width], y[s+j*width:s+(j+1)*width], p))
		}
	}
	return nil
}

// lineDistances computes distances of a row from all rows of the other matrix at once, which are columns for that.
type lineDistances struct {
	tier              kernel.Tier
	squares           bool
	rows, cols, width int
}

// distanceRows is how many rows make it worth turning the other matrix.
const distanceRows = 4

func (d *lineDistances) fits() bool {
	block := kernel.DistancesBlock(d.tier)
	return block > 0 && d.cols >= block/2 && d.rows >= distanceRows && d.width > 0
}

// run is false where there is no memory for it.
func (d *lineDistances) run(c *Call, x, y []float32) bool {
	out, block := c.Out[0], kernel.DistancesBlock(d.tier)
	line := (d.cols + block - 1) / block * block
	turned, err := tempOf[float32](c, d.width*line)
	if err != nil {
		return false
	}
	wide, err := tempOf[float64](c, d.width+line)
	if err != nil {
		return false
	}
	row, sums := wide[:d.width], wide[d.width:]
	clear(turned)
	o := elems[float32](out)
	for i := 0; i*d.cols < len(o); i++ {
		batch := i / d.rows
		if i%d.rows == 0 {
			kernel.Transpose(turned, y[batchOf(out.Sizes, c.Args[1].Tensor.Sizes, batch)*d.cols*d.width:], d.width, d.cols, line, d.width)
		}
		for k, v := range x[(batchOf(out.Sizes, c.Args[0].Tensor.Sizes, batch)*d.rows+i%d.rows)*d.width:][:d.width] {
			row[k] = float64(v)
		}
		clear(sums)
		kernel.DistancesF32(d.tier, sums, row, turned, d.squares)
		to := o[i*d.cols:][:d.cols]
		for j := range to {
			v := sums[j]
			if d.squares {
				v = math.Sqrt(v)
			}
			to[j] = float32(v)
		}
	}
	return true
}

// batchOf is the matrix of a tensor of sizes in that broadcasts to matrix number i of one of sizes out.
func batchOf(out, in []tensor.Dim, i int) int {
	at, step, lead := 0, 1, len(out)-len(in)
	for d := len(out) - 3; d >= lead; d-- {
		if n := int(in[d-lead]); n != 1 {
			at += i % int(out[d]) * step
			step *= n
		}
		i /= int(out[d])
	}
	return at
}

// distance is the p-norm of x - y.
func distance[T float](x, y []T, p float64) float64 {
	switch p {
	case 1:
		return absoluteDistance(x, y)
	case 2:
		return math.Sqrt(squaredDistance(x, y))
	}
	sum := 0.0
	for i := range x {
		d := math.Abs(float64(x[i] - y[i]))
		switch {
		case p == 0:
			if d != 0 {
				sum++
			}
		case math.IsInf(p, 1):
			sum = max(sum, d)
		default:
			sum += scalarmath.Pow(d, p)
		}
	}
	if p == 0 || math.IsInf(p, 1) {
		return sum
	}
	return scalarmath.Pow(sum, 1/p)
}

// squaredDistance adds in four lanes.
func squaredDistance[T float](x, y []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
		a, b, c, d := float64(x[0]-y[0]), float64(x[1]-y[1]), float64(x[2]-y[2]), float64(x[3]-y[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	for i := range x {
		d := float64(x[i] - y[i])
		s0 += float64(d * d)
	}
	return (s0 + s1) + (s2 + s3)
}

// absoluteDistance adds in four lanes.
func absoluteDistance[T float](x, y []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
		s0 += math.Abs(float64(x[0] - y[0]))
		s1 += math.Abs(float64(x[1] - y[1]))
		s2 += math.Abs(float64(x[2] - y[2]))
		s3 += math.Abs(float64(x[3] - y[3]))
	}
	for i := range x {
		s0 += math.Abs(float64(x[i] - y[i]))
	}
	return (s0 + s1) + (s2 + s3)
}
