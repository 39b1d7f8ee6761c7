package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

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

// gatherGrid copies every element of o from x, dimension by dimension.
func gatherGrid[T word](g *grid, o, x []T) { gatherGridFrom(g, o, x, 0, 0, 0) }

func gatherGridFrom[T word](g *grid, o, x []T, d, to, from int) {
	if d == g.rank {
		o[to] = x[from]
		return
	}
	if d < g.rank-1 {
		for _, off := range g.from[d] {
			gatherGridFrom(g, o, x, d+1, to, from+off)
			to += g.to[d]
		}
		return
	}
	for _, off := range g.from[d] {
		o[to] = x[from+off]
		to += g.to[d]
	}
}
