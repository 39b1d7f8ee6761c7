package op

import (
	"cmp"
	"errors"
	"math"
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
	k, sorted := int(c.Args[1].Int), c.Args[4].Int != 0
	return sortRows[T](c, c.Args[2].Int, c.Args[3].Int != 0, func(row []ranked) { ranks(row).top(k, sorted) })
}

func runSort[T number](c *Call, _ State) error {
	return sortRows[T](c, c.Args[1].Int, c.Args[2].Int != 0, sortStable)
}

func runSortStable[T number](c *Call, _ State) error {
	return sortRows[T](c, c.Args[2].Int, c.Args[3].Int != 0, sortStable)
}

// ranked is an element's rank, and where it was.
type ranked struct {
	key uint64
	at  int64
}

// nanKey is the rank of NaN among rising floats.
const nanKey = math.MaxUint64

// keyOf is the rank of x among rising values, NaN last: equal elements have equal ranks.
func keyOf[T number](x T) uint64 {
	const sign = 1 << 63
	if !isFloat[T]() {
		return uint64(int64(x)) ^ sign
	}
	if x != x {
		return nanKey
	}
	b := math.Float64bits(float64(x) + 0) // -0 is 0
	return b ^ (uint64(int64(b)>>63) | sign)
}

// rankRow ranks the elements of x that are step apart by rising or falling value.
func rankRow[T number](row []ranked, x []T, step int, falling bool) {
	flip := uint64(0)
	if falling {
		flip = math.MaxUint64
	}
	for j := range row {
		row[j] = ranked{keyOf(x[j*step]) ^ flip, int64(j)}
	}
}

// inOrder compares by rank and then by place.
func inOrder(a, b ranked) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
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

// sortStable leaves equal elements as they were.
func sortStable(row []ranked) { slices.SortFunc(row, inOrder) }

// sortRows sorts the rows of argument 0 along dim by rising or falling value and puts as many elements as there is room for
// into Out[0], and where they were into Out[1].
func sortRows[T number](c *Call, dim int64, falling bool, sort func(row []ranked)) error {
	self, values, places := c.Args[0].Tensor, c.Out[0], c.Out[1]
	d, err := WrapDim(dim, self.Rank())
	if err != nil {
		return err
	}
	n, k := int(sizeAt(&self.Meta, d)), int(sizeAt(&values.Meta, d))
	row, err := tempOf[ranked](c, n)
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
		rankRow(row, x[from:], inner, falling)
		sort(row)
		for j, r := range row[:k] {
			o[to+j*inner], at[to+j*inner] = x[from+int(r.at)*inner], r.at
		}
	}
	return nil
}
