package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// report is all results of a run.
type report struct {
	Results []*result `json:"results"`
}

// ours is the faster of our two programs; nil if neither ran.
func (r *result) ours() *figures {
	var best *figures
	for _, name := range []string{"ours", "ours_xnnpack"} {
		f := r.Sides[name]
		if f != nil && f.Error == "" && (best == nil || f.Median < best.Median) {
			best = f
		}
	}
	return best
}

// ratio is how many times the other side's median is ours; NaN where there is none.
func (r *result) ratio(ours *figures, other string, of func(*figures) float64) float64 {
	f := r.Sides[other]
	if f == nil || f.Error != "" || ours == nil || of(f) == 0 {
		return math.NaN()
	}
	return of(f) / of(ours)
}

func medianOf(f *figures) float64 { return f.Median }
func bestOf(f *figures) float64   { return f.Best }

// ms is a time in milliseconds with three digits.
func ms(f *figures, ns float64) string {
	if f == nil || f.Error != "" {
		return "-"
	}
	return digits(ns / 1e6)
}

// digits is a number with three digits.
func digits(x float64) string {
	if math.IsNaN(x) || x <= 0 {
		return "-"
	}
	places := min(max(2-int(math.Floor(math.Log10(x))), 0), 6)
	return strconv.FormatFloat(x, 'f', places, 64)
}

// speedHead is the header of the table of times.
var speedHead = []string{"model", "threads", "ours ms", "ours xnnpack ms", "official ms", "onnx ms", "portable ms",
	"x official", "x onnx", "x portable", "best: x official", "x onnx"}

func (r *result) speedRow() []string {
	row := []string{r.Model, fmt.Sprint(r.Threads)}
	for _, s := range sides {
		f := r.Sides[s.name]
		t := 0.0
		if f != nil {
			t = f.Median
		}
		row = append(row, ms(f, t))
	}
	ours := r.ours()
	return append(row, digits(r.ratio(ours, "official", medianOf)), digits(r.ratio(ours, "onnx", medianOf)),
		digits(r.ratio(r.Sides["ours"], "portable", medianOf)),
		digits(r.ratio(ours, "official", bestOf)), digits(r.ratio(ours, "onnx", bestOf)))
}

// line is the result in a line, while others are still measured.
func (r *result) line() string {
	s := fmt.Sprintf("%s, %d threads:", r.Model, r.Threads)
	for _, side := range sides {
		switch f := r.Sides[side.name]; {
		case f == nil:
		case f.Error != "":
			s += " " + side.name + " failed (" + f.Error + ")"
		default:
			s += " " + side.name + " " + digits(f.Median/1e6) + " ms"
		}
	}
	return s
}

func (rep *report) text() string {
	rows := [][]string{speedHead}
	for _, r := range rep.Results {
		rows = append(rows, r.speedRow())
	}
	return aligned(rows)
}

// aligned is the rows with columns below each other: the first to the left, the others to the right.
func aligned(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&b, "%-*s", width[0], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", width[i], cell)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
