package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// padAt is what pads dimension i of rank: pad begins with the last dimension.
func padAt(pad []int64, rank, i int) (low, high int64) {
	k := 2 * (rank - 1 - i)
	if k >= len(pad) {
		return 0, 0
	}
	return pad[k], pad[k+1]
}

func inferConstantPad(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	pad := c.Args[1].Ints
	if len(pad)%2 != 0 || len(pad) > 2*t.Rank() {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	return addPads(c, t, pad)
}

// addPads makes the sizes of Out[0] those of t with the pads.
func addPads(c *Infer, t *tensor.Tensor, pad []int64) error {
	for i, d := range t.Sizes {
		low, high := padAt(pad, t.Rank(), i)
		d = c.Shapes.Add(c.Shapes.Add(d, low), high)
		if c.Shapes.Less(d, 0) == tensor.Yes {
			return errSizes
		}
		c.Out[0].Sizes[i] = d
	}
	return nil
}

func runConstantPad[T word](c *Call, _ State) error {
	in, out, pad := c.Args[0].Tensor, c.Out[0], c.Args[1].Ints
	if err := fillWith(c, &c.Args[2]); err != nil {
		return err
	}
	var si, so [tensor.MaxRank]int
	stridesOf(&in.Meta, &si)
	stridesOf(&out.Meta, &so)
	var v strided
	for i, n := range in.Sizes {
		low, high := padAt(pad, in.Rank(), i)
		v.add(int(n+min(low, 0)+min(high, 0)), si[i], so[i])
		v.srcOff += int(max(-low, 0)) * si[i]
		v.dstOff += int(max(low, 0)) * so[i]
	}
	moveStrided(elems[T](out), elems[T](in), &v)
	return nil
}

// inferEdgePad pads the last n dimensions of argument 0, before which there are one or two more.
func inferEdgePad(c *Infer, n int, reflect bool) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	pad := c.Args[1].Ints
	if len(pad) != 2*n || (t.Rank() != n+1 && t.Rank() != n+2) {
		return errDims
	}
	out.Sizes = append(out.Sizes, t.Sizes...)
	for i, d := range t.Sizes[t.Rank()-n:] {
		low, high := padAt(pad, n, i)
		if d == 0 || reflect && (c.Shapes.Less(low, d) == tensor.No || c.Shapes.Less(high, d) == tensor.No) {
			return errSizes
		}
	}
	return addPads(c, t, pad)
}

func inferReflectionPad1d(c *Infer) error  { return inferEdgePad(c, 1, true) }
func inferReflectionPad2d(c *Infer) error  { return inferEdgePad(c, 2, true) }
func inferReflectionPad3d(c *Infer) error  { return inferEdgePad(c, 3, true) }
func inferReplicationPad1d(c *Infer) error { return inferEdgePad(c, 1, false) }
func inferReplicationPad2d(c *Infer) error { return inferEdgePad(c, 2, false) }
func inferReplicationPad3d(c *Infer) error { return inferEdgePad(c, 3, false) }

// reflectIndex mirrors i at the ends of [0, n), which stay single.
func reflectIndex(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

func replicateIndex(i, n int) int { return min(max(i, 0), n-1) }

func runReflectionPad[T word](c *Call, _ State) error  { return edgePad[T](c, reflectIndex) }
func runReplicationPad[T word](c *Call, _ State) error { return edgePad[T](c, replicateIndex) }

// edgePad fills the out with the elements of argument 0 at the indices that at gives.
func edgePad[T word](c *Call, at func(i, n int) int) error {
	in, out, pad := c.Args[0].Tensor, c.Out[0], c.Args[1].Ints
	var g grid
	if err := g.setup(c, &in.Meta, &out.Meta); err != nil {
		return err
	}
	for d := range out.Sizes {
		low, _ := padAt(pad, in.Rank(), d)
		for i := range g.from[d] {
			g.from[d][i] = at(i-int(low), int(in.Sizes[d])) * g.step[d]
		}
	}
	gatherGrid(&g, elems[T](out), elems[T](in))
	return nil
}

// grid says for each dimension of an out where in the input its indices lie.
type grid struct {
	from [tensor.MaxRank][]int // offset in the input, for each index
	step [tensor.MaxRank]int   // strides of the input
	to   [tensor.MaxRank]int   // strides of the out
	rank int
}

// setup makes room for the offsets of each dimension; in and out are of one rank.
func (g *grid) setup(c *Call, in, out *tensor.Meta) (err error) {
	stridesOf(in, &g.step)
	stridesOf(out, &g.to)
	g.rank = out.Rank()
	for d, n := range out.Sizes {
		if g.from[d], err = tempOf[int](c, int(n)); err != nil {
			return err
		}
	}
	return nil
}

// gatherGrid copies every element of o from x, dimension by dimension as they lie in o: runs of elements where the last ones take those
// of x one after another.
func gatherGrid[T word](g *grid, o, x []T) {
	var list [tensor.MaxRank]int
	dims, from, run := list[:0], 0, 1
	for d := range g.rank {
		switch len(g.from[d]) {
		case 0:
			return
		case 1:
			from += g.from[d][0]
		default:
			at := len(dims)
			for at > 0 && g.to[dims[at-1]] < g.to[d] {
				at--
			}
			dims = slices.Insert(dims, at, d)
		}
	}
	for n := len(dims) - 1; n >= 0 && g.to[dims[n]] == run && straight(g.from[dims[n]], run); n-- {
		from += g.from[dims[n]][0]
		run *= len(g.from[dims[n]])
		dims = dims[:n]
	}
	gatherDims(g, dims, run, o, x, from)
}

// straight reports whether places are step apart.
func straight(from []int, step int) bool {
	for i, v := range from {
		if v-from[0] != i*step {
			return false
		}
	}
	return true
}

// gatherDims copies runs along dims of the grid.
func gatherDims[T word](g *grid, dims []int, run int, o, x []T, from int) {
	switch {
	case len(dims) == 0:
		copy(o[:run], x[from:from+run])
	case len(dims) > 1 || run > 1:
		to := 0
		for _, off := range g.from[dims[0]] {
			gatherDims(g, dims[1:], run, o[to:], x, from+off)
			to += g.to[dims[0]]
		}
	default:
		to, step := 0, g.to[dims[0]]
		for _, off := range g.from[dims[0]] {
			o[to] = x[from+off]
			to += step
		}
	}
}
