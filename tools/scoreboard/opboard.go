package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// opVerdict is the verdict of a program of the conformance set; its state is "ok", "fail" or "skip".
type opVerdict struct {
	op, id, class, dtype string
	official             bool // the official portable path is right
	verdict
}

// opBoard is the table of operators, in order.
type opBoard []opVerdict

const opHeader = `# What of the operator conformance set works. Remake it with
#
#	go run ./tools/scoreboard conformance --sets CONFORMANCE/ops --update
#
# A program is ok if it lowers and gives PyTorch's results on our runtime. The official column counts those that the
# official exporter and runtime get right. Below the totals: each operator with how many of its programs are ok, and
# those that are not.

`

// owed are the classes that a score counts.
var owed = []string{"plain", "edge", "dynamic"}

// tally counts the programs of a group.
type tally struct{ programs, ok, skipped, official int }

func (t *tally) add(v *opVerdict) {
	t.programs++
	if v.state == "ok" {
		t.ok++
	}
	if v.state == "skip" {
		t.skipped++
	}
	if v.official {
		t.official++
	}
}

func (t *tally) line(name string) string {
	share := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(t.programs)) }
	return fmt.Sprintf("# %-16s %8d %8d %8s %8d %8d %8s\n", name, t.programs, t.ok, share(t.ok), t.skipped, t.official, share(t.official))
}

// totals are the lines with sums: of each class, of the classes that count, and of each dtype and family of these.
func (b opBoard) totals() string {
	class, dtype, family, all := map[string]*tally{}, map[string]*tally{}, map[string]*tally{}, &tally{}
	count := func(m map[string]*tally, key string, v *opVerdict) {
		if m[key] == nil {
			m[key] = &tally{}
		}
		m[key].add(v)
	}
	for i := range b {
		count(class, b[i].class, &b[i])
		if slices.Contains(owed, b[i].class) {
			count(dtype, b[i].dtype, &b[i])
			count(family, familyOf(b[i].op), &b[i])
			all.add(&b[i])
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, "# %-16s %8s %8s %8s %8s %8s %8s\n", "class", "programs", "ok", "share", "skipped", "official", "share")
	write := func(m map[string]*tally) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			s.WriteString(m[name].line(name))
		}
	}
	write(class)
	if all.programs > 0 {
		s.WriteString(all.line("all that count"))
	}
	for _, m := range []map[string]*tally{dtype, family} {
		s.WriteString("#\n")
		write(m)
	}
	return s.String()
}

// String is the text of the table's file.
func (b opBoard) String() string {
	var s strings.Builder
	s.WriteString(opHeader + b.totals() + "\n")
	for len(b) > 0 {
		n := slices.IndexFunc(b, func(v opVerdict) bool { return v.op != b[0].op })
		if n < 0 {
			n = len(b)
		}
		s.WriteString(b[:n].group())
		b = b[n:]
	}
	return s.String()
}

// group is the text of one operator.
func (b opBoard) group() string {
	var t tally
	var s strings.Builder
	for i := range b {
		t.add(&b[i])
		if b[i].state != "ok" {
			fmt.Fprintf(&s, "    %s %s: %s\n", b[i].state, b[i].id, b[i].reason)
		}
	}
	return fmt.Sprintf("%-48s %d of %d\n", b[0].op, t.ok, t.programs) + s.String()
}

// listedOp is what the file says of an operator: how many programs there are, and the states of those that are not ok.
type listedOp struct {
	programs int
	states   map[string]string // by id
}

// parseOps reads what String wrote.
func parseOps(text string) (map[string]*listedOp, error) {
	ops := map[string]*listedOp{}
	var last *listedOp
	for n, l := range strings.Split(text, "\n") {
		f := strings.Fields(l)
		switch {
		case l == "" || l[0] == '#':
		case l[0] == ' ' && last != nil && len(f) >= 2:
			last.states[strings.TrimSuffix(f[1], ":")] = f[0]
		case l[0] != ' ' && len(f) == 4:
			last = &listedOp{states: map[string]string{}}
			if _, err := fmt.Sscan(f[3], &last.programs); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			ops[f[0]] = last
		default:
			return nil, fmt.Errorf("line %d: want an operator, or a program below one", n+1)
		}
	}
	return ops, nil
}

// compareOps prints every verdict of got that is not as listed, then how many are as there and how many are not. It
// gives whether all are as listed. Operators that got does not have are left out: it may be a part of the set.
func compareOps(listed map[string]*listedOp, got opBoard, w io.Writer) bool {
	failed := 0
	for i := range got {
		v := &got[i]
		l := listed[v.op]
		want := verdict{}
		if l != nil {
			want.state = "ok"
			if s := l.states[v.id]; s != "" {
				want.state = s
			}
		}
		if v.state != want.state {
			failed++
			fmt.Fprintln(w, difference(v.op+" "+v.id, want, v.verdict))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", len(got)-failed, failed)
	return failed == 0
}
