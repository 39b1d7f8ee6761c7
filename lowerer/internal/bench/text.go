package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// three is a number with three digits.
func three(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	places := min(max(2-int(math.Floor(math.Log10(math.Abs(x)))), 0), 4)
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Took is a time with three digits: "1.77 ms".
func Took(ns int64) string {
	x, unit := float64(ns), "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if x < 999.5 {
			break
		}
		x, unit = max(x/1e3, 1), next
	}
	if x == 0 {
		return "0 ns"
	}
	return three(x) + " " + unit
}

// percent is a share in percent.
func percent(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	return strconv.FormatFloat(100*x, 'f', 1, 64)
}

// Size is a number of bytes in units of 1024.
func Size(n int64) string {
	x, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB"} {
		if x < 1024 {
			break
		}
		x, unit = x/1024, next
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + unit
}

// columns sets rows below each other: the first left columns to the left, the others to the right.
func columns(rows [][]string, left int) string {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i > 0 {
				line += "  "
			}
			if i < left {
				line += fmt.Sprintf("%-*s", width[i], cell)
			} else {
				line += fmt.Sprintf("%*s", width[i], cell)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
