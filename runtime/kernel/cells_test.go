package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
)

// cellsOf are random cells, whose gates are A's and B's, or A's alone; unchanged says that nothing beside an operand is changed.
func cellsOf(r *rand.Rand, gates, rows, width int, both bool) (c *Cells, unchanged func() bool) {
	size, side := rows*width, rows*gates*width
	c = &Cells{A: guarded(r, side), State: guarded(r, size), Hidden: guarded(r, size), Next: guarded(r, size), Gates: [4]int{2, 0, 1, 3}, Rows: rows, Width: width}
	all := [][]float32{c.A, c.State, c.Hidden, c.Next}
	if both {
		c.B = guarded(r, side)
		all = append(all, c.B)
	}
	return c, func() bool { return !slices.ContainsFunc(all, func(x []float32) bool { return !intact(x) }) }
}

// cellSteps computes what a cell is made of, one function after the other.
type cellSteps struct {
	t    *testing.T
	tier Tier
}

func (s cellSteps) of(f func(Tier, []float32, []float32) bool, x []float32) []float32 {
	o := make([]float32, len(x)+mapLeast)
	if !f(s.tier, o, append(append([]float32(nil), x...), o[:mapLeast]...)) {
		s.t.Fatalf("%v has no kernel for a function", s.tier)
	}
	return o[:len(x)]
}

func (s cellSteps) with(f func(Tier, []float32, []float32, []float32) bool, x, y []float32) []float32 {
	return s.of(func(t Tier, o, x []float32) bool {
		return f(t, o, x, append(append([]float32(nil), y...), o[:mapLeast]...))
	}, x)
}

// gate is the kth gate of row i of x.
func (c *Cells) gate(x []float32, k, i int) []float32 {
	return x[(i*len(x)/c.Rows + c.Gates[k]*c.Width):][:c.Width]
}

// gate is the kth gate of row i, the sum of both.
func (s cellSteps) gate(c *Cells, k, i int) []float32 {
	if c.B == nil {
		return c.gate(c.A, k, i)
	}
	return s.with(AddF32, c.gate(c.A, k, i), c.gate(c.B, k, i))
}

// TestCells holds cells against the functions that they are made of, bit by bit, for rows of all tails.
func TestCells(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier.Narrow(1))
		for _, width := range []int{lanes, lanes + 1, 2*lanes - 1, 2 * lanes, 40, 5*lanes + 3, cellMost/3 + 1, cellMost, cellMost + 1, 2*cellMost + lanes + 3} {
			for _, both := range []bool{true, false} {
				what := fmt.Sprint(tier, " ", width, " ", both)
				r := rand.New(rand.NewSource(int64(width)))
				s := cellSteps{t, tier.Narrow(width)}
				c, unchanged := cellsOf(r, 4, 7, width, both)
				special(c)
				if !c.LSTM(tier) {
					t.Fatalf("%s: there is no kernel of an LSTM", what)
				}
				for i := range c.Rows {
					own := func(x []float32) []float32 { return x[i*width:][:width] }
					input, forget, output := s.of(SigmoidF32, s.gate(c, 0, i)), s.of(SigmoidF32, s.gate(c, 1, i)), s.of(SigmoidF32, s.gate(c, 2, i))
					next := s.with(AddF32, s.with(MulF32, forget, own(c.State)), s.with(MulF32, input, s.of(TanhF32, s.gate(c, 3, i))))
					sameBits(t, what+" next", own(c.Next), next)
					sameBits(t, what+" hidden", own(c.Hidden), s.with(MulF32, output, s.of(TanhF32, next)))
				}
				if !unchanged() {
					t.Fatalf("%s: a value beside an operand of an LSTM is changed", what)
				}
				if !both {
					continue
				}
				c, unchanged = cellsOf(r, 3, 7, width, true)
				special(c)
				if !c.GRU(tier) {
					t.Fatalf("%s: there is no kernel of a GRU", what)
				}
				for i := range c.Rows {
					own := func(x []float32) []float32 { return x[i*width:][:width] }
					reset, update := s.of(SigmoidF32, s.gate(c, 0, i)), s.of(SigmoidF32, s.gate(c, 1, i))
					fresh := s.of(TanhF32, s.with(AddF32, c.gate(c.A, 2, i), s.with(MulF32, reset, c.gate(c.B, 2, i))))
					sameBits(t, what+" hidden of a GRU", own(c.Hidden), s.with(AddF32, s.with(MulF32, s.with(SubF32, own(c.State), fresh), update), fresh))
				}
				if !unchanged() {
					t.Fatalf("%s: a value beside an operand of a GRU is changed", what)
				}
			}
		}
		c, _ := cellsOf(rand.New(rand.NewSource(1)), 4, 1, lanes-1, true)
		if c.LSTM(tier) || c.GRU(tier) {
			t.Errorf("%v takes rows of %d", tier, c.Width)
		}
	}
}

// special puts specials, and numbers beyond which a sigmoid is 0 or 1, into operands.
func special(c *Cells) {
	numbers := append([]float32{100, -100}, specials...)
	for k, x := range [][]float32{c.A, c.B, c.State} {
		for i := k; i < len(x); i += 7 {
			x[i] = numbers[i/7%len(numbers)]
		}
	}
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range got {
		if math.Float32bits(v) != math.Float32bits(want[i]) && (v == v || want[i] == want[i]) {
			t.Fatalf("%s %d: %v, want %v", what, i, v, want[i])
		}
	}
}

func BenchmarkCells(b *testing.B) {
	for _, tier := range tiers() {
		for _, width := range []int{16, 64, 512} {
			c, _ := cellsOf(rand.New(rand.NewSource(1)), 4, 2, width, true)
			b.Run(fmt.Sprintf("LSTM/%v/%d", tier, width), func(b *testing.B) {
				for b.Loop() {
					c.LSTM(tier)
				}
			})
			c, _ = cellsOf(rand.New(rand.NewSource(1)), 3, 2, width, true)
			b.Run(fmt.Sprintf("GRU/%v/%d", tier, width), func(b *testing.B) {
				for b.Loop() {
					c.GRU(tier)
				}
			})
		}
	}
}
