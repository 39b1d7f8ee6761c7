package decomp

import (
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// matrixNorm is the Frobenius norm of matrices, or by its order the largest or smallest sum of their columns or rows. Those of
// singular values have no rule.
func matrixNorm(c *call) []*exir.Value {
	x, dims := c.to(c.t("self"), c.dtype("dtype", c.t("self").Spec.DType)), c.ints("dim")
	if len(dims) != 2 {
		failf("the norm of a matrix over %d dimensions", len(dims))
	}
	keep := c.bool("keepdim")
	if c.arg("ord").Kind == exir.ArgString {
		if name := c.arg("ord").Str; name != "fro" {
			failf("norm %q needs singular values", name)
		}
		return one(c.op("linalg_vector_norm", x, 2, dims, keep))
	}
	summed, searched := dims[0], dims[1]
	switch order := c.f("ord"); {
	case math.IsInf(order, 0):
		summed, searched = searched, summed
	case math.Abs(order) != 1:
		failf("norm %v of a matrix needs singular values", order)
	}
	search := "amax"
	if c.f("ord") < 0 {
		search = "amin"
	}
	y := c.op("sum.dim_IntList", c.op("abs", x), []int64{summed}, true)
	y = c.op(search, y, []int64{searched}, true)
	if !keep {
		y = c.op("squeeze_copy.dims", y, dims)
	}
	return one(y)
}

// matrixPower multiplies matrices by themselves: n-1 products, or as many as n has binary digits, and those that are 1.
func matrixPower(c *call) []*exir.Value {
	x, n := c.t("self"), c.n("n")
	if n < 0 {
		failf("power %d of a matrix needs its inverse", n)
	}
	if n == 0 {
		id := c.op("eye", size(x, -1), exir.KW{Name: "dtype", Arg: x.Spec.DType})
		return one(c.expand(id, sizes(x)))
	}
	var y *exir.Value
	for ; ; x = c.matmul(x, x) {
		switch {
		case n&1 == 0:
		case y == nil:
			y = x
		default:
			y = c.matmul(y, x)
		}
		if n >>= 1; n == 0 {
			return one(y)
		}
	}
}
