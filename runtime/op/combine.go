package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of operators that combine what an index sends to one place, and of scans that keep where they found a value.
var (
	ScatterReduce = Def{
		Schema:     "aten::scatter_reduce.two_out(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::scatter_reduce.two", Infer: inferScatter, Tags: Core | Extension,
	}
	Cummax = Def{
		Schema:     "aten::cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::cummax", Infer: inferSort, Tags: Extension,
	}
	Cummin = Def{
		Schema:     "aten::cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
		Functional: "aten::cummin", Infer: inferSort, Tags: Extension,
	}
	Logcumsumexp = Def{
		Schema:     "aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::logcumsumexp", Infer: inferScan, Tags: Extension,
	}
)

func inferScan(c *Infer) error {
	if err := inferLike(c); err != nil {
		return err
	}
	_, err := WrapDim(c.Args[1].Int, c.Args[0].Tensor.Rank())
	return err
}

// combiner is a reduction of scatter_reduce.
type combiner[T number] struct {
	neutral T
	join    func(a, b T) T
}

func combinerOf[T number](kind string, isBool bool) combiner[T] {
	switch kind {
	case "prod":
		return combiner[T]{1, func(a, b T) T { return a * b }}
	case "amax":
		lo, _ := extremes[T]()
		return combiner[T]{lo, maxOf[T]}
	case "amin":
		_, hi := extremes[T]()
		return combiner[T]{hi, minOf[T]}
	}
	if isBool {
		return combiner[T]{0, maxOf[T]}
	}
	return combiner[T]{0, func(a, b T) T { return a + b }}
}

// extremes are the least and the greatest value of T, infinities included.
func extremes[T number]() (lo, hi T) {
	if isFloat[T]() {
		return T(math.Inf(-1)), T(math.Inf(1))
	}
	one := T(1)
	if -one > 0 { // unsigned
		return 0, -one
	}
	for hi = one; hi+hi+1 > hi; {
		hi += hi + 1
	}
	return -hi - 1, hi
}

// runScatterReduce joins the elements of argument 3 to the places that argument 2 names. Without include_self the
// elements of argument 0 that are named do not take part. A mean counts what takes part; of integers it is rounded down.
func runScatterReduce[T number](c *Call, _ State) error {
	list, dim, err := readScatter[T](c)
	if err != nil {
		return err
	}
	src, out, kind, own := c.Args[3].Tensor, c.Out[0], c.Args[4].Str, c.Args[5].Int != 0
	x, o := elems[T](src), elems[T](out)
	f := combinerOf[T](kind, out.DType == tensor.Bool)
	sizes := c.Args[2].Tensor.Sizes
	if !own {
		p, step := newPairs(sizes, &out.Meta, dim, &src.Meta)
		for _, at := range list {
			o[p.a+at*step] = f.neutral
			p.next()
		}
	}
	p, step := newPairs(sizes, &out.Meta, dim, &src.Meta)
	for _, at := range list {
		o[p.a+at*step] = f.join(o[p.a+at*step], x[p.b])
		p.next()
	}
	if kind != "mean" {
		return nil
	}
	p, step = newPairs(sizes, &out.Meta, dim, &src.Meta)
	return divideByCounts(c, o, func(visit func(at int)) {
		for _, at := range list {
			visit(p.a + at*step)
			p.next()
		}
	}, own)
}

// divideByCounts divides each of o by how often each visits it, and once more if own.
func divideByCounts[T number](c *Call, o []T, each func(visit func(at int)), own bool) error {
	counts, err := tempOf[int64](c, len(o))
	if err != nil {
		return err
	}
	for i := range counts {
		counts[i] = 0
	}
	each(func(at int) { counts[at]++ })
	for i, n := range counts {
		if own {
			n++
		}
		switch {
		case n <= 1:
		case isFloat[T]():
			o[i] = T(float64(o[i]) / float64(n))
		default:
			o[i] = T(floorDivInt(int64(o[i]), n))
		}
	}
	return nil
}

func runCummax[T number](c *Call, _ State) error {
	return scanPlaces(c, func(x, best T) bool { return x >= best })
}

func runCummin[T number](c *Call, _ State) error {
	return scanPlaces(c, func(x, best T) bool { return x <= best })
}

// scanPlaces gives for each element of argument 0 the best so far along a dimension and where it is. The last of equal
// ones counts, and NaN is better than any number.
func scanPlaces[T number](c *Call, better func(x, best T) bool) error {
	self, values, places := c.Args[0].Tensor, c.Out[0], c.Out[1]
	d, err := WrapDim(c.Args[1].Int, self.Rank())
	if err != nil {
		return err
	}
	x, err := contiguousOf[T](c, self)
	if err != nil || values.Numel() == 0 {
		return err
	}
	n := int(sizeAt(&self.Meta, d))
	outer, inner := outerInner(&self.Meta, d)
	o, at := elems[T](values), elems[int64](places)
	for i := range outer * inner {
		base := i/inner*n*inner + i%inner
		best, where := x[base], int64(0)
		for j := range n {
			k := base + j*inner
			if v := x[k]; v != v || best == best && better(v, best) {
				best, where = v, int64(j)
			}
			o[k], at[k] = best, where
		}
	}
	return nil
}

func runLogcumsumexp[T float](c *Call, _ State) error { return scan(c, logcumsumexpRow[T]) }

// logcumsumexpRow keeps the logarithm of the sum, so that no exponential overflows.
func logcumsumexpRow[T float](o, x []T) {
	acc := math.Inf(-1)
	for i, v := range x {
		acc = logAddExp(acc, float64(v))
		o[i] = T(acc)
	}
}

// logAddExp is log(exp(a) + exp(b)).
func logAddExp(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	lo, hi := min(a, b), max(a, b)
	if lo == hi && math.IsInf(lo, 0) {
		return lo
	}
	return hi + scalarmath.Log1p(scalarmath.Exp(lo-hi))
}
