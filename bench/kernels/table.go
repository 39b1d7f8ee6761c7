package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// report is all rows of a run, and where and when they were measured.
type report struct {
	side.Setup
	Threads int    `json:"threads"`
	Peaks   *peaks `json:"peaks"`
	Rows    []*row `json:"rows"`
}

// goals are the geometric means that the project wants by area; others have none.
var goals = map[string]string{
	"product": "1.03", "convolution": "1.00", "depthwise": "2.5", "int8": "1.05", "product of a row": "1.0", "int4": "1.3", "function": "1.0",
	"normalization": "1.0", "arithmetic": "1.0",
}

// µs is a side's time in microseconds.
func µs(f *side.Figures) string {
	if f == nil || f.Error != "" {
		return "-"
	}
	return table.Digits(f.Best / 1e3)
}

// percent is a part in percent; "-" for NaN.
func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.0f", 100*x)
}

// speed is what a side does in a second, and the unit.
func (r *row) speed(f *side.Figures) (speed, unit string) {
	work, unit := r.Bytes, "GB/s"
	if r.Ops > 0 {
		work, unit = r.Ops, "GFLOP/s"
	}
	if r.Ops > 0 && r.Integers {
		unit = "GOP/s"
	}
	if f == nil || f.Error != "" {
		return "-", unit
	}
	return table.Digits(work / f.Best), unit
}

// line is the row in a line, while others are still measured.
func (r *row) line() string {
	s := r.Name + ":"
	for _, side := range sides {
		f := r.Sides[side.Name]
		if s += " " + side.Name + " " + µs(f) + " µs"; f.Error != "" {
			s += " (" + f.Error + ")"
		}
	}
	return s
}

// byRow is a table of all rows.
func (rep *report) byRow() [][]string {
	rows := [][]string{{"operator", "ours µs", "same program µs", "official µs", "x official", "best speed", "unit", "limit", "best %", "official %"}}
	for _, r := range rep.Rows {
		speed, unit := r.speed(r.ours())
		rows = append(rows, []string{r.Name, µs(r.Sides["ours"]), µs(r.Sides["same"]), µs(r.Sides["official"]), table.Digits(r.times()), speed, unit,
			r.Limit, percent(r.peak(r.ours())), percent(r.peak(r.Sides["official"]))})
	}
	return rows
}

// byArea is a table of the geometric means.
func (rep *report) byArea() [][]string {
	var areas []string
	for _, r := range rep.Rows {
		if !slices.Contains(areas, r.Area) {
			areas = append(areas, r.Area)
		}
	}
	rows := [][]string{{"area", "operators", "x official", "wanted", "least", "of"}}
	var all []float64
	for _, area := range areas {
		var list []float64
		least, name := math.Inf(1), "-"
		for _, r := range rep.Rows {
			if r.Area != area {
				continue
			}
			if list = append(list, r.times()); r.times() < least {
				least, name = r.times(), r.Name
			}
		}
		goal := goals[area]
		if goal == "" {
			goal = "-"
		}
		rows = append(rows, []string{area, fmt.Sprint(len(list)), table.Digits(table.Geomean(list)), goal, table.Digits(least), name})
		all = append(all, list...)
	}
	return append(rows, []string{"all", fmt.Sprint(len(all)), table.Digits(table.Geomean(all)), "-", "-", "-"})
}

// failures are what could not be measured.
func (rep *report) failures() [][]string {
	rows := [][]string{{"operator", "side", "why"}}
	for _, r := range rep.Rows {
		for _, s := range sides {
			if f := r.Sides[s.Name]; f.Error != "" {
				rows = append(rows, []string{r.Name, s.Name, strings.ReplaceAll(f.Error, "|", "/")})
			}
		}
	}
	return rows
}

func (rep *report) text() string {
	return table.Aligned(rep.byRow()) + "\n" + table.Aligned(rep.byArea())
}

// The page's text before and after where and when it was measured.
const (
	intro = `# Benchmarks of kernels

Single operators beside XNNPACK's and the official runtime's, made by

    go run ./bench/kernels --python PYTHON --markdown docs/kernels-bench.md

Shortest calls of `
	legend = `
"Ours" is our program without a delegate, "same program" the official one, with XNNPACK where it takes the operator, on our
runtime, and "official" that on the official runtime. "x official" is the official time over the shorter one of ours, so more
than 1 is faster. The best speed is that of the shorter one of ours, in operations of float32 or int8 where there are products, else in bytes read and written.
"Limit" is what bounds it, as ` + "`pte hwbench`" + ` measures it: float32 multiply-adds (fma), int8 dot products (dot), or reading as
many bytes (read); the percents are of that, and above 100 where a cache has a part of them, or where Winograd's algorithm
multiplies less often than the definition of a convolution, which counts here. Weights count with the bits they are stored in.
All programs plan room for inputs: the official runtime copies them there at each call, ours reads them where they are. Static int8 converts
float32 on both sides of the operator. Images have their channels innermost. "Wanted" is the target that the project
set itself. Where "ours" takes much longer than "same program", as pools with indices do, partition to XNNPACK.
`
)

// machine is what the machine can do at most, in a line.
func (rep *report) machine() string {
	p := rep.Peaks
	s := fmt.Sprintf("Threads: %d, of the tier %s: float32 %s GFLOP/s, int8 %s GOP/s, read", rep.Threads, p.Tier, table.Digits(p.FLOPS/1e9), table.Digits(p.Ops/1e9))
	for _, r := range p.Reads {
		s += fmt.Sprintf(" %s GB/s of %.0f KiB,", table.Digits(r.Speed/1e9), r.Bytes/1024)
	}
	return strings.TrimSuffix(s, ",") + "."
}

// page is docs/kernels-bench.md.
func (rep *report) page() string {
	s := intro + rep.Setup.Text() + rep.machine() + "\n" + legend
	s += "\n## By area\n\n" + table.Markdown(rep.byArea()) + "\n## By operator\n\n" + table.Markdown(rep.byRow())
	if rows := rep.failures(); len(rows) > 1 {
		s += "\n## Not measured\n\n" + table.Markdown(rows)
	}
	return s
}
