// Package decomp rewrites composite operators into those that have a row.
//
// A composite is one line of a *.rules file, or, where ranks and lists need
// more logic than an expression holds, a Go function in funcs_*.go.
package decomp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/functionalize"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Run rewrites every operator of m's functional graph, and of its sub-graphs,
// that has no row in runtime/op, except those that keep reports true for.
// Every node made for an operator has that operator's Origin. The error is a
// diag.List with every operator that there is no way to express, and its
// Python line.
func Run(p *exir.Program, m *exir.Method, keep func(n *exir.Node) bool) error {
	if keep == nil {
		keep = func(*exir.Node) bool { return false }
	}
	d := &decomposer{program: p, keep: keep}
	m.Graph = d.graph(m.Graph)
	return d.errs.Err()
}

// decomposer collects what could not be rewritten.
type decomposer struct {
	program *exir.Program
	keep    func(n *exir.Node) bool
	errs    diag.List
	seen    map[string]bool
}

// maxDepth bounds how rules may use rules.
const maxDepth = 32

// rewriter rewrites one graph.
type rewriter struct {
	d     *decomposer
	b     *exir.Builder
	with  map[*exir.Value]*exir.Value
	node  *exir.Node
	depth int
	used  map[*exir.Value]bool
}

func (d *decomposer) graph(g *exir.Graph) *exir.Graph {
	r := &rewriter{d: d, b: exir.NewBuilder(d.program, g), with: map[*exir.Value]*exir.Value{}, used: usedValues(g)}
	r.b.Expand = r.expand
	for _, n := range g.Nodes {
		r.rewrite(n)
	}
	for _, a := range g.Outputs {
		r.b.Graph.Outputs = append(r.b.Graph.Outputs, r.arg(a))
	}
	functionalize.RemoveDead(r.b.Graph)
	uniqueNames(r.b.Graph)
	return r.b.Graph
}

// usedValues are those that g's nodes, its sub-graphs' too, and outputs take.
func usedValues(g *exir.Graph) map[*exir.Value]bool {
	used := map[*exir.Value]bool{}
	var note func(args []exir.Arg)
	note = func(args []exir.Arg) {
		for _, a := range args {
			switch a.Kind {
			case exir.ArgValue:
				used[a.Value] = true
			case exir.ArgGraph:
				for v := range usedValues(a.Graph) {
					used[v] = true
				}
			}
			note(a.List)
		}
	}
	for _, n := range g.Nodes {
		note(n.Args)
	}
	note(g.Outputs)
	return used
}

func (r *rewriter) rewrite(n *exir.Node) {
	r.node, r.b.Origin = n, n.Origin
	for i := range n.Args {
		n.Args[i] = r.arg(n.Args[i])
	}
	if err := r.replace(n); err != nil {
		r.d.fail(n, err)
		r.b.Err = nil
		r.b.Append(n)
	}
}

// arg is a with the values that stand for those of the old graph.
func (r *rewriter) arg(a exir.Arg) exir.Arg {
	switch a.Kind {
	case exir.ArgValue:
		if v := r.with[a.Value]; v != nil {
			a.Value = v
		}
	case exir.ArgList:
		list := make([]exir.Arg, len(a.List))
		for i := range list {
			list[i] = r.arg(a.List[i])
		}
		a.List = list
	case exir.ArgGraph:
		a.Graph = r.d.graph(a.Graph)
	}
	return a
}

// replace appends what n becomes.
func (r *rewriter) replace(n *exir.Node) error {
	switch {
	case strings.HasPrefix(n.Op.Name, "higher_order::") && !slices.Contains(controlFlow, n.Op.Name):
		return missingControl(n.Op.Name)
	case n.Op.Name == "aten::item":
		n.Op = exir.MustSchema("aten::_local_scalar_dense")
		fallthrough
	case opaque(n.Op) || r.d.keep(n):
		r.b.Append(n)
		return nil
	case exir.LookupRow(n.Op.Name) != nil && refined[n.Op.Name] == nil && !r.widens(n.Op, n.Args):
		return r.retain(n)
	}
	from := len(r.b.Graph.Nodes)
	outs, done, err := r.expand(r.b, n.Op, n.Args)
	if err == nil {
		err = r.b.Err
	}
	if err == nil && !done {
		return r.retain(n)
	}
	if err == nil {
		err = r.bind(n, outs)
	}
	if err != nil {
		r.b.Graph.Nodes = r.b.Graph.Nodes[:from]
	}
	return err
}

// opaque operators are no business of rules: control flow, arithmetic on
// symbols, and what has no tensor result.
func opaque(s *exir.Schema) bool {
	ns, _, _ := strings.Cut(s.Name, "::")
	switch {
	case ns == "higher_order" || ns == "python" || ns == "executorch_prim":
		return true
	case ns == "aten" && strings.HasPrefix(s.Base(), "sym_"):
		return true
	}
	return s.Name == "aten::_local_scalar_dense" || s.Name == exir.AssertScalar
}

