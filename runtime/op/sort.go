package op

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errTopk = errors.New("check k: more than there are elements")

func inferTopk(c *Infer) error {
	if err := inferSorted(c); err != nil {
		return err
	}
	self, k := c.Args[0].Tensor, c.Args[1].Int
	dim, err := WrapDim(c.Args[2].Int, self.Rank())
	if err != nil {
		return err
	}
	if c.Shapes.Less(k, 0) == tensor.Yes || c.Shapes.Less(sizeAt(&self.Meta, dim), k) == tensor.Yes {
		return errTopk
	}
	if self.Rank() > 0 {
		c.Out[0].Sizes[dim], c.Out[1].Sizes[dim] = k, k
	}
	return nil
}

func inferSort(c *Infer) error {
	if err := inferSorted(c); err != nil {
		return err
	}
	_, err := WrapDim(c.Args[1].Int, c.Args[0].Tensor.Rank())
	return err
}

func inferSortStable(c *Infer) error {
	if err := inferSorted(c); err != nil {
		return err
	}
	_, err := WrapDim(c.Args[2].Int, c.Args[0].Tensor.Rank())
	return err
}

// inferSorted makes both outs as large as argument 0.
func inferSorted(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	c.Set(0, self.DType, self.Sizes...)
	c.Set(1, tensor.Long, self.Sizes...)
	return nil
}

func runTopk[T number](c *Call, _ State) error {
	before := less[T]
	if c.Args[3].Int != 0 {
		before = greater[T]
	}
	k, sorted := int(c.Args[1].Int), c.Args[4].Int != 0
	return sortRows(c, c.Args[2].Int, func(row []ranked[T]) {
		r := ranks[T]{row, before}
		r.top(k, sorted)
	})
}

func runSort[T number](c *Call, _ State) error {
	return sortRows(c, c.Args[1].Int, stable[T](c.Args[2].Int != 0))
}

func runSortStable[T number](c *Call, _ State) error {
	return sortRows(c, c.Args[2].Int, stable[T](c.Args[3].Int != 0))
}

// ranked is an element and where it was.
type ranked[T number] struct {
	x  T
	at int64
}

// ascending orders by value, NaN last, and then by place.
func ascending[T number](a, b ranked[T]) int {
	if n := compareNaN(a.x, b.x); n != 0 {
		return n
	}
	return cmp.Compare(a.at, b.at)
}

// descending orders by falling value, NaN first, and then by place.
func descending[T number](a, b ranked[T]) int {
	if n := compareNaN(b.x, a.x); n != 0 {
		return n
	}
	return cmp.Compare(a.at, b.at)
}

// compareNaN compares with NaN as the greatest.
func compareNaN[T number](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return int(toBool(a != a)) - int(toBool(b != b))
}

// stable sorts a row by rising or falling value, equal elements as they were.
func stable[T number](falling bool) func(row []ranked[T]) {
	order := ascending[T]
	if falling {
		order = descending[T]
	}
	return func(row []ranked[T]) { slices.SortFunc(row, order) }
}

// sortRows sorts the rows of argument 0 along dim and puts as many elements as there is room for
// into Out[0], and where they were into Out[1].
func sortRows[T number](c *Call, dim int64, sort func(row []ranked[T])) error {
	self, values, places := c.Args[0].Tensor, c.Out[0], c.Out[1]
	d, err := WrapDim(dim, self.Rank())
	if err != nil {
		return err
	}
	n, k := int(sizeAt(&self.Meta, d)), int(sizeAt(&values.Meta, d))
	row, err := tempOf[ranked[T]](c, n)
	if err != nil {
		return err
	}
	x, err := contiguousOf[T](c, self)
	if err != nil || values.Numel() == 0 {
		return err
	}
	outer, inner := outerInner(&self.Meta, d)
	o, at := elems[T](values), elems[int64](places)
	for i := range outer * inner {
		from, to := i/inner*n*inner+i%inner, i/inner*k*inner+i%inner
		for j := range row {
			row[j] = ranked[T]{x[from+j*inner], int64(j)}
		}
		sort(row)
		for j, r := range row[:k] {
			o[to+j*inner], at[to+j*inner] = r.x, r.at
		}
	}
	return nil
}
