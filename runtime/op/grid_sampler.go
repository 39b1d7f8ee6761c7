package op

import (
	"errors"
	"math"
)

var errGridMode = errors.New("grid_sampler: unknown interpolation or padding")

// The interpolation modes.
const (
	gridLinear = iota
	gridNearest
	gridCubic
)

// The padding modes: what lies outside of the image.
const (
	padZeros = iota
	padBorder
	padReflection
)

// sampler places points of a grid in an image.
type sampler struct {
	mode, padding int
	align         bool
}

// place maps x in [-1,1] to an index between the n elements.
func (s *sampler) place(x float64, n int) float64 {
	if s.align {
		return float64((x+1)*0.5) * float64(n-1)
	}
	return float64((float64((x+1)*float64(n)) - 1) * 0.5)
}

// pad moves a place outside of the n elements to where the padding says.
func (s *sampler) pad(x float64, n int) float64 {
	switch s.padding {
	case padReflection:
		if s.align {
			x = reflectAt(x, 0, float64(n-1))
		} else {
			x = reflectAt(x, -0.5, float64(n)-0.5)
		}
		fallthrough
	case padBorder:
		x = min(max(x, 0), float64(n-1))
	}
	if !(math.Abs(x) < math.MaxInt32) { // as in PyTorch: far outside
		return -100
	}
	return x
}

// reflectAt folds x into [low,high].
func reflectAt(x, low, high float64) float64 {
	span := high - low
	if span == 0 {
		return 0
	}
	x = math.Abs(x - low)
	flips, rest := math.Floor(x/span), math.Mod(x, span)
	if math.Mod(flips, 2) == 0 {
		return low + rest
	}
	return high - rest
}

// gridTaps are the elements along one dimension that a point takes from; at is -1 outside of the image.
type gridTaps struct {
	n      int
	at     [4]int
	weight [4]float64
}

func (t *gridTaps) add(x float64, n int, weight float64) {
	at := -1
	if x >= 0 && x < float64(n) {
		at = int(x)
	}
	t.at[t.n], t.weight[t.n] = at, weight
	t.n++
}

// taps are those of the point x of the grid.
func (s *sampler) taps(x float64, n int) (t gridTaps) {
	x = s.place(x, n)
	if s.mode == gridCubic {
		low := math.Floor(x)
		for k := range 4 {
			t.add(s.pad(low+float64(k-1), n), n, cubic(x-low+1-float64(k), -0.75))
		}
		return t
	}
	x = s.pad(x, n)
	if s.mode == gridNearest {
		t.add(math.RoundToEven(x), n, 1)
		return t
	}
	low := math.Floor(x)
	t.add(low, n, low+1-x)
	t.add(low+1, n, x-low)
	return t
}

// gridPoint is a point of the grid: the offsets in a plane that it takes from, and their weights.
type gridPoint struct {
	n      int
	at     [16]int
	weight [16]float64
}

// set multiplies the taps of the dimensions of sizes; coordinates are in the opposite order.
func (p *gridPoint) set(s *sampler, coordinates []float64, sizes []int64) {
	p.n, p.at[0], p.weight[0] = 1, 0, 1
	for d, size := range sizes {
		t := s.taps(coordinates[len(sizes)-1-d], int(size))
		p.times(&t, int(size))
	}
}

func (p *gridPoint) times(t *gridTaps, size int) {
	old := *p
	p.n = 0
	for i := range old.n {
		for k := range t.n {
			if t.at[k] >= 0 {
				p.at[p.n], p.weight[p.n] = old.at[i]*size+t.at[k], old.weight[i]*t.weight[k]
				p.n++
			}
		}
	}
}

// runGridSampler computes out[n, c, p] as input[n, c] at the place grid[n, p], whose last number counts the last dimension.
func runGridSampler[T float](c *Call, _ State) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	s := sampler{mode: int(c.Args[2].Int), padding: int(c.Args[3].Int), align: c.Args[4].Int != 0}
	x, err := contiguousOf[T](c, in)
	if err != nil {
		return err
	}
	grid, err := contiguousOf[T](c, c.Args[1].Tensor)
	if err != nil {
		return err
	}
	o, err := tempOf[T](c, out.Numel())
	if err != nil || len(o) == 0 {
		return err
	}
	sizes, dims := in.Sizes[2:], in.Rank()-2
	planes, channels := int(in.Sizes[0]*in.Sizes[1]), int(in.Sizes[1])
	width, points := len(x)/planes, len(o)/planes
	var p gridPoint
	var coordinates [3]float64
	for i := range len(grid) / dims {
		for d := range dims {
			coordinates[d] = float64(grid[i*dims+d])
		}
		p.set(&s, coordinates[:dims], sizes)
		n, at := i/points, i%points
		for plane := n * channels; plane < (n+1)*channels; plane++ {
			o[plane*points+at] = sampled(&p, x[plane*width:(plane+1)*width])
		}
	}
	copyOrdered(out, o)
	return nil
}

// sampled is the weighted sum over a plane.
func sampled[T float](p *gridPoint, plane []T) T {
	sum := 0.0
	for k := range p.n {
		sum += float64(p.weight[k] * float64(plane[p.at[k]]))
	}
	return T(sum)
}
