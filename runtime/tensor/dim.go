package tensor

import "math"

// Dim is a size (≥ 0), a plain negative number where an argument allows one
// (such as -1 in a view's sizes), or, near the smallest int64, a handle of a
// symbolic expression in a Shapes table.
type Dim = int64

const firstSymbol Dim = math.MinInt64

// maxSymbols is how many handles there are.
const maxSymbols = 1 << 32

// IsSymbol reports whether d is a handle of a symbolic expression.
func IsSymbol(d Dim) bool { return d < firstSymbol+maxSymbols && d != firstSymbol }

// SymbolDim is the handle with index i, which counts from 0.
func SymbolDim(i int) Dim { return firstSymbol + 1 + Dim(i) }

// SymbolIndex is the index of a handle.
func SymbolIndex(d Dim) int { return int(d - firstSymbol - 1) }

// Truth is the answer to a comparison of symbolic numbers.
type Truth int8

// The three truths.
const (
	No Truth = iota
	Yes
	Unknown
)

// Expressions is a table of symbolic expressions over integers. lowerer/symint implements it.
type Expressions interface {
	Add(a, b Dim) Dim
	Mul(a, b Dim) Dim
	FloorDiv(a, b Dim) Dim
	Mod(a, b Dim) Dim
	Max(a, b Dim) Dim
	Min(a, b Dim) Dim
	Scale(n Dim, factor float64) Dim
	Equal(a, b Dim) Truth
	Less(a, b Dim) Truth
}

// Shapes does arithmetic on Dims. A nil *Shapes, as at run time, does plain
// arithmetic, for which every Dim is a number.
type Shapes struct {
	Table Expressions
}

func (s *Shapes) plain(a, b Dim) bool { return s == nil || !IsSymbol(a) && !IsSymbol(b) }

// Add is a + b.
func (s *Shapes) Add(a, b Dim) Dim {
	if s.plain(a, b) {
		return a + b
	}
	return s.Table.Add(a, b)
}

// Sub is a - b.
func (s *Shapes) Sub(a, b Dim) Dim {
	if s.plain(a, b) {
		return a - b
	}
	return s.Table.Add(a, s.Table.Mul(b, -1))
}

// Mul is a · b.
func (s *Shapes) Mul(a, b Dim) Dim {
	if s.plain(a, b) {
		return a * b
	}
	return s.Table.Mul(a, b)
}

// FloorDiv is ⌊a / b⌋ as Python rounds; b must not be 0.
func (s *Shapes) FloorDiv(a, b Dim) Dim {
	if !s.plain(a, b) {
		return s.Table.FloorDiv(a, b)
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Mod is a - b·⌊a / b⌋ as in Python; b must not be 0.
func (s *Shapes) Mod(a, b Dim) Dim {
	if !s.plain(a, b) {
		return s.Table.Mod(a, b)
	}
	return a - b*s.FloorDiv(a, b)
}

// Max is the larger of a and b.
func (s *Shapes) Max(a, b Dim) Dim {
	if s.plain(a, b) {
		return max(a, b)
	}
	return s.Table.Max(a, b)
}

// Min is the smaller of a and b.
func (s *Shapes) Min(a, b Dim) Dim {
	if s.plain(a, b) {
		return min(a, b)
	}
	return s.Table.Min(a, b)
}

// Scale is ⌊n·factor⌋ of an n ≥ 0, the product a float64.
func (s *Shapes) Scale(n Dim, factor float64) Dim {
	if !IsSymbol(n) {
		return Dim(float64(n) * factor)
	}
	return s.Table.Scale(n, factor)
}

func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// Equal answers a = b.
func (s *Shapes) Equal(a, b Dim) Truth {
	if s.plain(a, b) || a == b {
		return truth(a == b)
	}
	return s.Table.Equal(a, b)
}

// Less answers a < b.
func (s *Shapes) Less(a, b Dim) Truth {
	if s.plain(a, b) || a == b {
		return truth(a < b)
	}
	return s.Table.Less(a, b)
}

// Product is the product of ds; 1 for none.
func (s *Shapes) Product(ds []Dim) Dim {
	p := Dim(1)
	for _, d := range ds {
		p = s.Mul(p, d)
	}
	return p
}
