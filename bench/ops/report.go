package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/rules-pte/rules_pte/bench/table"
)

func (r *row) summary() string {
	s := fmt.Sprintf("%s: %.3f ns", r.Call, r.perElement(r.Ours))
	if r.Other > 0 {
		s += fmt.Sprintf(", %.2f times faster", r.speed())
	}
	return s
}

// otherName is the other side's name; without one the column has the official runtime's.
func (r *result) otherName() string { return cmp.Or(r.Beside, "official") }

// byFamily is a table with one row a family: the geometric means.
func (r *result) byFamily() *table.Table {
	t := &table.Table{Title: "operators by family"}
	t.Add("family", "calls", "ours ns/element", r.otherName()+" ns/element", "times faster", "least", "slower calls")
	for _, f := range families {
		var s summary
		for _, row := range r.Rows {
			if row.Family == f.name {
				s.add(row)
			}
		}
		if s.calls > 0 {
			t.Add(append([]string{f.name}, s.cells()...)...)
		}
	}
	return t
}

// summary is what a family's rows have in common. Where the other side is measured, means are over those rows.
type summary struct {
	calls, compared, slower          int
	ours, oursCompared, other, least float64 // the first three sums of logarithms
}

func (s *summary) add(r *row) {
	s.calls++
	ours := math.Log(r.perElement(r.Ours))
	s.ours += ours
	if r.Other == 0 {
		return
	}
	s.compared++
	s.oursCompared += ours
	s.other += math.Log(r.perElement(r.Other))
	if s.least == 0 || r.speed() < s.least {
		s.least = r.speed()
	}
	if r.speed() < 1 {
		s.slower++
	}
}

func (s *summary) cells() []string {
	n := float64(s.compared)
	if n == 0 {
		return []string{fmt.Sprint(s.calls), ns(math.Exp(s.ours / float64(s.calls))), "-", "-", "-", "-"}
	}
	return []string{
		fmt.Sprint(s.calls), ns(math.Exp(s.oursCompared / n)), ns(math.Exp(s.other / n)),
		times(math.Exp((s.other - s.oursCompared) / n)), times(s.least), fmt.Sprint(s.slower),
	}
}

// byCall is a table with every call.
func (r *result) byCall() *table.Table {
	t := &table.Table{Title: "operators by call"}
	t.Add("call", "ours ns/element", r.otherName()+" ns/element", "times faster")
	for _, row := range r.Rows {
		if row.Other == 0 {
			t.Add(row.Call, ns(row.perElement(row.Ours)), "-", "-")
			continue
		}
		t.Add(row.Call, ns(row.perElement(row.Ours)), ns(row.perElement(row.Other)), times(row.speed()))
	}
	return t
}

func ns(x float64) string { return fmt.Sprintf("%.3f", x) }

func times(x float64) string { return fmt.Sprintf("%.2f", x) }

// notes say under which conditions it was measured.
func (r *result) notes() string {
	s := fmt.Sprintf("The shortest of the runs in %d turns, one thread, on %s/%s. An element is one of the call's largest tensor.\n",
		r.Rounds, runtime.GOOS, runtime.GOARCH)
	if load := table.LoadAverage(); load != "" {
		s += "The load average was " + load + " at the end.\n"
	}
	if r.Beside == "" {
		return s + "Without --python the official runtime was not measured.\n"
	}
	for _, row := range r.Rows {
		if row.Refusal != "" {
			s += fmt.Sprintf("The %s runtime does not run %s: %s\n", r.Beside, row.Call, row.Refusal)
		}
	}
	return s
}

// text is what is printed.
func (r *result) text() string { return r.byCall().Text() + r.byFamily().Text() + r.notes() }

// page is the section of docs/operators.md.
func (r *result) page() string {
	var b strings.Builder
	b.WriteString("# Benchmarks of operators\n\nMade by `go run ./bench/ops --python PYTHON --markdown docs/operators.md`.\n\n" + r.notes() + "\n")
	return b.String() + r.byFamily().Markdown() + r.byCall().Markdown()
}
