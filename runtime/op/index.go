package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	errMask       = errors.New("check mask: must be Bool")
	errTooMany    = errors.New("check indices: more than the tensor has dimensions")
	errNoIndex    = errors.New("check indices: none is a tensor")
	errIndexSizes = errors.New("broadcast indices: sizes differ and neither is 1")
)

// indexShape is how the indices of an advanced index lie over the dimensions of self.
type indexShape struct {
	// first and last are the first indexed dimension and the one behind the last.
	first, last int
	// gap says that a dimension between them is not indexed: the indices' dimensions then come first.
	gap bool
	// indexed is the set of the indexed dimensions.
	indexed uint32
	masks   int
	ranks   int // dimensions that the broadcast of the indices has
}

// width is how many dimensions of self an index takes.
func width(t *tensor.Tensor) int {
	if t != nil && isMask(t) {
		return t.Rank()
	}
	return 1
}

// layIndices lays the indices over a tensor of this rank.
func layIndices(list []*tensor.Tensor, rank int) (x indexShape, err error) {
	dim := 0
	x.first = -1
	for _, t := range list {
		n := width(t)
		if dim+n > rank {
			return x, errTooMany
		}
		if t != nil {
			if err := x.lay(t, dim, n); err != nil {
				return x, err
			}
		}
		dim += n
	}
	if x.first < 0 {
		return x, errNoIndex
	}
	return x, nil
}

func (x *indexShape) lay(t *tensor.Tensor, dim, n int) error {
	switch {
	case n == 0:
		return errMask
	case isMask(t):
		x.masks++
		x.ranks = max(x.ranks, 1)
	case checkIndexType(t) != nil:
		return errIndexType
	default:
		x.ranks = max(x.ranks, t.Rank())
	}
	if x.first < 0 {
		x.first = dim
	} else if dim != x.last {
		x.gap = true
	}
	x.last = dim + n
	x.indexed |= (1<<n - 1) << dim
	return nil
}

// place is before how many dimensions of self that are not indexed those of the indices come.
func (x *indexShape) place() int {
	if x.gap {
		return 0
	}
	return x.first
}

// sizes appends to dst the sizes of the result, where those of the broadcast indices are b.
func (x *indexShape) sizes(dst []tensor.Dim, self *tensor.Meta, b []tensor.Dim) []tensor.Dim {
	at := x.place()
	for i, d := range self.Sizes {
		if i == at {
			dst = append(dst, b...)
		}
		if x.indexed>>i&1 == 0 {
			dst = append(dst, d)
		}
	}
	return dst
}

// indexBound appends the broadcast sizes of the indices to dst, a mask counted as if it were all true.
func indexBound(s *tensor.Shapes, dst []tensor.Dim, list []*tensor.Tensor) ([]tensor.Dim, error) {
	bound, masks := tensor.Dim(0), 0
	var err error
	for _, t := range list {
		switch {
		case t == nil:
		case !isMask(t):
			if dst, err = BroadcastSizes(s, dst, t.Sizes); err != nil {
				return dst, errIndexSizes
			}
		default:
			n := s.Product(t.Sizes)
			if masks > 0 {
				n = s.Min(bound, n)
			}
			bound = n
			masks++
		}
	}
	if masks == 0 {
		return dst, nil
	}
	if len(dst) == 0 {
		return append(dst, bound), nil
	}
	if dst[len(dst)-1] == 1 {
		dst[len(dst)-1] = bound
	}
	return dst, nil
}

// inferIndexed sets Out[0] to the shape of argument 0 indexed by argument 1.
func inferIndexed(c *Infer) (indexShape, error) {
	self, out, err := startOut(c)
	if err != nil {
		return indexShape{}, err
	}
	x, err := layIndices(c.Args[1].Tensors, self.Rank())
	if err != nil {
		return x, err
	}
	if x.ranks+self.Rank() > 2*tensor.MaxRank {
		return x, errRank
	}
	var b [tensor.MaxRank]tensor.Dim
	sizes, err := indexBound(c.Shapes, b[:0], c.Args[1].Tensors)
	if err != nil {
		return x, err
	}
	out.Sizes = x.sizes(out.Sizes, &self.Meta, sizes)
	if len(out.Sizes) > tensor.MaxRank {
		return x, errRank
	}
	return x, nil
}

func inferIndex(c *Infer) error {
	_, err := inferIndexed(c)
	return err
}

// inferIndexPut gives argument 0's shape; the values must broadcast to what the indices name.
func inferIndexPut(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	values, err := argTensor(c.Args, 2)
	if err != nil {
		return err
	}
	if values.DType != self.DType {
		return errSameType
	}
	if _, err := layIndices(c.Args[1].Tensors, self.Rank()); err != nil {
		return err
	}
	if len(c.Out) == 0 {
		return nil
	}
	return inferLike(c)
}

