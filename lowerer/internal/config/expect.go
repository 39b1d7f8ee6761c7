package config

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/encoding/json"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
)

// CheckExpect holds the report against the spec's `expect`. The error is a diag.List with one entry for each
// contradiction, at the user's line, with the value got and the nodes behind it.
func CheckExpect(s *Spec, r *report.Report) error {
	if !s.expect.Exists() {
		return nil
	}
	l := s.loader
	var buf bytes.Buffer
	if err := r.Write(&buf); err != nil {
		return err
	}
	expr, err := json.Extract("report", buf.Bytes())
	if err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	got := l.report.Unify(l.ctx.BuildExpr(expr))
	if err := got.Validate(cue.Concrete(true)); err != nil {
		return fmt.Errorf("check report against its schema: %w", err)
	}
	var errs diag.List
	l.compare(&comparison{got, r, &errs}, s.expect, nil)
	errs.Sort()
	return errs.Err()
}

// comparison is a report in CUE and Go, and what contradicts it.
type comparison struct {
	got  cue.Value
	r    *report.Report
	errs *diag.List
}

// compare descends the constraint as far as it names fields, so that each contradiction has its own place.
func (l *loader) compare(c *comparison, want cue.Value, path []string) {
	got := c.got.LookupPath(cuePath(path))
	switch absent, _ := field(want, "absent").Bool(); {
	case absent && got.Exists():
		l.missed(c, want, path, "got "+brief(got)+", want absent")
		return
	case absent:
		return
	case !got.Exists():
		l.missed(c, want, path, "is not in the report; `absent: true` allows that")
		return
	}
	before := len(*c.errs)
	if want.IncompleteKind() == cue.StructKind {
		iter, err := want.Fields()
		for err == nil && iter.Next() {
			l.compare(c, iter.Value(), append(path[:len(path):len(path)], iter.Selector().Unquoted()))
		}
	}
	if len(*c.errs) > before || hasAbsent(want) {
		return
	}
	if err := got.Unify(want).Validate(cue.Concrete(true), cue.Final()); err != nil {
		l.missed(c, want, path, l.reason(err, got, want))
	}
}

// hasAbsent reports an `absent: true` within want, which the report itself has no field for.
func hasAbsent(want cue.Value) bool {
	if field(want, "absent").Exists() {
		return true
	}
	iter, err := want.Fields()
	for err == nil && iter.Next() {
		if iter.Value().IncompleteKind() == cue.StructKind && hasAbsent(iter.Value()) {
			return true
		}
	}
	return false
}

func (l *loader) reason(err error, got, want cue.Value) string {
	if k := got.IncompleteKind(); k != cue.StructKind && k != cue.ListKind {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	first := errors.Errors(err)[0]
	format, args := first.Msg()
	return fmt.Sprintf("%s: %s", strings.Join(l.relative(first.Path()), "."), fmt.Sprintf(format, args...))
}

func (l *loader) missed(c *comparison, want cue.Value, path []string, msg string) {
	e := diag.New(diag.ExpectFailed, l.where(l.userPos(want)), "%s: %s", strings.Join(append([]string{"expect"}, path...), "."), msg)
	*c.errs = append(*c.errs, e.WithMore(offenders(c.r, path)...))
}

// offenders are the nodes behind a value of the report: those of an operator, or those that fell back.
func offenders(r *report.Report, path []string) (lines []string) {
	switch {
	case len(path) > 0 && path[0] == "fallback", len(path) > 0 && path[0] == "delegation":
		for _, f := range r.Fallback {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s = %s: %s %s", f.Method, f.Node, f.Op, f.Reason, f.Where)))
		}
	case len(path) >= 3 && path[0] == "methods" && path[2] == "operators":
		lines = operatorNodes(r.Methods[path[1]], path)
	}
	return first(lines, 5)
}

func operatorNodes(m *report.MethodReport, path []string) (lines []string) {
	if m == nil {
		return nil
	}
	for _, n := range m.Nodes {
		if len(path) < 4 || n.Op == path[3] {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s = %s %s", path[1], n.Name, n.Op, n.Where)))
		}
	}
	sort.Strings(lines)
	return lines
}

func first(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("… and %d more", len(lines)-n))
}

func brief(v cue.Value) string {
	s := strings.Join(strings.Fields(fmt.Sprint(v)), " ")
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

// cuePath is the path of these names, which CUE's errors give quoted where they are no identifiers.
func cuePath(path []string) cue.Path {
	var sels []cue.Selector
	for _, p := range path {
		if name, err := strconv.Unquote(p); err == nil {
			p = name
		}
		sels = append(sels, cue.Str(p))
	}
	return cue.MakePath(sels...)
}
