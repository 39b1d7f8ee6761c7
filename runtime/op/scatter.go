package op

import (
	"errors"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errIndexType = errors.New("check index: must be Int or Long")
	errSameType  = errors.New("check types: source and destination differ")
	errTooFew    = errors.New("check source: fewer elements than the mask selects")
)

// checkIndexType wants integers of the types that PyTorch indexes with. An empty index may have any type.
func checkIndexType(t *tensor.Tensor) error {
	if t.DType == tensor.Long || t.DType == tensor.Int || t.Static() && t.Numel() == 0 {
		return nil
	}
	return errIndexType
}

// indexArgs are argument 0, the wrapped dimension argument 1 and the index argument 2.
func indexArgs(args []Value) (self *tensor.Tensor, dim int, index *tensor.Tensor, err error) {
	if self, err = argTensor(args, 0); err != nil {
		return nil, 0, nil, err
	}
	if index, err = argTensor(args, 2); err != nil {
		return nil, 0, nil, err
	}
	if err = checkIndexType(index); err != nil {
		return nil, 0, nil, err
	}
	dim, err = WrapDim(args[1].Int, self.Rank())
	return self, dim, index, err
}

func inferIndexSelect(c *Infer) error {
	self, dim, index, err := indexArgs(c.Args)
	if err != nil {
		return err
	}
	if index.Rank() > 1 {
		return errDims
	}
	c.Set(0, self.DType, self.Sizes...)
	n := c.Shapes.Product(index.Sizes)
	if self.Rank() > 0 {
		c.Out[0].Sizes[dim] = n
	} else if c.Shapes.Equal(n, 1) == tensor.No {
		return errSizes
	}
	return nil
}

// within checks that index is no larger than t, but perhaps along dim.
func within(s *tensor.Shapes, index, t *tensor.Tensor, dim int) error {
	if max(index.Rank(), 1) != max(t.Rank(), 1) {
		return errDims
	}
	for i, d := range index.Sizes {
		if i != dim && s.Less(t.Sizes[i], d) == tensor.Yes {
			return errSizes
		}
	}
	return nil
}

// checkIndex checks the index of gather and scatter, which an empty one passes, and gives both tensors.
func checkIndex(c *Infer) (self, index *tensor.Tensor, err error) {
	self, dim, index, err := indexArgs(c.Args)
	if err == nil && c.Shapes.Equal(c.Shapes.Product(index.Sizes), 0) != tensor.Yes {
		err = within(c.Shapes, index, self, dim)
	}
	return self, index, err
}

func inferGather(c *Infer) error {
	self, index, err := checkIndex(c)
	if err != nil {
		return err
	}
	c.Set(0, self.DType, index.Sizes...)
	return nil
}

func inferScatterValue(c *Infer) error {
	if _, _, err := checkIndex(c); err != nil {
		return err
	}
	return inferLike(c)
}

func inferScatter(c *Infer) error {
	src, err := argTensor(c.Args, 3)
	if err != nil {
		return err
	}
	if err := inferScatterValue(c); err != nil {
		return err
	}
	if src.DType != c.Args[0].Tensor.DType {
		return errSameType
	}
	index := c.Args[2].Tensor
	if c.Shapes.Equal(c.Shapes.Product(index.Sizes), 0) == tensor.Yes {
		return nil
	}
	return within(c.Shapes, index, src, -1)
}

func inferEmbedding(c *Infer) error {
	weight, out, err := startOut(c)
	if err != nil {
		return err
	}
	index, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	if err := checkIndexType(index); err != nil {
		return err
	}
	if weight.Rank() != 2 || index.Rank() >= tensor.MaxRank {
		return errDims
	}
	out.Sizes = append(append(out.Sizes, index.Sizes...), weight.Sizes[1])
	return nil
}

// indexInts are the elements of t in row-major order, each checked to lie in
// [0, size); with wrap one may also count from the end.
func indexInts(c *Call, t *tensor.Tensor, size tensor.Dim, wrap bool) ([]int, error) {
	list, err := tempOf[int](c, t.Numel())
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.Int {
		return list, fillIndex[int32](c, list, t, int(size), wrap)
	}
	return list, fillIndex[int64](c, list, t, int(size), wrap)
}