// indexPlan is an advanced index with its values read.
type indexPlan struct {
	indexShape
	// sizes are those of the broadcast indices, and at, one for each of their
	// elements, where in self the slice that they name starts.
	sizes [tensor.MaxRank]tensor.Dim
	rank  int
	at    []int
}

// planIndex reads the indices of argument 1.
func planIndex(c *Call) (p indexPlan, err error) {
	self, list := c.Args[0].Tensor, c.Args[1].Tensors
	if p.indexShape, err = layIndices(list, self.Rank()); err != nil {
		return p, err
	}
	var strides [tensor.MaxRank]int
	stridesOf(&self.Meta, &strides)
	if err := p.broadcast(list); err != nil {
		return p, err
	}
	n := 1
	for _, d := range p.sizes[:p.rank] {
		n *= int(d)
	}
	if p.at, err = tempOf[int](c, n); err != nil {
		return p, err
	}
	clear(p.at)
	dim := 0
	for _, t := range list {
		if t != nil {
			if err := p.addIndex(c, t, self.Sizes[dim:], strides[dim:]); err != nil {
				return p, err
			}
		}
		dim += width(t)
	}
	return p, nil
}

// broadcast finds the sizes of the broadcast indices.
func (p *indexPlan) broadcast(list []*tensor.Tensor) error {
	sizes := p.sizes[:0]
	for _, t := range list {
		if t == nil {
			continue
		}
		var one [1]tensor.Dim
		own := t.Sizes
		if isMask(t) {
			one[0] = tensor.Dim(countTrue(elems[uint8](t)))
			own = one[:]
		}
		var err error
		if sizes, err = BroadcastSizes(nil, sizes, own); err != nil {
			return errIndexSizes
		}
	}
	p.rank = len(sizes)
	return nil
}

// addIndex adds to each place how far t moves it; sizes and strides are those of self from t's dimension on.
func (p *indexPlan) addIndex(c *Call, t *tensor.Tensor, sizes []tensor.Dim, strides []int) error {
	if isMask(t) {
		list, err := maskPlaces(c, t, sizes, strides)
		if err != nil {
			return err
		}
		var one [1]tensor.Dim
		one[0] = tensor.Dim(len(list))
		p.addPlaces(list, one[:], 1)
		return nil
	}
	list, err := indexInts(c, t, sizes[0], true)
	if err != nil {
		return err
	}
	p.addPlaces(list, t.Sizes, strides[0])
	return nil
}

// addPlaces adds list, of these sizes, broadcast and times step.
func (p *indexPlan) addPlaces(list []int, sizes []tensor.Dim, step int) {
	if len(list) == len(p.at) { // nothing is broadcast
		for i, x := range list {
			p.at[i] += x * step
		}
		return
	}
	v := broadcastMove(&tensor.Meta{Sizes: sizes}, &tensor.Meta{Sizes: p.sizes[:p.rank]})
	var at [tensor.MaxRank]int
	from := 0
	for i := range p.at {
		p.at[i] += list[from] * step
		for d := p.rank - 1; d >= 0; d-- {
			at[d]++
			from += v.src[d]
			if at[d] < v.size[d] {
				break
			}
			from, at[d] = from-v.src[d]*v.size[d], 0
		}
	}
}

// maskPlaces lists where a mask is true, as offsets by the strides.
func maskPlaces(c *Call, t *tensor.Tensor, sizes []tensor.Dim, strides []int) ([]int, error) {
	for i, d := range t.Sizes {
		if d != sizes[i] {
			return nil, errSizes
		}
	}
	mask, err := contiguousOf[uint8](c, t)
	if err != nil {
		return nil, err
	}
	list, err := tempOf[int](c, countTrue(mask))
	if err != nil {
		return nil, err
	}
	n := 0
	for i, m := range mask {
		if m == 0 {
			continue
		}
		off := 0
		for d := t.Rank() - 1; d >= 0; d-- {
			size := int(t.Sizes[d])
			off += i % size * strides[d]
			i /= size
		}
		list[n] = off
		n++
	}
	return list, nil
}

// move is the move of one slice of self, as src, to its place in a contiguous
// result, and the result's step from one slice to the next.
func (p *indexPlan) move(self *tensor.Meta) (v strided, step int) {
	var s [tensor.MaxRank]int
	stridesOf(self, &s)
	inner, step, at := 1, 1, p.place()
	// from the innermost dimension outwards; sizes are turned round by normalize
	for i := len(self.Sizes) - 1; i >= 0; i-- {
		if p.indexed>>i&1 == 0 {
			v.add(int(self.Sizes[i]), s[i], inner)
			inner *= int(self.Sizes[i])
		}
		if i == at {
			step = inner
			inner *= len(p.at)
		}
	}
	return v, step
}

// HasMask reports whether a tensor among args, or in a list of them, is a mask.
func HasMask(args []Value) bool {
	for i := range args {
		if t := args[i].Tensor; t != nil && isMask(t) || anyMask(args[i].Tensors) {
			return true
		}
	}
	return false
}

