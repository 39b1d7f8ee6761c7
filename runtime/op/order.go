package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of operators that pick one element of a sorted row.
var (
	Kthvalue = Def{
		Schema:     "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::kthvalue", Infer: inferKthvalue, Tags: Extension,
	}
	Mode = Def{
		Schema:     "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::mode", Infer: inferPicked, Tags: Extension,
	}
	MedianDim = Def{
		Schema:     "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::median.dim", Infer: inferPicked, Tags: Extension,
	}
	NanmedianDim = Def{
		Schema:     "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::nanmedian.dim", Infer: inferPicked, Tags: Extension,
	}
	SearchSorted = Def{
		Schema:     "aten::searchsorted.Tensor_out(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::searchsorted.Tensor", Infer: inferSearchSorted, Key: KeyPromote, KeyArgs: 1<<0 | 1<<1, Tags: Extension,
	}
)

var (
	errKth    = errors.New("check k: not within the dimension")
	errEmpty  = errors.New("reduce: no elements to pick from")
	errSorter = errors.New("check sorter: index out of range")
)

// inferPicked reduces dimension argument 1 of both outs.
func inferPicked(c *Infer) error { return inferPick(c, 1, 2) }

func inferKthvalue(c *Infer) error {
	if err := inferPick(c, 2, 3); err != nil {
		return err
	}
	self, k := c.Args[0].Tensor, c.Args[1].Int
	dim, err := WrapDim(c.Args[2].Int, self.Rank())
	if err != nil {
		return err
	}
	if c.Shapes.Less(k, 1) == tensor.Yes || c.Shapes.Less(sizeAt(&self.Meta, dim), k) == tensor.Yes {
		return errKth
	}
	return nil
}

// inferPick reduces the dimension in argument dimArg; the flag in argument keep keeps it with size 1.
func inferPick(c *Infer, dimArg, keep int) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	dim, err := WrapDim(c.Args[dimArg].Int, self.Rank())
	if err != nil {
		return err
	}
	mask := uint32(1) << dim
	reduceMeta(&c.Out[0], &self.Meta, mask, c.Args[keep].Int != 0, self.DType)
	reduceMeta(&c.Out[1], &self.Meta, mask, c.Args[keep].Int != 0, tensor.Long)
	return nil
}

func runKthvalue[T number](c *Call, _ State) error {
	k := c.Args[1].Int
	return pickRows[T](c, c.Args[2].Int, func(row []ranked) (ranked, error) {
		if k < 1 || k > int64(len(row)) {
			return ranked{}, errKth
		}
		ranks(row).quick(int(k) - 1)
		return row[k-1], nil
	})
}

func runMode[T number](c *Call, _ State) error { return pickSorted[T](c, c.Args[1].Int, modeOf) }

func runMedian[T number](c *Call, _ State) error {
	return pickSorted[T](c, c.Args[1].Int, func(row []ranked) (ranked, error) {
		n := numbersIn[T](row)
		if n < len(row) {
			return row[n], nil // the first NaN
		}
		return row[(n-1)/2], nil
	})
}

func runNanmedian[T number](c *Call, _ State) error {
	return pickSorted[T](c, c.Args[1].Int, func(row []ranked) (ranked, error) {
		return row[max(numbersIn[T](row)-1, 0)/2], nil
	})
}

// numbersIn counts the elements of a sorted row before its NaNs.
func numbersIn[T number](row []ranked) int {
	n := len(row)
	for n > 0 && isFloat[T]() && row[n-1].key == nanKey {
		n--
	}
	return n
}

// modeOf is the value that occurs most often, the least of several, where it is last.
func modeOf(row []ranked) (ranked, error) {
	best, most := row[0], 0
	for from := 0; from < len(row); {
		to := from + 1
		for to < len(row) && row[to].key == row[from].key {
			to++
		}
		if to-from > most {
			best, most = row[to-1], to-from
		}
		from = to
	}
	return best, nil
}

