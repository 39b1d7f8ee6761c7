package table

import (
	"math"
	"slices"
	"strconv"
)

// Digits is a number with three digits; "-" for what is no number, infinite or not above 0.
func Digits(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
		return "-"
	}
	places := min(max(2-int(math.Floor(math.Log10(x))), 0), 6)
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Median is the middle of the numbers; NaN of none.
func Median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Geomean is the geometric mean of those that are numbers; NaN of none.
func Geomean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range list {
		if !math.IsNaN(x) {
			sum, n = sum+math.Log(x), n+1
		}
	}
	return math.Exp(sum / n)
}
