package bench

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// shown is how many kernels the text has.
const shown = 20

// Write prints the report.
func (rep *Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(rep)
	}
	_, err := io.WriteString(w, rep.text())
	return err
}

func (rep *Report) text() string {
	s := rep.Machine.text() + fmt.Sprintf("\n%s, %s: load %s, %s, min %s, median %s, p95 %s", rep.Program, rep.Method,
		rep.load(), counted(rep.Runs, "call"), Took(rep.MinNS), Took(rep.MedianNS), Took(rep.P95NS))
	if rep.MACs > 0 {
		s += fmt.Sprintf(", %s GFLOP/s", three(2*float64(rep.MACs)/float64(rep.MedianNS)))
	}
	s += "\n" + rep.about()
	s += "\n" + table("operator", rep.Operators, false)
	longest := slices.Clone(rep.Kernels)
	slices.SortStableFunc(longest, func(a, b Row) int { return int(b.NS - a.NS) })
	if len(longest) > shown {
		longest = longest[:shown]
	}
	head := fmt.Sprintf("%d longest of %s", len(longest), counted(len(rep.Kernels), "kernel"))
	if len(longest) == len(rep.Kernels) {
		head = counted(len(longest), "kernel")
	}
	return s + "\n" + head + "\n\n" + table("kernel", longest, true)
}

// load is how long a load takes, and of how many that is the median.
func (rep *Report) load() string {
	if rep.Loads == 1 {
		return Took(rep.LoadNS)
	}
	return fmt.Sprintf("%s (median of %d)", Took(rep.LoadNS), rep.Loads)
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// disturbed is how many times as long as the fastest call one in twenty takes where something else may use the machine.
const disturbed = 1.5

// about says what became of a weight cache, what the calls were given, and whether their times vary.
func (rep *Report) about() (s string) {
	if rep.WeightCache != "" {
		s = "weight cache: " + rep.WeightCache + "\n"
	}
	if rep.Made && len(rep.Inputs) > 0 {
		s += "inputs made, of the largest sizes: " + strings.Join(rep.Inputs, ", ") + "; --input or --case give others\n"
	}
	if rep.Spread > 0 {
		s += fmt.Sprintf("times vary: the slowest calls took %s times as long as the fastest; if something else runs, wait for it and try again\n", three(rep.Spread))
	}
	return s
}

// table is the rows as text, with places and results if they are kernels.
func table(head string, rows []Row, kernels bool) string {
	first := []string{head, "calls", "µs", "share %", "speed", "", "limit", "peak %"}
	left := 1
	if kernels {
		first = slices.Insert(first, 1, "at", "result")
		left = 3
	}
	windows := kernels && slices.ContainsFunc(rows, func(r Row) bool { return r.Window != "" })
	if windows {
		first = slices.Insert(first, left, "window")
		left++
	}
	cells := [][]string{first}
	for i := range rows {
		r := &rows[i]
		speed, unit := r.speed(kernels)
		row := []string{r.title(), fmt.Sprint(r.Calls), three(float64(r.NS) / 1e3), percent(r.Share), speed, unit, r.Limit, percent(r.Peak)}
		if kernels {
			row = slices.Insert(row, 1, r.place(), r.Result)
		}
		if windows {
			row = slices.Insert(row, left-1, r.Window)
		}
		cells = append(cells, row)
	}
	return columns(cells, left)
}

func (row *Row) title() string {
	if row.Backend == "" {
		return row.Name
	}
	return row.Backend + " " + row.Name
}

// place is instruction and step, with the chain before them if it is not the first.
func (row *Row) place() string {
	s := fmt.Sprint(row.Place[1])
	if row.Place[2] > 0 {
		s += fmt.Sprintf(".%d", row.Place[2])
	}
	if row.Place[0] > 0 {
		s = fmt.Sprintf("%d:", row.Place[0]) + s
	}
	return s
}

//go:embed page.html
var pages embed.FS

// WritePage writes the report as one page of HTML that needs nothing else.
func (rep *Report) WritePage(w io.Writer) error {
	page, err := pages.ReadFile("page.html")
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	data, err := json.Marshal(rep) // which writes < as \u003c, so that no text ends the script
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	_, err = io.WriteString(w, strings.Replace(string(page), "REPORT", string(data), 1))
	return err
}
