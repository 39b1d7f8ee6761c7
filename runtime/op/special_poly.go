package op

import "math"

// recurrence is a family of orthogonal polynomials: the first two, and the next after p (degree k-1) and q (degree k).
type recurrence struct {
	first func(x float64) float64
	next  func(x, k, q, p float64) float64
}

// at is the polynomial of degree n, truncated, at x. There is none of a negative degree: it counts as 0.
func (r *recurrence) at(x, n float64) float64 {
	n = math.Trunc(n)
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 1
	case n != n:
		return n
	}
	p, q := 1.0, r.first(x)
	for k := 1.0; k < n && q == q; k++ {
		p, q = q, r.next(x, k, q, p)
	}
	return q
}

func chebyshevNext(x, _, q, p float64) float64 { return float64(2*x*q) - p }

var (
	chebyshevT = recurrence{func(x float64) float64 { return x }, chebyshevNext}
	chebyshevU = recurrence{func(x float64) float64 { return 2 * x }, chebyshevNext}
	chebyshevV = recurrence{func(x float64) float64 { return float64(2*x) - 1 }, chebyshevNext}
	chebyshevW = recurrence{func(x float64) float64 { return float64(2*x) + 1 }, chebyshevNext}
	hermiteH   = recurrence{func(x float64) float64 { return 2 * x }, func(x, k, q, p float64) float64 { return float64(2*x*q) - float64(2*k*p) }}
	hermiteHe  = recurrence{func(x float64) float64 { return x }, func(x, k, q, p float64) float64 { return float64(x*q) - float64(k*p) }}
	laguerreL  = recurrence{func(x float64) float64 { return 1 - x }, func(x, k, q, p float64) float64 { return (float64((float64(2*k)+1-x)*q) - float64(k*p)) / (k + 1) }}
	legendreP  = recurrence{func(x float64) float64 { return x }, func(x, k, q, p float64) float64 { return (float64((float64(2*k)+1)*x*q) - float64(k*p)) / (k + 1) }}
)
