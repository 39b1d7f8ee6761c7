package op

import (
	"errors"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of operators whose output sizes follow from how values repeat.
var (
	Unique2 = Def{
		Schema: "aten::_unique2.out(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, " +
			"Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::_unique2", Infer: inferUnique2, Tags: DataDependent | Extension,
	}
	UniqueDim = Def{
		Schema: "aten::unique_dim.out(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, " +
			"Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::unique_dim", Infer: inferUniqueDim, Tags: DataDependent | Extension,
	}
	UniqueConsecutive = Def{
		Schema: "aten::unique_consecutive.out(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None, *, " +
			"Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::unique_consecutive", Infer: inferUniqueConsecutive, Tags: DataDependent | Extension,
	}
	Bincount = Def{
		Schema:     "aten::bincount.out(Tensor self, Tensor? weights=None, SymInt minlength=0, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::bincount", Infer: inferBincount, Tags: Extension,
	}
	HashTensor = Def{
		Schema:     "aten::hash_tensor.out(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::hash_tensor", Infer: inferHash, Tags: Extension,
	}
)

var errBins = errors.New("check elements: must not be negative")

func inferHash(c *Infer) error { return inferReduce(c, 0, 2, tensor.UInt64) }

// hashFloat and hashInt are the exclusive or of the elements' bits as Double or Long.
func hashFloat[T float]() fold[T, int64] {
	return fold[T, int64]{row: func(_ kernel.Tier, row []T) int64 {
		var h uint64
		for _, x := range row {
			h ^= math.Float64bits(float64(x))
		}
		return int64(h)
	}}
}

func hashInt[T integer]() fold[T, int64] {
	return fold[T, int64]{row: func(_ kernel.Tier, row []T) int64 {
		var h int64
		for _, x := range row {
			h ^= int64(x)
		}
		return h
	}}
}

func inferUnique2(c *Infer) error {
	return inferUnique(c, -1, c.Args[2].Int != 0, c.Args[3].Int != 0)
}

func inferUniqueDim(c *Infer) error {
	d, err := WrapDim(c.Args[1].Int, c.Args[0].Tensor.Rank())
	if err != nil {
		return err
	}
	return inferUnique(c, d, true, true)
}

// inferUniqueConsecutive: along a dimension, PyTorch gives the places and the counts asked or not.
func inferUniqueConsecutive(c *Infer) error {
	if c.Args[3].Kind == None {
		return inferUnique(c, -1, c.Args[1].Int != 0, c.Args[2].Int != 0)
	}
	d, err := WrapDim(c.Args[3].Int, c.Args[0].Tensor.Rank())
	if err != nil {
		return err
	}
	return inferUnique(c, d, true, true)
}

// inferUnique gives the sizes for a tensor without repetitions, along dimension d or, if that is -1, of its elements.
// What is not asked for is empty.
func inferUnique(c *Infer, d int, inverse, counts bool) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	n := c.Shapes.Product(self.Sizes)
	if d < 0 {
		c.Set(0, self.DType, n)
	} else {
		c.Set(0, self.DType, self.Sizes...)
		n = sizeAt(&self.Meta, d)
	}
	c.Set(1, tensor.Long, 0)
	c.Set(2, tensor.Long, 0)
	switch {
	case inverse && d < 0:
		c.Set(1, tensor.Long, self.Sizes...)
	case inverse:
		c.Set(1, tensor.Long, n)
	}
	if counts {
		c.Set(2, tensor.Long, n)
	}
	return nil
}

func runUnique2[T number](c *Call, _ State) error { return uniqueRows[T](c, -1, true) }

func runUniqueDim[T number](c *Call, _ State) error {
	d, err := WrapDim(c.Args[1].Int, c.Args[0].Tensor.Rank())
	if err != nil {
		return err
	}
	return uniqueRows[T](c, d, true)
}

func runUniqueConsecutive[T number](c *Call, _ State) error {
	d := -1
	if c.Args[3].Kind != None {
		var err error
		if d, err = WrapDim(c.Args[3].Int, c.Args[0].Tensor.Rank()); err != nil {
			return err
		}
	}
	return uniqueRows[T](c, d, false)
}

// slab is the elements of a tensor at one index of a dimension.
type slab[T number] struct {
	x                    []T
	outer, inner, stride int
}

func (s *slab[T]) at(i, k int) T { return s.x[k/s.inner*s.stride+i*s.inner+k%s.inner] }

// compare orders the slabs at i and j; no NaN equals another.
func (s *slab[T]) compare(i, j int) int {
	for k := range s.outer * s.inner {
		a, b := s.at(i, k), s.at(j, k)
		if n := compareNaN(a, b); n != 0 {
			return n
		}
		if a != a && i != j {
			return 1
		}
	}
	return 0
}

