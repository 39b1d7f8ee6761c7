package diag

import "strings"

// Nearest is the name with the smallest edit distance from got, if that is small; "" otherwise. What got begins counts as
// one edit away.
func Nearest(got string, names []string) string {
	best, at := "", len(got)/2+1
	for _, n := range names {
		d := distance(got, n)
		if len(got) > 2 && strings.HasPrefix(n, got) {
			d = min(d, 1)
		}
		if d < at {
			best, at = n, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of neighbours as one edit.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