// retain keeps n and infers its results anew, so that dim orders follow the arguments'.
func (r *rewriter) retain(n *exir.Node) error {
	metas, err := exir.Infer(r.d.program.Shapes, n.Op, n.Args)
	if err != nil {
		return err
	}
	if len(metas) == 1 && len(n.Outs) == 1 && n.Outs[0].Kind == exir.TensorValue && needsTensor(n) {
		return r.bind(n, r.b.CallSchema(n.Op, n.Args))
	}
	for i, v := range n.Outs {
		if v == nil || i >= len(metas) || v.Kind != exir.TensorValue {
			continue
		}
		if err := agree(n, v, metas[i]); err != nil {
			return err
		}
		v.Spec.DimOrder = metas[i].DimOrder
	}
	r.b.Append(n)
	return nil
}

// needsTensor reports a number where n's schema wants a tensor.
func needsTensor(n *exir.Node) bool {
	for i, p := range n.Op.Args {
		if !strings.HasPrefix(p.Type, "Tensor") || strings.HasPrefix(p.Type, "Tensor[") || i >= len(n.Args) {
			continue
		}
		switch a := n.Args[i]; a.Kind {
		case exir.ArgInt, exir.ArgFloat, exir.ArgBool:
			return true
		case exir.ArgValue:
			if a.Value.Kind != exir.TensorValue {
				return true
			}
		}
	}
	return false
}

// agree checks that m can be the type of n's result v.
func agree(n *exir.Node, v *exir.Value, m tensor.Meta) error {
	same := v.Spec.DType == m.DType && len(v.Spec.Sizes) == len(m.Sizes)
	for i := range m.Sizes {
		if same && !tensor.IsSymbol(m.Sizes[i]) && !tensor.IsSymbol(v.Spec.Sizes[i]) && m.Sizes[i] != v.Spec.Sizes[i] {
			same = strings.Contains(n.Op.Tags, "dynamic_output_shape")
		}
	}
	if !same {
		return fmt.Errorf("infer %s: it gives %s%v, but the program says %s%v", n.Op.Name, m.DType, m.Sizes, v.Spec.DType, v.Spec.Sizes)
	}
	return nil
}

// bind makes outs stand for the results of n.
func (r *rewriter) bind(n *exir.Node, outs []*exir.Value) error {
	if len(outs) < len(n.Outs) {
		return fmt.Errorf("rewrite %s: %d results, want %d", n.Op.Name, len(outs), len(n.Outs))
	}
	for i, old := range n.Outs {
		if old == nil || old.Kind != exir.TensorValue || outs[i] == nil && !r.used[old] {
			continue
		}
		if outs[i] == nil {
			return fmt.Errorf("rewrite %s: result %d is used but not computed", n.Op.Name, i)
		}
		if err := agree(n, old, outs[i].Spec); err != nil {
			return err
		}
		if outs[i].Node != nil {
			outs[i].Spec.Sizes = old.Spec.Sizes
		}
		r.with[old] = outs[i]
	}
	return nil
}

// expand is the builder's hook: it applies the rule for s, if s has no row or widens.
func (r *rewriter) expand(b *exir.Builder, s *exir.Schema, args []exir.Arg) (outs []*exir.Value, done bool, err error) {
	wide := exir.LookupRow(s.Name) != nil && refined[s.Name] == nil
	if wide && !r.widens(s, args) {
		return nil, false, nil
	}
	if r.depth >= maxDepth {
		return nil, false, fmt.Errorf("rewrite %s: rules use each other in a circle", s.Name)
	}
	r.depth++
	defer func() { r.depth-- }()
	c := &call{b: b, s: s, args: args}
	if r.depth == 1 {
		c.outs = r.node.Outs
	}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("rewrite %s: %w", s.Name, f.err)
		default: // a rule met arguments that it was not written for
			err = fmt.Errorf("rewrite %s: %v", s.Name, f)
		}
	}()
	if wide {
		return c.widened(), true, b.Err
	}
	if f := refined[s.Name]; f != nil {
		outs := f(c)
		return outs, outs != nil, b.Err
	}
	if f := funcs[s.Name]; f != nil {
		return f(c), true, b.Err
	}
	if rule := lookupRule(s.Name); rule != nil {
		return rule.apply(c), true, b.Err
	}
	return nil, false, missingOp(s.Name)
}

// uniqueNames renames nodes and values that share a name.
func uniqueNames(g *exir.Graph) {
	used := map[string]bool{}
	for _, v := range g.Inputs {
		if v != nil {
			used[v.Name] = true
		}
	}
	for _, n := range g.Nodes {
		old := n.Name
		n.Name = unused(used, n.Name)
		for i, v := range n.Outs {
			switch {
			case v == nil:
			case len(n.Outs) == 1 && (v.Name == old || v.Name == ""):
				v.Name = n.Name
			default:
				if v.Name == "" {
					v.Name = fmt.Sprintf("%s_%d", n.Name, i)
				}
				v.Name = unused(used, v.Name)
			}
		}
	}
}

// unused marks and returns name, or name with a number where it is taken.
func unused(used map[string]bool, name string) string {
	fresh := name
	for i := 1; used[fresh]; i++ {
		fresh = fmt.Sprintf("%s_%d", name, i)
	}
	used[fresh] = true
	return fresh
}
