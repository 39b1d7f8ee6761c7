package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errCount = errors.New("count outputs: the size of the dimension is not known")

// listArg is argument i, a list of at least one tensor.
func listArg(args []Value, i int) ([]*tensor.Tensor, error) {
	list := args[i].Tensors
	if len(list) == 0 {
		return nil, errNoTensor
	}
	for _, t := range list {
		if t == nil {
			return nil, errNoTensor
		}
	}
	return list, nil
}

// legacyEmpty reports a tensor of sizes [0], which cat leaves out whatever the others' rank is.
func legacyEmpty(t *tensor.Tensor) bool { return len(t.Sizes) == 1 && t.Sizes[0] == 0 }

// catFirst is the tensor whose sizes and order the result of cat follows.
func catFirst(list []*tensor.Tensor) *tensor.Tensor {
	for _, t := range list {
		if !legacyEmpty(t) {
			return t
		}
	}
	return list[0]
}

func inferCat(c *Infer) error {
	list, err := listArg(c.Args, 0)
	if err != nil {
		return err
	}
	first, out := catFirst(list), &c.Out[0]
	if first.Rank() == 0 {
		return errDims
	}
	dim, err := WrapDim(c.Args[1].Int, first.Rank())
	if err != nil {
		return err
	}
	setLike(out, &first.Meta, promoteArgs(c.Args, 1))
	for i := range out.Sizes {
		if i == dim {
			out.Sizes[i] = 0
		}
	}
	for _, t := range list {
		if legacyEmpty(t) {
			continue
		}
		if err := addCat(c.Shapes, out, t, dim); err != nil {
			return err
		}
	}
	return nil
}

// addCat makes out longer by t along dim.
func addCat(s *tensor.Shapes, out *tensor.Meta, t *tensor.Tensor, dim int) error {
	if t.Rank() != len(out.Sizes) {
		return errDims
	}
	for i, d := range t.Sizes {
		switch {
		case i == dim:
			out.Sizes[i] = s.Add(out.Sizes[i], d)
		case s.Equal(out.Sizes[i], d) == tensor.No:
			return errSizes
		case !tensor.IsSymbol(d):
			out.Sizes[i] = d
		}
	}
	if len(out.DimOrder) > 0 && !equalOrder(out.DimOrder, t.DimOrder) {
		out.DimOrder = out.DimOrder[:0]
	}
	return nil
}

func equalOrder(a, b []uint8) bool { return string(a) == string(b) }

// placeMove puts all of in into out from index at of dimension dim on.
func placeMove(in, out *tensor.Meta, dim, at int) (v strided) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	for i, n := range in.Sizes {
		v.add(int(n), si[i], so[i])
	}
	v.dstOff = at * so[dim]
	return v
}

func runCat[T word](c *Call, _ State) error {
	out := c.Out[0]
	dim, err := WrapDim(c.Args[1].Int, out.Rank())
	if err != nil {
		return err
	}
	at := 0
	for _, t := range c.Args[0].Tensors {
		if legacyEmpty(t) {
			continue
		}
		threads := sharers(c, t.Numel())
		if threads > 1 || !copySection[T](out, t, section{dim, at, int(t.Sizes[dim])}, true) { // one thread copies sections sooner than it divides a move
			k := keep[moved[T]](c)
			k.job.layOut(placeMove(&t.Meta, &out.Meta, dim, at), threads)
			runMoved(c, k, elems[T](out), elems[T](t))
		}
		at += int(t.Sizes[dim])
	}
	return nil
}

// section is n indices of dimension dim, from index at on.
type section struct{ dim, at, n int }

// copySection copies other into a section of whole, or the section to other. It is false, and copies nothing, unless both are
// contiguous: then the section is a run of elements for each index of the dimensions before.
func copySection[T word](whole, other *tensor.Tensor, s section, into bool) bool {
	if !whole.Contiguous() || !other.Contiguous() {
		return false
	}
	outer, inner := outerInner(&whole.Meta, s.dim)
	w, o, run, step := elems[T](whole), elems[T](other), s.n*inner, int(whole.Sizes[s.dim])*inner
	if into {
		moveSections(w, o, s.at*inner, 0, run, outer, step, run)
	} else {
		moveSections(o, w, 0, s.at*inner, run, outer, run, step)
	}
	return true
}

// moveSections is moveRuns of runs of any length.
func moveSections[T word](dst, src []T, d, s, n, count, dstStep, srcStep int) {
	switch {
	case n == 1:
		moveRun(dst, src, d, s, count, dstStep, srcStep)
	case n > 0 && n < 8:
		moveRuns(dst, src, d, s, n, count, dstStep, srcStep)
	default:
		for range count {
			tensor.Copy(dst[d:d+n], src[s:s+n])
			d, s = d+dstStep, s+srcStep
		}
	}
}