func anyMask(list []*tensor.Tensor) bool {
	for _, t := range list {
		if t != nil && isMask(t) {
			return true
		}
	}
	return false
}

func runIndex[T word](c *Call, _ State) error {
	self, out := c.Args[0].Tensor, c.Out[0]
	if out.Numel() == 0 && !anyMask(c.Args[1].Tensors) {
		return nil // PyTorch does not look at the indices either
	}
	if dim := onlyIndex(c.Args[1].Tensors); dim >= 0 && self.Contiguous() {
		return takeSlices[T](c, dim, c.Args[1].Tensors[dim], true)
	}
	p, err := planIndex(c)
	if err != nil {
		return err
	}
	if p.masks > 0 {
		var sizes [2 * tensor.MaxRank]tensor.Dim
		copy(out.Sizes, p.indexShape.sizes(sizes[:0], &self.Meta, p.sizes[:p.rank]))
		out.Data = out.Data[:out.Nbytes()]
	}
	v, step := p.move(&self.Meta)
	if v.empty() {
		return nil
	}
	x, o := elems[T](self), elems[T](out)
	p.join(&v, step)
	if step == 1 && len(p.at) > 1 { // nothing lies inside of the indices
		v.normalize()
		v.each(func(src, dst int) { take(o[dst:dst+len(p.at)], x[src:], p.at) })
		return nil
	}
	rows := v.ready()
	for i, at := range p.at {
		v.srcOff, v.dstOff = at, i*step
		moveReady(o, x, &v, rows)
	}
	return nil
}

// onlyIndex is the place of the only index in list if that is no mask, else -1.
func onlyIndex(list []*tensor.Tensor) int {
	dim := -1
	for i, t := range list {
		if t == nil {
			continue
		}
		if dim >= 0 || isMask(t) {
			return -1
		}
		dim = i
	}
	return dim
}

// join makes indices that lie one after another, equally far apart, a dimension of v, a move of what one of them reads to places that are
// step apart: then the first one is left.
func (p *indexPlan) join(v *strided, step int) {
	if len(p.at) < 2 {
		return
	}
	apart := p.at[1] - p.at[0]
	for i, at := range p.at[1:] {
		if apart <= 0 || at-p.at[i] != apart {
			return
		}
	}
	v.add(len(p.at), apart, step)
	p.at = p.at[:1]
}

// take gives dst the elements of src at these places, of which there are as many.
func take[T word](dst, src []T, places []int) {
	for i, at := range places[:len(dst)] {
		dst[i] = src[at]
	}
}

func runIndexPut[T number](c *Call, _ State) error {
	p, err := planIndex(c)
	if err != nil {
		return err
	}
	var sizes [2 * tensor.MaxRank]tensor.Dim
	self, values := c.Args[0].Tensor, c.Args[2].Tensor
	named := tensor.Meta{DType: self.DType, Sizes: p.indexShape.sizes(sizes[:0], &self.Meta, p.sizes[:p.rank])}
	if err := broadcasts(values, &named); err != nil {
		return err
	}
	x, err := spread[T](c, values, &named)
	if err != nil {
		return err
	}
	spreadSelf[T](c)
	v, step := p.move(&self.Meta)
	if !v.empty() {
		put(elems[T](c.Out[0]), x, &p, v, step, c.Args[3].Int != 0, self.DType == tensor.Bool)
	}
	return nil
}

// broadcasts checks that t spreads over m.
func broadcasts(t *tensor.Tensor, m *tensor.Meta) error {
	lead := len(m.Sizes) - t.Rank()
	if lead < 0 || len(m.Sizes) > tensor.MaxRank {
		return errBroadcast
	}
	for i, d := range t.Sizes {
		if d != 1 && d != m.Sizes[lead+i] {
			return errBroadcast
		}
	}
	return nil
}

// put writes x slice by slice to where v reads, or adds it there.
func put[T number](o, x []T, p *indexPlan, v strided, step int, add, isBool bool) {
	if !add {
		write(o, x, p, v, step)
		return
	}
	v.normalize()
	for i, at := range p.at {
		w := v
		w.srcOff, w.dstOff = at, i*step
		w.each(func(s, d int) { addTo(&o[s], x[d], isBool) })
	}
}

// write is put of what replaces elements.
func write[T any](o, x []T, p *indexPlan, v strided, step int) {
	p.join(&v, step)
	v.turn()
	rows := v.ready()
	for i, at := range p.at {
		v.srcOff, v.dstOff = i*step, at
		moveReady(o, x, &v, rows)
	}
}

// turn makes v, which has no offsets yet, the move the other way.
func (v *strided) turn() { v.src, v.dst = v.dst, v.src }

// each calls f with every pair of places of a move that is not empty.
func (v *strided) each(f func(src, dst int)) {
	var at [2 * tensor.MaxRank]int
	s, d := v.srcOff, v.dstOff
	for more := true; more; more = v.next(&at, 0, v.n, &s, &d) {
		f(s, d)
	}
}
