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
	s := rep.Machine.text() + fmt.Sprintf("\n%s, %s: load %s, %d runs, min %s, median %s, p95 %s", rep.Program, rep.Method,
		Took(rep.LoadNS), rep.Runs, Took(rep.MinNS), Took(rep.MedianNS), Took(rep.P95NS))
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
	return s + fmt.Sprintf("\nthe longest of %d kernels\n\n", len(rep.Kernels)) + table("kernel", longest, true)
}

// disturbed is how many times as long as the shortest call one in twenty takes where something else uses the machine.
const disturbed = 1.5

// about says what the calls were given, and whether the machine did something else meanwhile.
func (rep *Report) about() (s string) {
	if rep.Made && len(rep.Inputs) > 0 {
		s = "inputs made, of the largest sizes: " + strings.Join(rep.Inputs, ", ") + "; --input or --case give others\n"
	}
	if slow := float64(rep.P95NS) / float64(max(rep.MinNS, 1)); rep.Runs >= 20 && slow > disturbed {
		s += fmt.Sprintf("the machine is busy: one call in twenty took %s times as long as the shortest, or longer\n", three(slow))
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
	cells := [][]string{first}
	for i := range rows {
		r := &rows[i]
		speed, unit := r.speed(kernels)
		row := []string{r.title(), fmt.Sprint(r.Calls), three(float64(r.NS) / 1e3), percent(r.Share), speed, unit, r.Limit, percent(r.Peak)}
		if kernels {
			row = slices.Insert(row, 1, r.place(), r.Result)
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