func inferStack(c *Infer) error {
	list, err := listArg(c.Args, 0)
	if err != nil {
		return err
	}
	first, out := list[0], &c.Out[0]
	if first.Rank() == tensor.MaxRank {
		return errRank
	}
	dim, err := WrapDim(c.Args[1].Int, first.Rank()+1)
	if err != nil {
		return err
	}
	c.Set(0, promoteArgs(c.Args, 1), first.Sizes[:dim]...)
	out.Sizes = append(append(out.Sizes, tensor.Dim(len(list))), first.Sizes[dim:]...)
	for _, t := range list {
		if t.Rank() != first.Rank() {
			return errDims
		}
		for i, d := range t.Sizes {
			if c.Shapes.Equal(d, first.Sizes[i]) == tensor.No {
				return errSizes
			}
		}
	}
	return nil
}

func runStack[T word](c *Call, _ State) error {
	out := c.Out[0]
	dim, err := WrapDim(c.Args[1].Int, out.Rank())
	if err != nil {
		return err
	}
	for i, t := range c.Args[0].Tensors {
		if copySection[T](out, t, section{dim, i, 1}, true) {
			continue
		}
		v := planeMove(&t.Meta, &out.Meta, dim, i)
		moveStrided(elems[T](out), elems[T](t), &v)
	}
	return nil
}

// planeMove puts in, which lacks dimension dim, at index at of that dimension of out.
func planeMove(in, out *tensor.Meta, dim, at int) (v strided) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	v.dstOff = at * so[dim]
	for i, n := range in.Sizes {
		d := i
		if i >= dim {
			d++
		}
		v.add(int(n), si[i], so[d])
	}
	return v
}

// setOuts gives c n outs.
func setOuts(c *Infer, n int) {
	for len(c.Out) < n {
		c.Out = append(c.Out, tensor.Meta{})
	}
	c.Out = c.Out[:n]
}

// partDim is argument 0, which has dimensions, and the one that argument i names.
func partDim(args []Value, i int) (*tensor.Tensor, int, error) {
	t, err := argTensor(args, 0)
	if err != nil {
		return nil, 0, err
	}
	if t.Rank() == 0 {
		return nil, 0, errDims
	}
	dim, err := WrapDim(args[i].Int, t.Rank())
	return t, dim, err
}

// setPart makes out i the part of t that has n of dimension dim.
func setPart(c *Infer, i int, t *tensor.Tensor, dim int, n tensor.Dim) {
	c.Set(i, t.DType, t.Sizes...)
	c.Out[i].Sizes[dim] = n
}

func inferSplit(c *Infer) error {
	t, dim, err := partDim(c.Args, 2)
	if err != nil {
		return err
	}
	size, n := c.Args[1].Int, t.Sizes[dim]
	if size <= 0 && !tensor.IsSymbol(size) && (size < 0 || n != 0) {
		return errSizes
	}
	count := tensor.Dim(1)
	if size != 0 {
		count = c.Shapes.FloorDiv(c.Shapes.Add(n, c.Shapes.Sub(size, 1)), size)
	}
	if tensor.IsSymbol(count) {
		return errCount
	}
	count = max(count, 1)
	setOuts(c, int(count))
	for i := range count {
		setPart(c, int(i), t, dim, size)
	}
	setPart(c, int(count-1), t, dim, c.Shapes.Sub(n, c.Shapes.Mul(size, count-1)))
	return nil
}

func inferSplitSizes(c *Infer) error {
	t, dim, err := partDim(c.Args, 2)
	if err != nil {
		return err
	}
	sizes, sum := c.Args[1].Ints, tensor.Dim(0)
	setOuts(c, len(sizes))
	for i, n := range sizes {
		if c.Shapes.Less(n, 0) == tensor.Yes {
			return errSizes
		}
		setPart(c, i, t, dim, n)
		sum = c.Shapes.Add(sum, n)
	}
	if c.Shapes.Equal(sum, t.Sizes[dim]) == tensor.No {
		return errSizes
	}
	return nil
}

// runSplit deals argument 0 out along the dimension that argument 2 names.
func runSplit[T word](c *Call, _ State) error {
	t, dim, err := partDim(c.Args, 2)
	if err != nil {
		return err
	}
	at := 0
	for _, out := range c.Out {
		if !copySection[T](t, out, section{dim, at, int(out.Sizes[dim])}, false) {
			v := stepMove(&t.Meta, &out.Meta, dim, at, 1)
			moveStrided(elems[T](out), elems[T](t), &v)
		}
		at += int(out.Sizes[dim])
	}
	return nil
}

func inferUnbind(c *Infer) error {
	t, dim, err := partDim(c.Args, 1)
	if err != nil {
		return err
	}
	n := t.Sizes[dim]
	if tensor.IsSymbol(n) {
		return errCount
	}
	setOuts(c, int(n))
	for i := range c.Out {
		c.Set(i, t.DType, t.Sizes[:dim]...)
		c.Out[i].Sizes = append(c.Out[i].Sizes, t.Sizes[dim+1:]...)
	}
	return nil
}

