package lowerer

import (
	"fmt"
	"math"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fault is an error of package pt2 about the model of ms, with the line of the spec that names it.
func (f *modelFiles) fault(ms *config.MethodSpec, err error) error {
	list := diag.At("", diag.ModelMalformed, err)
	if f.spec.Path != "" {
		for _, e := range list {
			e.WithMore("model of method " + ms.Name.V + " at " + f.spec.Where(ms.Model.Pos))
		}
	}
	return list
}

// within gives errors about method m the model's file as their place.
func (l *Loaded) within(m *exir.Method, code diag.Code, err error) diag.List {
	return diag.At(l.files[m.Name], code, err)
}

// placed gives errors whose place begins with a method's name the file of its model.
func (l *Loaded) placed(err error) error {
	if err == nil {
		return nil
	}
	list := diag.At("", diag.UnsupportedFeature, err)
	for _, e := range list {
		method, _, _ := strings.Cut(e.Where, ":")
		if file := l.files[method]; file != "" {
			e.Where = file + ": " + e.Where
		}
	}
	return list
}

// bounds lists every dimension that has no upper bound: of the inputs, and those that operators make.
type bounds struct {
	l    *Loaded
	m    *exir.Method
	seen map[string]bool // symbols
	errs diag.List
}

// checkBounds refuses methods with a dimension that has no upper bound.
func (l *Loaded) checkBounds(p *exir.Program) error {
	var errs diag.List
	for _, m := range p.Methods {
		b := &bounds{l: l, m: m, seen: map[string]bool{}}
		for _, v := range m.Graph.Inputs {
			b.input(v)
		}
		b.graph(m.Graph)
		errs = append(errs, l.within(m, diag.UnboundedDimension, b.errs.Err())...)
	}
	return errs.Err()
}

func (b *bounds) input(v *exir.Value) {
	for d, symbol := range b.open(v) {
		if symbol != "" {
			e := diag.New(diag.UnboundedDimension, b.m.Name+": input "+v.Name, "dimension %d, %s, has no upper bound", d, symbol)
			b.errs = append(b.errs, e.WithHint("bound it in the spec: methods: %s: dynamic_shapes: %s: %q: max: N; or export with torch.export.Dim(%q, max=N)",
				b.m.Name, v.Name, fmt.Sprint(d), "n"))
		}
	}
}

func (b *bounds) graph(g *exir.Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.Outs {
			b.result(n, v)
		}
		for _, a := range n.Args {
			if a.Kind == exir.ArgGraph {
				b.graph(a.Graph)
			}
		}
	}
}

func (b *bounds) result(n *exir.Node, v *exir.Value) {
	for d, symbol := range b.open(v) {
		if symbol != "" {
			e := n.Fault(diag.UnboundedDimension, "dimension %d of the result, %s, has no upper bound", d, symbol)
			b.errs = append(b.errs, e.WithHint("bound it in the model, with torch._check(n <= N) on the size that the line gives"))
		}
	}
}

// open gives for each dimension of v the symbol that leaves it without a bound, if that was not seen before.
func (b *bounds) open(v *exir.Value) []string {
	if v == nil || v.Kind != exir.TensorValue {
		return nil
	}
	out := make([]string, v.Spec.Rank())
	for d, size := range v.Spec.Sizes {
		if _, hi := b.l.table.Bounds(size); !tensor.IsSymbol(size) || hi != math.MaxInt64 {
			continue
		}
		for _, name := range b.symbols(size) {
			if !b.seen[name] {
				b.seen[name], out[d] = true, name
			}
		}
	}
	return out
}

// symbols are the names of the symbols in d that have no upper bound.
func (b *bounds) symbols(d tensor.Dim) (names []string) {
	op, args, name := b.l.table.Node(d)
	switch op {
	case "const":
		return nil
	case "symbol":
		if _, hi := b.l.table.Bounds(d); hi == math.MaxInt64 {
			return []string{name}
		}
		return nil
	}
	for _, a := range args {
		names = append(names, b.symbols(a)...)
	}
	return names
}
