package main

import (
	"fmt"
	"io"
	"strings"
)

// columns are the verdicts of a model, in order.
var columns = [...]string{"lowered", "ours", "official", "import", "xnnpack", "xnnpack-ours", "xnnpack-official", "xnnpack-import", "delegation", "quantized"}

// verdict is "ok", "fail", "none", or "" when it was not asked for.
type verdict struct {
	state, reason string
}

// row is a model's line.
type row struct {
	name     string
	verdicts [len(columns)]verdict
}

// board is the scoreboard, its models in alphabetical order.
type board []row

const header = `# What of the zoo works. Remake it with
#
#	go run ./tools/scoreboard --sets ZOO/ready:LARGER --python PYTHON --update
#
# lowered: pte lower makes a program; ours: it gives the goldens on our runtime; official: on the official runtime;
# import: the official ExecuTorch's portable.pte gives them on our runtime. xnnpack, xnnpack-ours, xnnpack-official and
# xnnpack-import: the same with what XNNPACK takes delegated to it; delegation: our partitioner takes at least what the
# official one takes: its share of multiply-accumulates is no lower, kernel calls left, partitions and bytes over the
# border are no more. quantized: results of quantized models with XNNPACK lie within one step of 8 bits of those of the
# official program on the official runtime. Three shares of exactly equal values are below: of our program on the
# official runtime, of our program on ours, and of the official program on ours. none: there is no program to run or
# compare with.

`

// String is the text of the scoreboard's file.
func (b board) String() string {
	width := len("model")
	for _, r := range b {
		width = max(width, len(r.name))
	}
	var s strings.Builder
	s.WriteString(header)
	s.WriteString(line(width, "model", columns[:]))
	for _, r := range b {
		s.WriteString(r.text(width))
	}
	return s.String()
}

func line(width int, name string, cells []string) string {
	s := fmt.Sprintf("%-*s", width, name)
	for i, c := range cells {
		s += fmt.Sprintf("  %-*s", max(8, len(columns[i])), c)
	}
	return strings.TrimRight(s, " ") + "\n"
}

func (r row) text(width int) string {
	var cells []string
	var reasons strings.Builder
	for i, v := range r.verdicts {
		cells = append(cells, v.state)
		if v.state == "" {
			cells[i] = "?"
		}
		if v.reason != "" {
			fmt.Fprintf(&reasons, "    %s: %s\n", columns[i], v.reason)
		}
	}
	return line(width, r.name, cells) + reasons.String()
}

// parseBoard reads what String wrote.
func parseBoard(text string) (board, error) {
	var b board
	for n, l := range strings.Split(text, "\n") {
		switch {
		case l == "" || l[0] == '#' || strings.HasPrefix(l, "model "):
		case l[0] == ' ':
			if len(b) == 0 || !b[len(b)-1].addReason(strings.TrimSpace(l)) {
				return nil, fmt.Errorf("line %d: reason of no verdict", n+1)
			}
		default:
			r, err := parseRow(l)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			b = append(b, r)
		}
	}
	return b, nil
}

func (r *row) addReason(l string) bool {
	column, reason, _ := strings.Cut(l, ": ")
	for i, c := range columns {
		if c == column {
			r.verdicts[i].reason = reason
			return true
		}
	}
	return false
}

func parseRow(l string) (row, error) {
	f := strings.Fields(l)
	if len(f) != 1+len(columns) {
		return row{}, fmt.Errorf("%d columns, not %d", len(f), 1+len(columns))
	}
	r := row{name: f[0]}
	for i, s := range f[1:] {
		if s != "ok" && s != "fail" && s != "none" {
			return row{}, fmt.Errorf("unknown verdict %q", s)
		}
		r.verdicts[i].state = s
	}
	return r, nil
}

// compareBoards prints every verdict of got that is not as in want, then how many are as there and how many are not.
// Reasons are not compared: they are for people. It gives whether all are as in want.
func compareBoards(want, got board, w io.Writer) bool {
	listed := map[string]row{}
	for _, r := range want {
		listed[r.name] = r
	}
	var passed, failed int
	for _, r := range got {
		p, f := compareRows(listed[r.name], r, w)
		passed, failed = passed+p, failed+f
		delete(listed, r.name)
	}
	for _, r := range want {
		if _, gone := listed[r.name]; gone {
			fmt.Fprintf(w, "%s: listed, but there is no such model\n", r.name)
			failed += len(columns)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed == 0
}

func compareRows(want, got row, w io.Writer) (passed, failed int) {
	for i, g := range got.verdicts {
		l := want.verdicts[i]
		switch {
		case g.state == "":
		case g.state == l.state:
			passed++
		default:
			failed++
			fmt.Fprintln(w, difference(got.name+": "+columns[i], l, g))
		}
	}
	return passed, failed
}

func difference(what string, want, got verdict) string {
	switch {
	case want.state == "":
		return fmt.Sprintf("%s: not listed, now %s", what, got.state)
	case got.state == "ok":
		return fmt.Sprintf("%s: listed as %s, but ok now: remake the scoreboard", what, want.state)
	case got.reason != "":
		return fmt.Sprintf("%s: %s, was %s: %s", what, got.state, want.state, got.reason)
	}
	return fmt.Sprintf("%s: %s, was %s", what, got.state, want.state)
}