func runUnbind[T word](c *Call, _ State) error {
	t, dim, err := partDim(c.Args, 1)
	if err != nil {
		return err
	}
	for i, out := range c.Out {
		if copySection[T](t, out, section{dim, i, 1}, false) {
			continue
		}
		v := planeMove(&out.Meta, &t.Meta, dim, i)
		v.src, v.dst, v.srcOff, v.dstOff = v.dst, v.src, v.dstOff, 0
		moveStrided(elems[T](out), elems[T](t), &v)
	}
	return nil
}

func inferRepeat(c *Infer) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	repeats := c.Args[1].Ints
	lead := len(repeats) - t.Rank()
	if lead < 0 || len(repeats) > tensor.MaxRank {
		return errDims
	}
	for i, r := range repeats {
		if c.Shapes.Less(r, 0) == tensor.Yes {
			return errSizes
		}
		if i >= lead {
			r = c.Shapes.Mul(r, t.Sizes[i-lead])
		}
		out.Sizes = append(out.Sizes, r)
	}
	return nil
}

func runRepeat[T word](c *Call, _ State) error { return runMove[T](c, repeatMove) }

func repeatMove(in, out *tensor.Meta, args []Value) (v strided, err error) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	lead := out.Rank() - in.Rank()
	for i, r := range args[1].Ints {
		if i < lead {
			v.add(int(r), 0, so[i])
			continue
		}
		n := int(in.Sizes[i-lead])
		v.add(int(r), 0, so[i]*n)
		v.add(n, si[i-lead], so[i])
	}
	return v, nil
}

func inferSliceScatter(c *Infer) error {
	t, src, out, err := startScatter(c)
	if err != nil {
		return err
	}
	dim, _, n, err := sliceArgs(c.Shapes, c.Args[2:], &t.Meta)
	if err != nil {
		return err
	}
	if src.Rank() != t.Rank() {
		return errDims
	}
	for i, d := range src.Sizes {
		want := out.Sizes[i]
		if i == dim {
			want = n
		}
		if c.Shapes.Equal(d, want) == tensor.No {
			return errSizes
		}
	}
	return nil
}

// startScatter makes Out[0] as argument 0 and gives arguments 0 and 1.
func startScatter(c *Infer) (self, src *tensor.Tensor, out *tensor.Meta, err error) {
	if self, err = argTensor(c.Args, 0); err != nil {
		return nil, nil, nil, err
	}
	if src, err = argTensor(c.Args, 1); err != nil {
		return nil, nil, nil, err
	}
	setLike(&c.Out[0], &self.Meta, self.DType)
	return self, src, &c.Out[0], nil
}

func inferSelectScatter(c *Infer) error {
	t, src, _, err := startScatter(c)
	if err != nil {
		return err
	}
	if t.Rank() == 0 || src.Rank() != t.Rank()-1 {
		return errDims
	}
	dim, err := WrapDim(c.Args[2].Int, t.Rank())
	if err != nil {
		return err
	}
	for i, d := range src.Sizes {
		at := i
		if i >= dim {
			at++
		}
		if c.Shapes.Equal(d, t.Sizes[at]) == tensor.No {
			return errSizes
		}
	}
	_, err = selectIndex(c.Shapes, c.Args[3].Int, t.Sizes[dim])
	return err
}

// elemsAs is t's elements, in memory order, converted to type dt, which T is the bits of.
func elemsAs[T word](c *Call, t *tensor.Tensor, dt tensor.ScalarType) ([]T, error) {
	if t.DType == dt {
		return elems[T](t), nil
	}
	b, err := c.Alloc(t.Numel() * dt.Size())
	if err != nil {
		return nil, err
	}
	CastBytes(b, dt, t.Data, t.DType, t.Numel())
	return sliceOf[T](b, t.Numel()), nil
}

// copySelf makes out argument 0 and gives the elements of argument 1 in out's type.
func copySelf[T word](c *Call) ([]T, error) {
	out, t := c.Out[0], c.Args[0].Tensor
	if t != out {
		v := sameMove(&t.Meta, &out.Meta)
		moveStrided(elems[T](out), elems[T](t), &v)
	}
	return elemsAs[T](c, c.Args[1].Tensor, out.DType)
}

func runSliceScatter[T word](c *Call, _ State) error {
	src, err := copySelf[T](c)
	if err != nil {
		return err
	}
	out := c.Out[0]
	dim, from, _, err := sliceArgs(nil, c.Args[2:], &out.Meta)
	if err != nil {
		return err
	}
	v := placeMove(&c.Args[1].Tensor.Meta, &out.Meta, dim, int(from))
	v.dst[dim] *= int(c.Args[5].Int)
	moveStrided(elems[T](out), src, &v)
	return nil
}

func runSelectScatter[T word](c *Call, _ State) error {
	src, err := copySelf[T](c)
	if err != nil {
		return err
	}
	out := c.Out[0]
	dim, err := WrapDim(c.Args[2].Int, out.Rank())
	if err != nil {
		return err
	}
	index, err := selectIndex(nil, c.Args[3].Int, out.Sizes[dim])
	if err != nil {
		return err
	}
	v := planeMove(&c.Args[1].Tensor.Meta, &out.Meta, dim, int(index))
	moveStrided(elems[T](out), src, &v)
	return nil
}
