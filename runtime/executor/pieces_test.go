package executor

import (
	"math/rand/v2"
	"testing"
)

// TestPieces holds groups of random values against the comparison of all pairs.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := 1 + r.IntN(24)
		p, want := &spans{of: make([]span, n), groups: newGroups(n)}, newGroups(n)
		var used pieces
		areas, first := make([]area, n), int32(0)
		for v := range n {
			first += r.Int32N(3)
			from := r.Uint64N(60)
			p.of[v].first, p.of[v].last = first, first+r.Int32N(8)
			areas[v] = area{r.Int32N(2), from, from + 1 + r.Uint64N(12)}
			used.put(p, piece{areas[v], int32(v)})
			for w := range v {
				if areas[v].overlaps(&areas[w]) && p.of[w].last >= first {
					want.join(int32(v), int32(w))
				}
			}
		}
		for v := range int32(n) {
			for w := range v {
				if got, want := p.root(v) == p.root(w), want.root(v) == want.root(w); got != want {
					t.Fatalf("values %d and %d of %v, %v: in one group %v, want %v", v, w, areas, p.of, got, want)
				}
			}
		}
	}
}

// TestPiecesStayFew puts short values into a long one, which stays whole: else every value over all of it would visit their number.
func TestPiecesStayFew(t *testing.T) {
	const n = 1000
	p := &spans{of: make([]span, 2*n+1), groups: newGroups(2*n + 1)}
	p.of[0].last = never - 1
	var used pieces
	used.put(p, piece{area{0, 0, 8 * n}, 0})
	for v := int32(1); v <= 2*n; v++ {
		p.of[v].first, p.of[v].last = v, v
		x := area{0, uint64(8*v - 8), uint64(8*v - 4)}
		if v > n {
			x = area{0, 0, 8 * n}
		}
		if used.put(p, piece{x, v}); len(used) != 1 || p.root(v) != p.root(0) {
			t.Fatalf("value %d: %d pieces, in the group of %d", v, len(used), p.root(v))
		}
	}
}
