package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/rules-pte/rules_pte/bench/table"
)

// oursParts are pte lower's parts, in order; officialParts the official exporter's.
var (
	oursParts     = []string{"cue", "load", "passes", "emit", "pack", "write"}
	officialParts = []string{"load", "edge", "executorch", "write"}
)

func (r *result) tables() []*table.Table {
	out := []*table.Table{r.comparison(), r.parts("pte lower by part, ms", oursParts, func(c *comparison) *sample { return &c.Ours })}
	if r.Python != nil {
		out = append(out, r.parts("official exporter by part, ms", officialParts, func(c *comparison) *sample { return c.Official }))
	}
	if len(r.Heap) > 0 {
		out = append(out, r.growth())
	}
	return out
}

func (r *result) comparison() *table.Table {
	t := &table.Table{Title: "lowering"}
	t.Add("model", "ours s", "official s", "times faster", "ours cpu s", "official cpu s", "ours MiB", "official MiB", "share of memory")
	for _, c := range r.Models {
		o := c.Official
		if o == nil {
			t.Add(c.Name, seconds(c.Ours.Seconds), "-", "-", seconds(c.Ours.CPU), "-", mib(c.Ours.PeakMiB), "-", "-")
			continue
		}
		t.Add(c.Name, seconds(c.Ours.Seconds), seconds(o.Seconds), fmt.Sprintf("%.0f", c.speed()), seconds(c.Ours.CPU), seconds(o.CPU),
			mib(c.Ours.PeakMiB), mib(o.PeakMiB), fmt.Sprintf("%.0f %%", 100*c.Ours.PeakMiB/o.PeakMiB))
	}
	return t
}

// parts is the time of each part of one side's lowering.
func (r *result) parts(title string, names []string, side func(*comparison) *sample) *table.Table {
	t := &table.Table{Title: title}
	t.Add(append([]string{"model"}, names...)...)
	for i := range r.Models {
		row := []string{r.Models[i].Name}
		for _, name := range names {
			cell := "-"
			if s := side(&r.Models[i]); s != nil {
				cell = fmt.Sprintf("%.1f", 1e3*s.Parts[name])
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

func (r *result) growth() *table.Table {
	t := &table.Table{Title: "one graph, more weights"}
	t.Add("weights MB", "allocated on the heap MiB", "peak MiB with mapped pages", "s")
	for _, g := range r.Heap {
		t.Add(fmt.Sprint(g.WeightBytes/1e6), mib(g.Ours.HeapMiB), mib(g.Ours.PeakMiB), seconds(g.Ours.Seconds))
	}
	return t
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

func mib(n float64) string { return fmt.Sprintf("%.0f", n) }

// text is what is printed.
func (r *result) text() string {
	var b strings.Builder
	for _, t := range r.tables() {
		b.WriteString(t.Text())
	}
	return b.String() + r.notes()
}

// page is docs/lowering.md.
func (r *result) page() string {
	var b strings.Builder
	b.WriteString("# Benchmarks of lowering\n\nMade by `go run ./bench/lowering --models DIR --python PYTHON --markdown docs/lowering.md`" +
		" on the models that\nthe zoo's `export.py` makes.\n\n" + r.notes() + "\n")
	for _, t := range r.tables() {
		b.WriteString(t.Markdown())
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// notes say under which conditions it was measured.
func (r *result) notes() string {
	s := fmt.Sprintf("Medians of %d, the two sides in turns, on %s/%s with %d cores. Ours is the whole process.\n",
		r.Rounds, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if load := table.LoadAverage(); load != "" {
		s += "The load average was " + load + " at the end; processor time does not depend on it.\n"
	}
	if r.Python != nil {
		s += fmt.Sprintf("The official exporter's imports, %.1f s and %.0f MiB at their peak, are not in its times.\n",
			r.Python.Seconds, r.Python.PeakMiB)
	}
	for _, c := range r.Models {
		if c.Refusal != "" {
			s += fmt.Sprintf("The official exporter does not lower %s: %s\n", c.Name, c.Refusal)
		}
	}
	return s
}
