package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/bench/table"
)

// report is all results of a run, and where and when they were measured.
type report struct {
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	Load     string            `json:"load_average"`
	Results  []*result         `json:"results"`
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
func loadOf(f *figures) float64   { return f.Load }
func peakOf(f *figures) float64   { return f.Peak }

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

// speedTable are the times of all models.
func (rep *report) speedTable() [][]string {
	rows := [][]string{speedHead}
	for _, r := range rep.Results {
		rows = append(rows, r.speedRow())
	}
	return rows
}

// geomean of the values that are numbers; NaN of none.
func geomean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range list {
		if !math.IsNaN(x) {
			sum, n = sum+math.Log(x), n+1
		}
	}
	return math.Exp(sum / n)
}

// meanTable are the geometric means of the ratios, and the least of them.
func (rep *report) meanTable() [][]string {
	rows := [][]string{{"threads", "figure", "geomean", "least", "model"}}
	for _, threads := range rep.threads() {
		for _, w := range whats {
			var list []float64
			least, model := math.Inf(1), ""
			for _, r := range rep.Results {
				x := w.of(r)
				if r.Threads != threads {
					continue
				}
				if list = append(list, x); x < least {
					least, model = x, r.Model
				}
			}
			if mean := geomean(list); !math.IsNaN(mean) {
				rows = append(rows, []string{strconv.Itoa(threads), w.name, digits(mean), digits(least), model})
			}
		}
	}
	return rows
}

// threads are the numbers of threads among the results, in order.
func (rep *report) threads() []int {
	var list []int
	for _, r := range rep.Results {
		list = append(list, r.Threads)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// loadTable is what loading takes, and memory.
func (rep *report) loadTable() [][]string {
	rows := [][]string{{"model", "threads", "ours load ms", "official load ms", "onnx load ms", "x official",
		"ours MiB", "official MiB", "onnx MiB over its base", "x official"}}
	for _, r := range rep.Results {
		ours, official, onnx := r.ours(), r.Sides["official"], r.Sides["onnx"]
		rows = append(rows, []string{r.Model, strconv.Itoa(r.Threads), ms(ours, load(ours)), ms(official, load(official)), ms(onnx, load(onnx)),
			digits(r.ratio(ours, "official", loadOf)), mib(ours, 0), mib(official, 0), mib(onnx, 1), digits(r.ratio(ours, "official", peakOf))})
	}
	return rows
}

func load(f *figures) float64 {
	if f == nil {
		return 0
	}
	return f.Load
}

// mib is the most memory of a side, less so many times what it had before.
func mib(f *figures, bases float64) string {
	if f == nil || f.Error != "" {
		return "-"
	}
	return digits((f.Peak - bases*f.Base) / 1024)
}

// failures are what could not be measured.
func (rep *report) failures() [][]string {
	rows := [][]string{{"model", "side", "why"}}
	for _, r := range rep.Results {
		for _, s := range sides {
			if f := r.Sides[s.name]; f != nil && f.Error != "" {
				rows = append(rows, []string{r.Model, s.name, strings.ReplaceAll(f.Error, "|", "/")})
			}
		}
	}
	return rows
}

func (rep *report) text() string {
	return table.Aligned(rep.speedTable()) + "\n" + table.Aligned(rep.meanTable()) + "\n" + table.Aligned(rep.loadTable())
}