// indexError is errIndex of an index in a tensor.
type indexError struct {
	index int64
	size  int
}

func (e *indexError) Error() string {
	return "check index: " + strconv.FormatInt(e.index, 10) + " is out of bounds for a dimension of size " + strconv.Itoa(e.size)
}

func (e *indexError) Is(err error) bool { return err == errIndex }

func fillIndex[T int32 | int64](c *Call, list []int, t *tensor.Tensor, size int, wrap bool) error {
	x, err := contiguousOf[T](c, t)
	if err != nil {
		return err
	}
	for i, v := range x {
		at := int(v)
		if at < 0 && wrap {
			at += size
		}
		if at < 0 || at >= size {
			return &indexError{int64(v), size}
		}
		list[i] = at
	}
	return nil
}

// sizeAt is the size of dimension dim; that of a 0-dim tensor is 1.
func sizeAt(m *tensor.Meta, dim int) tensor.Dim {
	if len(m.Sizes) == 0 {
		return 1
	}
	return m.Sizes[dim]
}

// outerInner are the numbers of elements before and behind dimension dim.
func outerInner(m *tensor.Meta, dim int) (outer, inner int) {
	outer, inner = 1, 1
	for i, d := range m.Sizes {
		switch {
		case i < dim:
			outer *= int(d)
		case i > dim:
			inner *= int(d)
		}
	}
	return outer, inner
}

// runIndexSelect copies whole slices.
func runIndexSelect[T word](c *Call, _ State) error {
	self := c.Args[0].Tensor
	dim, err := WrapDim(c.Args[1].Int, self.Rank())
	if err != nil {
		return err
	}
	return takeSlices[T](c, dim, c.Args[2].Tensor, false)
}

func runEmbedding[T word](c *Call, _ State) error {
	return takeSlices[T](c, 0, c.Args[1].Tensor, false)
}

// takeSlices puts into Out[0], which is contiguous, the slices of argument 0 along dim that index names; wrap says that
// indices below 0 count from the end.
func takeSlices[T word](c *Call, dim int, index *tensor.Tensor, wrap bool) error {
	self := c.Args[0].Tensor
	size := sizeAt(&self.Meta, dim)
	list, err := indexInts(c, index, size, wrap)
	if err != nil {
		return err
	}
	x, err := contiguousOf[T](c, self)
	if err != nil {
		return err
	}
	outer, inner := outerInner(&self.Meta, dim)
	o := elems[T](c.Out[0])
	if len(o) == 0 {
		return nil
	}
	if rise(list) {
		width, from := len(list)*inner, list[0]*inner
		for i := range outer {
			tensor.Copy(o[i*width:(i+1)*width], x[i*int(size)*inner+from:])
		}
		return nil
	}
	if inner == 1 {
		takeElems(o, x, list, outer, int(size))
		return nil
	}
	for i := range outer {
		from := i * int(size) * inner
		for _, at := range list {
			o = o[copy(o, x[from+at*inner:from+(at+1)*inner]):]
		}
	}
	return nil
}

// rise reports whether each of list is by 1 more than the one before.
func rise(list []int) bool {
	if n := len(list); list[n-1]-list[0] != n-1 {
		return false
	}
	for i, at := range list {
		if at != list[0]+i {
			return false
		}
	}
	return true
}

func takeElems[T word](o, x []T, list []int, outer, size int) {
	for i := range outer {
		row := x[i*size : (i+1)*size]
		part := o[i*len(list) : (i+1)*len(list)]
		for k, at := range list {
			part[k] = row[at]
		}
	}
}

// pairs walks over the elements of an index tensor in row-major order, with
// where each lies in two other tensors.
type pairs struct {
	rank            int
	size, left, rhs [tensor.MaxRank]int
	at              [tensor.MaxRank]int
	a, b            int
}

