package passes

import (
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Fact is something that is true of a program at some point of the pipeline. Verify checks it.
type Fact string

// The facts.
const (
	Functional   Fact = "functional"   // no in-place operators, no views
	CoreOps      Fact = "core-ops"     // every operator has a row, is a prim op or a control-flow operator
	TensorArgs   Fact = "tensor-args"  // tensors where operators take tensors, numbers where they take numbers
	DimOrderOps  Fact = "dim-orders"   // memory formats are dim orders
	NumbersBound Fact = "numbers"      // every symbolic number is a value of its graph
	NoDeadCode   Fact = "no-dead-code" // every node has a user
	Folded       Fact = "folded"       // nodes over constants are constant expressions
)

// Given are the facts that hold when the first pass runs.
var Given = []Fact{Functional, CoreOps, TensorArgs}

// properties are those of the verifier that facts stand for. Folded is checked here.
var properties = map[Fact]exir.Dialect{
	Functional: exir.Functional, CoreOps: exir.CoreOps, TensorArgs: exir.TensorArgs, DimOrderOps: exir.DimOrders,
	NumbersBound: exir.NumbersBound, NoDeadCode: exir.NoDeadCode,
}

// Verify checks that m is well formed and that facts hold.
func Verify(c *Context, m *exir.Method, facts []Fact) error {
	var d exir.Dialect
	for _, f := range facts {
		d |= properties[f]
	}
	if err := exir.Verify(m, c.Program.Shapes, d); err != nil {
		return err
	}
	if slices.Contains(facts, Folded) {
		return folded(c, m)
	}
	return nil
}

// folded checks that fold has nothing to do.
func folded(c *Context, m *exir.Method) error {
	state := stateOf(c.Program, m)
	return m.Graph.Walk(func(g *exir.Graph) error {
		held := held(g)
		for _, n := range g.Nodes {
			if !held[n] && c.foldable(n, state) {
				return fmt.Errorf("node %s could be a constant", n.Name)
			}
		}
		return nil
	})
}

// after are the facts that hold after p where hold do before it.
func (p *Pass) after(hold []Fact) []Fact {
	var facts []Fact
	for _, f := range hold {
		if !slices.Contains(p.Breaks, f) && !slices.Contains(p.Gives, f) {
			facts = append(facts, f)
		}
	}
	return append(facts, p.Gives...)
}
