package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

const sizesHead = "# Bytes of what was built. Made by pte_size_test.\n"

// row is something that has a size in bytes.
type row struct {
	name  string
	bytes int64
}

// runSize holds sizes against budgets, and against a committed text whose rows may grow by a share.
func runSize(out io.Writer, args []string) error {
	var t test
	var budgets list
	f := t.flags("size")
	program := f.String("program", "", "a program")
	report := f.String("report", "", "the report of its lowering")
	binary := f.String("binary", "", "a runtime")
	growth := f.Float64("growth", 0, "percent by which a row may grow")
	f.Var(&budgets, "budget", "row=bytes that it may have; the bytes may end in Ki or Mi")
	if err := f.Parse(args); err != nil {
		return err
	}
	rows, err := measure(*program, *report, *binary)
	if err != nil {
		return fmt.Errorf("%s: %w", t.target, err)
	}
	if t.update {
		return t.write(sizesText(rows))
	}
	old, err := t.committed()
	if err != nil {
		return err
	}
	fmt.Fprint(out, sizesText(rows))
	errs := overBudget(rows, budgets)
	if grown := tooLarge(rows, old, *growth); len(grown) > 0 {
		errs = append(errs, fmt.Errorf("over %s by more than %v %%:\n%s%s", t.source, *growth, strings.Join(grown, ""), t.accept()))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w%s", t.target, errors.Join(errs...), growthText(rows, old))
}

// measure gives the rows of a program, a runtime, or both.
func measure(program, report, binary string) (rows []row, err error) {
	if program != "" {
		if rows, err = programRows(program, report); err != nil {
			return nil, err
		}
	}
	if binary != "" {
		more, err := binaryRows(binary)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// programRows are a program's file, constants and arenas, and the payloads of each backend.
func programRows(program, report string) ([]row, error) {
	info, err := os.Stat(program)
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	p, err := readProgram(program)
	if err != nil {
		return nil, err
	}
	var said struct {
		ArenaBytes int64 `json:"arena_bytes"`
	}
	text, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	rows := []row{{"file_bytes", info.Size()}, {"arena_bytes", said.ArenaBytes}, {"constant_bytes", 0}}
	for _, b := range p.ConstantBuffers {
		rows[2].bytes += int64(len(b))
	}
	payloads := map[string]int64{}
	for _, plan := range p.Plans {
		for _, d := range plan.Delegates {
			payloads[d.ID] += int64(len(p.DelegateData[d.Processed]))
		}
	}
	for _, n := range p.NamedData {
		rows = append(rows, row{"data " + n.Key, int64(len(n.Data))})
	}
	for id, n := range payloads {
		rows = append(rows, row{"backend " + id, n})
	}
	slices.SortFunc(rows[3:], func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows, nil
}

// sizesText is a line for each row.
func sizesText(rows []row) string {
	var b strings.Builder
	b.WriteString(sizesHead)
	for _, r := range rows {
		fmt.Fprintf(&b, "%-14s %d\n", r.name, r.bytes)
	}
	return b.String()
}

// committed are the rows of the committed text; without one there are none.
func (t *test) committed() (map[string]int64, error) {
	rows := map[string]int64{}
	if t.expected == "" {
		return rows, nil
	}
	text, err := os.ReadFile(t.expected)
	if err != nil {
		return nil, fmt.Errorf("%s: read sizes: %w", t.target, err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if err != nil || i < 0 {
			return nil, fmt.Errorf("%s: read %s: line %q: want a name and bytes", t.target, t.source, line)
		}
		rows[strings.TrimSpace(line[:i])] = n
	}
	return rows, nil
}

// overBudget are the budgets that are not kept, or that name no row.
func overBudget(rows []row, budgets []string) (errs []error) {
	for _, b := range budgets {
		name, text, _ := strings.Cut(b, "=")
		limit, err := parseBytes(text)
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("budgets: %q: %q is no number of bytes, such as 4096, 64Ki or 2Mi", name, text))
		case i < 0:
			errs = append(errs, fmt.Errorf("budgets: nothing is called %q; there is %s", name, names(rows)))
		case rows[i].bytes > limit:
			errs = append(errs, fmt.Errorf("%s is %d bytes, %d over its budget of %s", name, rows[i].bytes, rows[i].bytes-limit, text))
		}
	}
	return errs
}

// parseBytes reads a number of bytes, which may end in Ki or Mi.
func parseBytes(s string) (int64, error) {
	digits, unit := s, int64(1)
	if d, ok := strings.CutSuffix(s, "Ki"); ok {
		digits, unit = d, 1<<10
	} else if d, ok := strings.CutSuffix(s, "Mi"); ok {
		digits, unit = d, 1<<20
	}
	n, err := strconv.ParseInt(digits, 10, 40)
	return n * unit, err
}

func names(rows []row) string {
	var all []string
	for _, r := range rows {
		all = append(all, r.name)
	}
	return strings.Join(all, ", ")
}

// tooLarge are lines for the rows that grew by more than a share, and for those that are new or gone. A package's own code is
// no such row: what counts is the binary.
func tooLarge(rows []row, old map[string]int64, percent float64) (lines []string) {
	if len(old) == 0 {
		return nil
	}
	for _, r := range rows {
		was, ok := old[r.name]
		switch {
		case strings.HasPrefix(r.name, packagePrefix):
		case !ok:
			lines = append(lines, fmt.Sprintf("  %s is new, with %d bytes\n", r.name, r.bytes))
		case float64(r.bytes) > float64(was)*(1+percent/100):
			lines = append(lines, fmt.Sprintf("  %s was %d bytes and is %d\n", r.name, was, r.bytes))
		}
	}
	return lines
}

// growthText lists what is larger than committed, the largest growth first.
func growthText(rows []row, old map[string]int64) string {
	var grown []row
	for _, r := range rows {
		if d := r.bytes - old[r.name]; d > 0 && len(old) > 0 {
			grown = append(grown, row{r.name, d})
		}
	}
	if len(grown) == 0 {
		return ""
	}
	slices.SortStableFunc(grown, func(a, b row) int { return int(b.bytes - a.bytes) })
	var b strings.Builder
	b.WriteString("\nwhat grew:")
	for _, g := range grown[:min(len(grown), 20)] {
		fmt.Fprintf(&b, "\n  %+9d  %s", g.bytes, g.name)
	}
	return b.String()
}