// newPairs walks over sizes in a, where dimension dim does not move, and in b.
func newPairs(sizes []tensor.Dim, a *tensor.Meta, dim int, b *tensor.Meta) (p pairs, step int) {
	stridesOf(a, &p.left)
	stridesOf(b, &p.rhs)
	p.rank, step = len(sizes), max(p.left[dim], 1)
	p.left[dim] = 0
	for i, d := range sizes {
		p.size[i] = int(d)
	}
	return p, step
}

func (p *pairs) next() {
	for d := p.rank - 1; d >= 0; d-- {
		p.at[d]++
		p.a, p.b = p.a+p.left[d], p.b+p.rhs[d]
		if p.at[d] < p.size[d] {
			return
		}
		p.a, p.b, p.at[d] = p.a-p.left[d]*p.size[d], p.b-p.rhs[d]*p.size[d], 0
	}
}

// runGather takes for each out the element that its index names along a dimension.
func runGather[T word](c *Call, _ State) error {
	self, dim, index, err := indexArgs(c.Args)
	if err != nil {
		return err
	}
	list, err := indexInts(c, index, sizeAt(&self.Meta, dim), false)
	if err != nil {
		return err
	}
	x, o := elems[T](self), elems[T](c.Out[0])
	p, step := newPairs(index.Sizes, &self.Meta, dim, &c.Out[0].Meta)
	for _, at := range list {
		o[p.b] = x[p.a+at*step]
		p.next()
	}
	return nil
}

// readScatter copies argument 0 to Out[0] and checks the indices.
func readScatter[T any](c *Call) (list []int, dim int, err error) {
	self, dim, index, err := indexArgs(c.Args)
	if err != nil {
		return nil, 0, err
	}
	if list, err = indexInts(c, index, sizeAt(&self.Meta, dim), false); err != nil {
		return nil, 0, err
	}
	spreadSelf[T](c)
	return list, dim, nil
}

// spreadSelf spreads argument 0 over Out[0], unless it is Out[0].
func spreadSelf[T any](c *Call) {
	self, out := c.Args[0].Tensor, c.Out[0]
	if self == out {
		return
	}
	v := broadcastMove(&self.Meta, &out.Meta)
	moveStrided(elems[T](out), elems[T](self), &v)
}

func runScatter[T word](c *Call, _ State) error {
	list, dim, err := readScatter[T](c)
	if err != nil {
		return err
	}
	src, o := c.Args[3].Tensor, elems[T](c.Out[0])
	x := elems[T](src)
	p, step := newPairs(c.Args[2].Tensor.Sizes, &c.Out[0].Meta, dim, &src.Meta)
	for _, at := range list {
		o[p.a+at*step] = x[p.b]
		p.next()
	}
	return nil
}

// runScatterAdd adds; of Bool it is or.
func runScatterAdd[T number](c *Call, _ State) error {
	list, dim, err := readScatter[T](c)
	if err != nil {
		return err
	}
	src, o := c.Args[3].Tensor, elems[T](c.Out[0])
	x, isBool := elems[T](src), src.DType == tensor.Bool
	p, step := newPairs(c.Args[2].Tensor.Sizes, &c.Out[0].Meta, dim, &src.Meta)
	for _, at := range list {
		addTo(&o[p.a+at*step], x[p.b], isBool)
		p.next()
	}
	return nil
}

func addTo[T number](o *T, x T, isBool bool) {
	if *o += x; isBool && *o != 0 {
		*o = 1
	}
}

func runScatterValue[T number](c *Call, _ State) error {
	list, dim, err := readScatter[T](c)
	if err != nil {
		return err
	}
	value, o := fillValue[T](c, &c.Args[3]), elems[T](c.Out[0])
	index := c.Args[2].Tensor
	p, step := newPairs(index.Sizes, &c.Out[0].Meta, dim, &index.Meta)
	for _, at := range list {
		o[p.a+at*step] = value
		p.next()
	}
	return nil
}

// fillValue is the number v in the type of Out[0].
func fillValue[T number](c *Call, v *Value) T {
	if c.Out[0].DType == tensor.Bool {
		return T(toBool(v.Scalar() != 0))
	}
	return scalarAs[T](v)
}
