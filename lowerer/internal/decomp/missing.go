package decomp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// missingOp is an operator with neither a row nor a rule.
type missingOp string

// Error implements error.
func (m missingOp) Error() string {
	text := fmt.Sprintf("operator %s has no kernel and no rule", string(m))
	if near := nearest(string(m)); near != "" {
		text += "; nearest that works: " + near
	}
	return text
}

// fail records what went wrong with n, each kind of failure once for each Python line.
func (d *decomposer) fail(n *exir.Node, err error) {
	text := fmt.Sprintf("%s%v", where(n), err)
	if d.seen[text] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[text] = true
	d.errs = append(d.errs, errors.New(text))
}

func (d *decomposer) missing() error { return errors.Join(d.errs...) }

// where is the Python line of n: the last frame that is not in a library, if any is not.
func where(n *exir.Node) string {
	if len(n.Frames) == 0 {
		return fmt.Sprintf("node %s: ", n.Name)
	}
	at := n.Frames[len(n.Frames)-1]
	for _, f := range slices.Backward(n.Frames) {
		if !strings.Contains(f.File, "site-packages") {
			at = f
			break
		}
	}
	return fmt.Sprintf("%s:%d: node %s: ", at.File, at.Line, n.Name)
}

// nearest is an operator that works with a name like name's.
func nearest(name string) string {
	base := func(s string) string {
		_, s, _ = strings.Cut(s, "::")
		s, _, _ = strings.Cut(s, ".")
		return strings.Trim(s, "_")
	}
	best, bestScore := "", 3
	for _, candidate := range known() {
		score := commonPrefix(base(candidate), base(name))
		if base(candidate) == base(name) {
			score += 100
		}
		if score > bestScore {
			best, bestScore = candidate, score
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// known lists every operator that a program may use, sorted.
func known() []string {
	var names []string
	for _, d := range op.Rows {
		if d.Functional != "" {
			names = append(names, d.Functional)
		}
	}
	for name := range funcs {
		names = append(names, name)
	}
	for name := range ruleTable() {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Known lists every ATen operator with a row, a rule or a function, sorted by name.
func Known() []string { return known() }