// pickSorted is pickRows with sorted rows.
func pickSorted[T number](c *Call, dim int64, pick func(row []ranked) (ranked, error)) error {
	return pickRows[T](c, dim, func(row []ranked) (ranked, error) {
		sortStable(row)
		return pick(row)
	})
}

// pickRows puts what pick takes of each row of argument 0 along dim into Out[0], and where it was into Out[1].
func pickRows[T number](c *Call, dim int64, pick func(row []ranked) (ranked, error)) error {
	self, values, places := c.Args[0].Tensor, c.Out[0], c.Out[1]
	d, err := WrapDim(dim, self.Rank())
	if err != nil {
		return err
	}
	n := int(sizeAt(&self.Meta, d))
	row, err := tempOf[ranked](c, n)
	if err != nil {
		return err
	}
	x, err := contiguousOf[T](c, self)
	if err != nil || values.Numel() == 0 {
		return err
	}
	if n == 0 {
		return errEmpty
	}
	outer, inner := outerInner(&self.Meta, d)
	o, indices := elems[T](values), elems[int64](places)
	rowMajor := tensor.Meta{Sizes: values.Sizes}
	place := func(t *tensor.Tensor, i int) int { // of result i
		if t.Contiguous() {
			return i
		}
		return at(&rowMajor, &t.Meta, i)
	}
	for i := range outer * inner {
		from := i/inner*n*inner + i%inner
		rankRow(row, x[from:], inner, false)
		r, err := pick(row)
		if err != nil {
			return err
		}
		o[place(values, i)], indices[place(places, i)] = x[from+int(r.at)*inner], r.at
	}
	return nil
}

func inferSearchSorted(c *Infer) error {
	seq, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	x, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	if seq.Rank() == 0 || seq.Rank() > 1 && seq.Rank() != x.Rank() {
		return errDims
	}
	for i := range seq.Rank() - 1 {
		if c.Shapes.Equal(seq.Sizes[i], x.Sizes[i]) == tensor.No {
			return errSizes
		}
	}
	dtype := tensor.Long
	if c.Args[2].Int != 0 {
		dtype = tensor.Int
	}
	c.Set(0, dtype, x.Sizes...)
	return nil
}

// runSearchSorted finds for each element where it belongs in its sorted row of argument 0: before its equals, or after
// them with right or side="right". A sorter (argument 5) says where the row's elements lie.
func runSearchSorted[T number](c *Call, _ State) error {
	seq, x := c.Args[0].Tensor, c.Args[1].Tensor
	right := c.Args[3].Int != 0 || c.Args[4].Str == "right"
	rows, err := contiguousOf[T](c, seq)
	if err != nil {
		return err
	}
	values, err := contiguousOf[T](c, x)
	if err != nil {
		return err
	}
	var sorter []int64
	if c.Args[5].Kind == Tensor {
		if sorter, err = contiguousOf[int64](c, c.Args[5].Tensor); err != nil {
			return err
		}
	}
	n := int(sizeAt(&seq.Meta, seq.Rank()-1))
	per := len(values)
	if seq.Rank() > 1 {
		per = int(sizeAt(&x.Meta, x.Rank()-1))
	}
	for i, v := range values {
		base := 0
		if seq.Rank() > 1 {
			base = i / per * n
		}
		at, err := searchRow(rows[base:base+n], partOf(sorter, base, n), v, right)
		if err != nil {
			return err
		}
		putInt(c.Out[0], i, int64(at))
	}
	return nil
}

func partOf(list []int64, from, n int) []int64 {
	if list == nil {
		return nil
	}
	return list[from : from+n]
}

// searchRow is the first place in row whose element is not before x, or is after it with right. As in ATen no comparison
// with NaN holds: it is searched for behind all elements.
func searchRow[T number](row []T, sorter []int64, x T, right bool) (int, error) {
	lo, hi := 0, len(row)
	for lo < hi {
		mid := (lo + hi) / 2
		at := mid
		if sorter != nil {
			if at = int(sorter[mid]); at < 0 || at >= len(row) {
				return 0, errSorter
			}
		}
		if e := row[at]; right && !(e > x) || !right && !(e >= x) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}