// uniqueRows keeps one of each run of equal slabs along dimension d, after sorting them if sorted. Out[1] says which one
// each slab became, Out[2] how many there were.
func uniqueRows[T number](c *Call, d int, sorted bool) error {
	self := c.Args[0].Tensor
	x, err := contiguousOf[T](c, self)
	if err != nil {
		return err
	}
	n := self.Numel()
	s := slab[T]{x, 1, 1, n}
	if d >= 0 {
		n = int(sizeAt(&self.Meta, d))
		s.outer, s.inner = outerInner(&self.Meta, d)
		s.stride = n * s.inner
	}
	order, err := tempOf[int64](c, n)
	if err != nil {
		return err
	}
	for i := range order {
		order[i] = int64(i)
	}
	if sorted {
		slices.SortStableFunc(order, func(i, j int64) int { return s.compare(int(i), int(j)) })
	}
	kept := s.keep(c, order)
	gatherSlabs(elems[T](c.Out[0]), &s, order[:kept])
	c.Out[0].Sizes[max(d, 0)] = tensor.Dim(kept)
	c.Out[0].Data = c.Out[0].Data[:c.Out[0].Nbytes()]
	return nil
}

// keep moves the first slab of each run to the front of order, fills Out[1] and Out[2], and gives how many runs there are.
func (s *slab[T]) keep(c *Call, order []int64) int {
	inverse, counts := elems[int64](c.Out[1]), elems[int64](c.Out[2])
	kept := 0
	for k, at := range order {
		if k == 0 || s.compare(int(order[kept-1]), int(at)) != 0 {
			order[kept] = at
			kept++
			if len(counts) > 0 {
				counts[kept-1] = 0
			}
		}
		if len(inverse) > 0 {
			inverse[at] = int64(kept - 1)
		}
		if len(counts) > 0 {
			counts[kept-1]++
		}
	}
	if len(counts) > 0 {
		setRows(c.Out[2], kept)
	}
	return kept
}

func gatherSlabs[T number](o []T, s *slab[T], list []int64) {
	for i, at := range list {
		for k := range s.outer * s.inner {
			o[k/s.inner*len(list)*s.inner+i*s.inner+k%s.inner] = s.at(int(at), k)
		}
	}
}

// inferBincount needs the elements, which the lowerer does not have: there the size is minlength at least.
func inferBincount(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if self.Rank() != 1 {
		return errDims
	}
	dtype := tensor.Long
	if w := c.Args[1].Tensor; w != nil {
		if dtype = tensor.Double; w.DType == tensor.Float {
			dtype = tensor.Float
		}
	}
	n := c.Args[2].Int
	if self.Data != nil {
		for i := range self.Numel() {
			k := integerAt(self, i)
			if k < 0 {
				return errBins
			}
			n = max(n, k+1)
		}
	}
	c.Set(0, dtype, n)
	return nil
}

// integerAt is element i of an integral t.
func integerAt(t *tensor.Tensor, i int) int64 {
	switch t.DType {
	case tensor.Long:
		return elems[int64](t)[i]
	case tensor.Int:
		return int64(elems[int32](t)[i])
	case tensor.Short:
		return int64(elems[int16](t)[i])
	case tensor.Char:
		return int64(elems[int8](t)[i])
	}
	return int64(elems[uint8](t)[i])
}

// runBincount counts how often each number occurs, or adds up the weights of its occurrences.
func runBincount[T integer](c *Call, _ State) error {
	out := c.Out[0]
	n := out.Numel()
	sums, err := tempOf[float64](c, n)
	if err != nil {
		return err
	}
	clear(sums)
	x, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	weights, err := bincountWeights(c, len(x))
	if err != nil {
		return err
	}
	for i, k := range x {
		if k < 0 || int64(k) >= int64(n) {
			return errBins
		}
		if weights == nil {
			sums[k]++
		} else {
			sums[k] += weights[i]
		}
	}
	for i, s := range sums {
		putFloat(out, i, s)
	}
	return nil
}

func bincountWeights(c *Call, n int) ([]float64, error) {
	w := c.Args[1].Tensor
	if w == nil {
		return nil, nil
	}
	if w.Numel() != n {
		return nil, errSizes
	}
	wide := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Double, Sizes: w.Sizes}}
	var err error
	if wide.Data, err = c.Alloc(8 * n); err != nil {
		return nil, err
	}
	return elems[float64](wide), Convert(c, wide, w)
}
