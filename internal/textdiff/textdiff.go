// Package textdiff shows what differs between two texts.
package textdiff

import "strings"

// Lines lists the lines that only one of two texts has, in order, indented by two, with "-" before those of old and "+" before
// those of now. It is "" for equal texts.
func Lines(old, now string) string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(now, "\n")
	var out strings.Builder
	put := func(sign string, lines []string) {
		for _, l := range lines {
			if l != "" {
				out.WriteString("  " + sign + " " + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	i, j := 0, 0
	for _, c := range common(a, b) {
		put("-", a[i:c[0]])
		put("+", b[j:c[1]])
		i, j = c[0]+1, c[1]+1
	}
	put("-", a[i:])
	put("+", b[j:])
	return out.String()
}

// common is a longest common subsequence, as pairs of indices.
func common(a, b []string) (pairs [][2]int) {
	length := make([][]int, len(a)+1) // of what follows both indices
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
