package decomp

import (
	"errors"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// missingOp is an operator with neither a row nor a rule.
type missingOp string

// Error implements error.
func (m missingOp) Error() string {
	return "operator " + exir.PythonName(string(m)) + " has no kernel and no rule"
}

// namespace is that of an operator, "aten" of "aten::relu", or of a function of Python, without its name.
func namespace(name string) string {
	if space, _, ok := strings.Cut(name, "::"); ok {
		return space
	}
	return name[:max(strings.LastIndexByte(name, '.'), 0)]
}

// hint is the nearest thing that works, or where to look.
func (m missingOp) hint() string {
	if space := namespace(string(m)); space != "aten" {
		return "operators of the namespace " + space + " are not PyTorch's own; write it with torch functions, or register a decomposition before torch.export.export"
	}
	if near := nearest(string(m)); near != "" {
		return "the nearest that works is " + exir.PythonName(near) + "; `pte ops` lists all"
	}
	return "write that line with other functions; `pte ops` lists the operators that work"
}

// controlFlow are the higher-order operators that later stages lower.
var controlFlow = []string{"higher_order::cond", "higher_order::map_impl", "higher_order::scan", "higher_order::while_loop"}

// missingControl is a higher-order operator that none of them lowers.
type missingControl string

// Error implements error.
func (m missingControl) Error() string {
	return "no way to lower this higher-order operator"
}

// fail records what went wrong with n, each kind of failure once for each Python line.
func (d *decomposer) fail(n *exir.Node, err error) {
	key := n.Op.Name + "\x00" + n.Line() + "\x00" + err.Error()
	if d.seen[key] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[key] = true
	d.errs = append(d.errs, fault(n, err))
}

func fault(n *exir.Node, err error) *diag.Error {
	var missing missingOp
	var control missingControl
	if errors.As(err, &control) {
		return n.Fault(diag.UnsupportedFeature, "%w", err).
			WithHint("torch.cond, while_loop, map and scan are lowered; write that part with them or without %s", strings.TrimPrefix(string(control), "higher_order::"))
	}
	if !errors.As(err, &missing) {
		return n.Fault(diag.UnsupportedFeature, "%w", err)
	}
	e := n.Fault(diag.UnsupportedOperator, "%w", err)
	if string(missing) == n.Op.Name {
		e.Msg = "no kernel and no rule for this operator"
	}
	return e.WithHint("%s", missing.hint())
}

// nearest is an operator that works with a name like name's: another overload of it, one whose name is a typing
// error away, or one that begins in the same way.
func nearest(name string) string {
	base := func(s string) string {
		_, s, _ = strings.Cut(s, "::")
		s, _, _ = strings.Cut(s, ".")
		return strings.Trim(s, "_")
	}
	full := map[string]string{}
	var bases []string
	best, shared := "", 3
	for _, candidate := range known() {
		b := base(candidate)
		if b == base(name) {
			return candidate
		}
		if full[b] == "" {
			full[b] = candidate
			bases = append(bases, b)
		}
		if n := commonPrefix(b, base(name)); n > shared {
			best, shared = candidate, n
		}
	}
	if near := diag.Nearest(base(name), bases); near != "" && (best == "" || shared < len(base(name))/2) {
		return full[near]
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
