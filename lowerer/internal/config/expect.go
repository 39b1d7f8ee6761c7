package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/encoding/json"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
)

// Expects reports whether the spec has an `expect`.
func (s *Spec) Expects() bool { return s.expect.Exists() }

// CheckExpect holds the report against the spec's `expect`. The error is a diag.List with one entry for each
// contradiction, at the user's line, with the value got and the nodes behind it. What constrains the sizes that
// only packing knows is given back as pending, for CheckPacked; a packed report leaves nothing pending.
func CheckExpect(s *Spec, r *report.Report) (pending []Pending, err error) {
	if !s.Expects() {
		return nil, nil
	}
	l := s.loader
	got, err := l.reportValue(r)
	if err != nil {
		return nil, err
	}
	c := &comparison{loader: l, r: r, got: l.report.Unify(got), plain: got.Unify(s.expect)}
	c.whole = c.got.Unify(s.expect)
	c.compare(s.expect, nil)
	c.errs.Sort()
	return c.pending, c.errs.Err()
}

// reportValue is r in CUE, where the sizes that it does not know yet may be anything.
func (l *loader) reportValue(r *report.Report) (cue.Value, error) {
	var buf bytes.Buffer
	if err := r.Write(&buf); err != nil {
		return cue.Value{}, err
	}
	expr, err := json.Extract("report", buf.Bytes())
	if err != nil {
		return cue.Value{}, fmt.Errorf("read report: %w", err)
	}
	if err := l.report.Unify(l.ctx.BuildExpr(expr)).Validate(cue.Concrete(true)); err != nil {
		return cue.Value{}, fmt.Errorf("check report against its schema: %w", err)
	}
	if fields, ok := expr.(*ast.StructLit); ok && !r.Packed {
		openPackedFields(fields)
	}
	return l.ctx.BuildExpr(expr), nil
}

// comparison is a report in CUE and Go, and what contradicts it.
type comparison struct {
	*loader
	r   *report.Report
	got cue.Value // the report
	// whole is the report unified with all that is expected; plain the same, without the schema.
	whole, plain cue.Value
	pending      []Pending
	errs         diag.List
}

// compare descends the constraint as far as it names fields, so that each contradiction has its own place.
func (c *comparison) compare(want cue.Value, path []string) {
	got := c.got.LookupPath(cuePath(path))
	absent, _ := field(want, "absent").Bool()
	switch {
	case absent && got.Exists():
		c.missed(want, path, "got "+brief(got)+", want absent")
		return
	case absent:
		return
	case !got.Exists():
		c.missed(want, path, "is not in the report; `absent: true` allows that")
		return
	case c.later(path):
		c.postpone(want, path)
		return
	}
	before := len(c.errs)
	if want.IncompleteKind() == cue.StructKind {
		iter, err := want.Fields()
		for err == nil && iter.Next() {
			c.compare(iter.Value(), append(path[:len(path):len(path)], iter.Selector().Unquoted()))
		}
	}
	if len(c.errs) > before || hasAbsent(want) {
		return
	}
	concrete := len(path) > 0 || c.r.Packed
	if err := c.whole.LookupPath(cuePath(path)).Validate(cue.Concrete(concrete), cue.Final()); err != nil {
		c.contradicts(want, path, got, err)
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

// contradicts notes that the report's value at path, got, and want exclude each other, as CUE's err says.
func (c *comparison) contradicts(want cue.Value, path []string, got cue.Value, err error) {
	if k := got.IncompleteKind(); k != cue.StructKind && k != cue.ListKind {
		c.missed(want, path, fmt.Sprintf("got %v, want %v", got, want))
		return
	}
	var places [][]string
	for _, e := range errors.Errors(err) {
		places = append(places, unquoted(c.relative(e.Path())))
	}
	format, args := errors.Errors(err)[0].Msg()
	msg := fmt.Sprintf(format, args...)
	if len(places[0]) > 0 {
		msg = strings.Join(places[0], ".") + ": " + msg
	}
	c.missed(want, path, msg, places...)
}

// missed notes a contradiction at path, and the nodes behind it: those at places if that says more.
func (c *comparison) missed(want cue.Value, path []string, msg string, places ...[]string) {
	var lines []string
	for _, p := range append(places, path) {
		if found := offenders(c.r, p); len(lines) == 0 || len(p) > len(path) {
			lines = append(lines, found...)
		}
	}
	slices.Sort(lines)
	e := diag.New(diag.ExpectFailed, c.where(c.userPos(want)), "%s: %s", expectPath(path), msg)
	c.errs = append(c.errs, e.WithMore(first(slices.Compact(lines), 5)...))
}

func expectPath(path []string) string { return strings.Join(append([]string{"expect"}, path...), ".") }

// offenders are the nodes behind a value of the report: those of an operator, or those that fell back.
func offenders(r *report.Report, path []string) (lines []string) {
	switch {
	case len(path) > 0 && (path[0] == "fallback" || path[0] == "delegation"):
		for i, f := range r.Fallback {
			if path[0] == "delegation" || picks(path, 1, strconv.Itoa(i)) {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s = %s: %s %s", f.Method, f.Node, f.Op, f.Text(), f.Where)))
			}
		}
	case len(path) >= 3 && path[0] == "methods" && r.Methods[path[1]] != nil:
		for i, n := range r.Methods[path[1]].Nodes {
			if path[2] == "operators" && picks(path, 3, n.Op) || path[2] == "nodes" && picks(path, 3, strconv.Itoa(i)) {
				lines = append(lines, nodeLine(path[1], &n))
			}
		}
	}
	return lines
}

// picks reports that path goes on at i with name, or ends there.
func picks(path []string, i int, name string) bool { return len(path) <= i || path[i] == name }

func nodeLine(method string, n *report.Node) string {
	line := method + ": " + n.Name + " = " + n.Op
	if n.Module != "" {
		line += " in " + n.Module
	}
	if n.Where != "" {
		line += " at " + n.Where
	}
	return line
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
	for i, name := range unquoted(path) {
		sel := cue.Str(name)
		if n, err := strconv.Atoi(path[i]); err == nil && n >= 0 {
			sel = cue.Index(n)
		} else if strings.HasPrefix(path[i], "#") {
			sel = cue.Def(name)
		}
		sels = append(sels, sel)
	}
	return cue.MakePath(sels...)
}

func unquoted(path []string) []string {
	out := slices.Clone(path)
	for i, p := range out {
		if name, err := strconv.Unquote(p); err == nil {
			out[i] = name
		}
	}
	return out
}
