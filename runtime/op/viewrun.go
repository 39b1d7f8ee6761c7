package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// runMove moves argument 0 to the out as the move says.
func runMove[T word](c *Call, move func(in, out *tensor.Meta, args []Value) (strided, error)) error {
	in, out := c.Args[0].Tensor, c.Out[0]
	k, ok := c.kept.(*kept[moved[T]])
	if !ok || !c.same {
		v, err := move(&in.Meta, &out.Meta, c.Args)
		if err != nil {
			return err
		}
		k = keep[moved[T]](c)
		k.job.layOut(v, sharers(c, out.Numel()))
	}
	runMoved(c, k, elems[T](out), elems[T](in))
	return nil
}

// runMoved moves what is laid out.
func runMoved[T word](c *Call, k *kept[moved[T]], dst, src []T) {
	j := &k.job
	j.dst, j.src = dst, src
	if j.grain == 0 {
		moveReady(dst, src, &j.strided, j.rows)
	} else {
		c.Parallel(j.size[j.axis], j.grain, k.run)
	}
}

// moved is a move between calls: one that is ready, or one of which threads divide a dimension.
type moved[T word] struct {
	strided
	rows     rows
	axis     int // the dimension that is divided
	grain    int // of how many elements parts are at least; 0: it is ready
	dst, src []T
}

// layOut decides all that depends on sizes alone.
func (j *moved[T]) layOut(v strided, threads int) {
	j.strided, j.grain = v, 0
	if j.empty() || threads <= 1 {
		j.rows = j.ready()
		return
	}
	j.normalize()
	j.axis = j.divided(threads)
	count := 1
	for _, n := range j.size[:j.n] {
		count *= n
	}
	j.grain = max(1, parallelGrain*j.size[j.axis]/count)
}

// divided is the dimension that threads divide: the outermost one of the result that has as much for each of them, so that none writes
// beside what another one does, or else the longest.
func (j *moved[T]) divided(threads int) int {
	axis := 0
	for i, n := range j.size[:j.n] {
		if even(n, threads) {
			return i
		}
		if n > j.size[axis] {
			axis = i
		}
	}
	return axis
}

// parts moves what has the indexes lo to hi of the axis.
func (j *moved[T]) parts(lo, hi int) {
	v := j.strided
	v.size[j.axis] = hi - lo
	v.srcOff += lo * v.src[j.axis]
	v.dstOff += lo * v.dst[j.axis]
	moveStrided(j.dst, j.src, &v)
}

// runView keeps the elements in their logical order.
func runView[T word](c *Call, _ State) error {
	src, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	if len(src) != c.Out[0].Numel() {
		return errNumel
	}
	copyOrdered(c.Out[0], src)
	return nil
}

func runPermute[T word](c *Call, _ State) error   { return runMove[T](c, permuteMove) }
func runTranspose[T word](c *Call, _ State) error { return runMove[T](c, transposeMove) }
func runT[T word](c *Call, _ State) error         { return runMove[T](c, tMove) }
func runExpand[T word](c *Call, _ State) error    { return runMove[T](c, expandMove) }
func runSlice[T word](c *Call, _ State) error     { return runMove[T](c, sliceMove) }
func runSelect[T word](c *Call, _ State) error    { return runMove[T](c, selectMove) }
func runNarrow[T word](c *Call, _ State) error    { return runMove[T](c, narrowMove) }
func runDiagonal[T word](c *Call, _ State) error  { return runMove[T](c, diagonalMove) }
func runUnfold[T word](c *Call, _ State) error    { return runMove[T](c, unfoldMove) }
func runFlip[T word](c *Call, _ State) error      { return runMove[T](c, flipMove) }

func runAsStrided[T word](c *Call, _ State) error { return runMove[T](c, asStridedMove) }

func permuteMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	for i, dim := range args[1].Ints {
		d, err := WrapDim(dim, in.Rank())
		if err != nil {
			return v, err
		}
		v.add(int(out.Sizes[i]), si[d], so[i])
	}
	return v, nil
}

// swapMove is a transpose of dimensions a and b.
func swapMove(in, out *tensor.Meta, a, b int) (v strided) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	si[a], si[b] = si[b], si[a]
	for i, n := range out.Sizes {
		v.add(int(n), si[i], so[i])
	}
	return v
}

func transposeMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	a, err := WrapDim(args[1].Int, in.Rank())
	if err != nil {
		return v, err
	}
	b, err := WrapDim(args[2].Int, in.Rank())
	if err != nil {
		return v, err
	}
	return swapMove(in, out, a, b), nil
}

func tMove(in, out *tensor.Meta, _ []Value) (strided, error) {
	return swapMove(in, out, 0, max(in.Rank()-1, 0)), nil
}

// broadcastMove spreads in over out's sizes.
func broadcastMove(in, out *tensor.Meta) (v strided) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	lead := out.Rank() - in.Rank()
	for i, n := range out.Sizes {
		step := 0
		if i >= lead && in.Sizes[i-lead] != 1 {
			step = si[i-lead]
		}
		v.add(int(n), step, so[i])
	}
	return v
}

func expandMove(in, out *tensor.Meta, _ []Value) (strided, error) {
	return broadcastMove(in, out), nil
}

// stepMove takes every step-th element of dimension dim from index from on.
func stepMove(in, out *tensor.Meta, dim, from, step int) (v strided) {
	v = sameMove(in, out)
	v.srcOff = from * v.src[dim]
	v.src[dim] *= step
	return v
}

func sliceMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	dim, from, _, err := sliceArgs(nil, args[1:], in)
	if err != nil {
		return v, err
	}
	return stepMove(in, out, dim, int(from), int(args[4].Int)), nil
}

func narrowMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	dim, err := WrapDim(args[1].Int, in.Rank())
	if err != nil {
		return v, err
	}
	return stepMove(in, out, dim, int(clampIndex(nil, args[2].Int, in.Sizes[dim])), 1), nil
}

func selectMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	dim, err := WrapDim(args[1].Int, in.Rank())
	if err != nil {
		return v, err
	}
	index, err := selectIndex(nil, args[2].Int, in.Sizes[dim])
	if err != nil {
		return v, err
	}
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	v.srcOff = int(index) * si[dim]
	for i, n := range out.Sizes {
		d := i
		if i >= dim {
			d++
		}
		v.add(int(n), si[d], so[i])
	}
	return v, nil
}

func diagonalMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	a, b, err := diagonalDims(args, in.Rank())
	if err != nil {
		return v, err
	}
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	off := int(args[1].Int)
	v.srcOff = max(off, 0)*si[b] + max(-off, 0)*si[a]
	for d, n := range in.Sizes {
		if d != a && d != b {
			v.add(int(n), si[d], so[v.n])
		}
	}
	last := out.Rank() - 1
	v.add(int(out.Sizes[last]), si[a]+si[b], so[last])
	return v, nil
}

func unfoldMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	dim, err := WrapDim(args[1].Int, in.Rank())
	if err != nil {
		return v, err
	}
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	last := out.Rank() - 1
	for i, n := range out.Sizes[:last] {
		v.add(int(n), si[i], so[i])
	}
	v.add(int(out.Sizes[last]), max(si[dim], 1), so[last])
	if last > 0 {
		v.src[dim] *= int(args[3].Int)
	}
	return v, nil
}

// asStridedMove reads self's elements as they lie in memory.
func asStridedMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	var so [tensor.MaxRank]int
	stridesOf(out, &so)
	v.srcOff = int(intOr(&args[3], 0))
	end := v.srcOff
	for i, n := range out.Sizes {
		step := int(args[2].Ints[i])
		if step < 0 {
			return v, errIndex
		}
		v.add(int(n), step, so[i])
		end += step * max(int(n)-1, 0)
	}
	if v.srcOff < 0 || (!v.empty() && end >= in.Numel()) {
		return v, errIndex
	}
	return v, nil
}

func flipMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	v = sameMove(in, out)
	if len(args[1].Ints) == 0 || in.Rank() == 0 {
		return v, nil
	}
	mask, err := dimMask(&args[1], in.Rank())
	if err != nil {
		return v, err
	}
	for i, n := range in.Sizes {
		if mask>>i&1 != 0 {
			v.srcOff += (int(n) - 1) * v.src[i]
			v.src[i] = -v.src[i]
		}
	}
	return v, nil
}
