package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// report is all results of a run, and where and when they were measured.
type report struct {
	side.Setup
	Results []result `json:"results"`
}

// result is a model's figures by side.
type result struct{ *side.Result }

// ours is the faster of our two programs; nil if neither ran.
func (r result) ours() *side.Figures { return r.Fastest(side.MedianOf, "ours", "ours_xnnpack") }

// ms is a time of a side in milliseconds with three digits.
func ms(f *side.Figures, of func(*side.Figures) float64) string {
	if f == nil || f.Error != "" {
		return "-"
	}
	return table.Digits(of(f) / 1e6)
}

// speedHead is the header of the table of times.
var speedHead = []string{"model", "threads", "ours ms", "ours xnnpack ms", "official ms", "onnx ms", "litert ms", "portable ms",
	"x official", "x onnx", "x litert", "x portable", "best: x official", "x onnx"}

func (r result) speedRow() []string {
	row := []string{r.Model, fmt.Sprint(r.Threads)}
	for _, s := range sides {
		if s != withAll {
			row = append(row, ms(r.Sides[s.Name], side.MedianOf))
		}
	}
	ours := r.ours()
	return append(row, table.Digits(r.Ratio(ours, "official", side.MedianOf)), table.Digits(r.Ratio(ours, "onnx", side.MedianOf)),
		table.Digits(r.Ratio(ours, "litert", side.MedianOf)),
		table.Digits(r.Ratio(r.Sides["ours"], "portable", side.MedianOf)),
		table.Digits(r.Ratio(ours, "official", side.BestOf)), table.Digits(r.Ratio(ours, "onnx", side.BestOf)))
}

// line is the result in a line, while others are still measured.
func (r result) line() string {
	s := fmt.Sprintf("%s, %d threads:", r.Model, r.Threads)
	for _, p := range sides {
		switch f := r.Sides[p.Name]; {
		case f == nil:
		case f.Error != "":
			s += " " + p.Name + " failed (" + f.Error + ")"
		default:
			s += " " + p.Name + " " + table.Digits(f.Median/1e6) + " ms"
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
			if mean := table.Geomean(list); !math.IsNaN(mean) {
				rows = append(rows, []string{strconv.Itoa(threads), w.name, table.Digits(mean), table.Digits(least), model})
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
		"ours reload ms", "official reload ms", "x official", "ours MiB", "official MiB", "onnx MiB over its base", "x official",
		"with xnnpack: load ms", "reload ms", "MiB", "with all kernels: load ms", "MiB"}}
	for _, r := range rep.Results {
		ours, official, onnx := r.Sides["ours"], r.Sides["official"], r.Sides["onnx"]
		xnnpack, all := r.Sides["ours_xnnpack"], r.Sides[withAll.Name]
		rows = append(rows, []string{r.Model, strconv.Itoa(r.Threads), ms(ours, side.LoadOf), ms(official, side.LoadOf), ms(onnx, side.LoadOf),
			table.Digits(r.Ratio(ours, "official", side.LoadOf)), ms(ours, side.ReloadOf), ms(official, side.ReloadOf),
			table.Digits(r.Ratio(ours, "official", side.ReloadOf)), mib(ours, 0), mib(official, 0), mib(onnx, 1), table.Digits(r.Ratio(ours, "official", side.PeakOf)),
			ms(xnnpack, side.LoadOf), ms(xnnpack, side.ReloadOf), mib(xnnpack, 0), ms(all, side.LoadOf), mib(all, 0)})
	}
	return rows
}

// mib is the most memory of a side, less so many times what it had before.
func mib(f *side.Figures, bases float64) string {
	if f == nil || f.Error != "" {
		return "-"
	}
	return table.Digits((f.Peak - bases*f.Base) / 1024)
}

// failures are what could not be measured.
func (rep *report) failures() [][]string {
	rows := [][]string{{"model", "threads", "side", "why"}}
	for _, r := range rep.Results {
		for _, s := range sides {
			if f := r.Sides[s.Name]; f != nil && f.Error != "" {
				rows = append(rows, []string{r.Model, strconv.Itoa(r.Threads), s.Name, strings.ReplaceAll(f.Error, "|", "/")})
			}
		}
	}
	return rows
}

func (rep *report) text() string {
	return table.Aligned(rep.speedTable()) + "\n" + table.Aligned(rep.meanTable()) + "\n" + table.Aligned(rep.loadTable())
}
