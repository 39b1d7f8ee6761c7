// Package passes has the graph passes that take a functional program of core
// ATen operators to one that can be emitted, one file each, and their order.
package passes

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// Fact is something that is true of a program at some point of the pipeline.
type Fact string

// The facts.
const (
	Functional   Fact = "functional"   // no in-place operators, no views
	CoreOps      Fact = "core-ops"     // every operator has a row, is a prim op or a control-flow operator
	DimOrderOps  Fact = "dim-orders"   // memory formats are dim orders
	NumbersBound Fact = "numbers"      // every symbolic number is a value of its graph
	NoDeadCode   Fact = "no-dead-code" // every node has a user
	Folded       Fact = "folded"       // nodes over constants are constant expressions
)

// Context is what a pass gets beside the method.
type Context struct {
	Program *exir.Program
	Table   *symint.Table
}

// Pass is one row of the pipeline.
type Pass struct {
	Name, Doc string
	// Optional passes may be switched off in a spec.
	Optional             bool
	Needs, Gives, Breaks []Fact
	Run                  func(c *Context, m *exir.Method) error
}

// Given are the facts that hold when the first pass runs.
var Given = []Fact{Functional, CoreOps}

// Table lists the passes in the order in which they run.
var Table = []Pass{
	{Name: "dim-order", Doc: "turns memory formats of _to_copy, clone and empty into dim orders",
		Needs: []Fact{CoreOps}, Gives: []Fact{DimOrderOps}, Run: dimOrder},
	{Name: "remove-copies", Doc: "removes copies that change neither type nor dim order", Optional: true,
		Needs: []Fact{DimOrderOps}, Breaks: []Fact{NoDeadCode}, Run: removeCopies},
	{Name: "dead-code", Doc: "removes nodes without users, and parameters that nothing reads",
		Gives: []Fact{NoDeadCode}, Run: deadCode},
	{Name: "fold-constants", Doc: "turns nodes over constants into constant expressions, evaluated when packing", Optional: true,
		Needs: []Fact{CoreOps, DimOrderOps}, Gives: []Fact{Folded}, Breaks: []Fact{NoDeadCode}, Run: fold},
	{Name: "bind-numbers", Doc: "computes every symbolic size that an argument needs by prim ops over sym_size",
		Needs: []Fact{CoreOps}, Gives: []Fact{NumbersBound}, Breaks: []Fact{NoDeadCode}, Run: bindNumbers},
	{Name: "dead-code-2", Doc: "removes what folding and binding left without users",
		Needs: []Fact{NumbersBound}, Gives: []Fact{NoDeadCode}, Run: deadCode},
}

// Run runs the table over every method; off names optional passes to leave out, and after is called after each pass.
func Run(c *Context, off func(name string) bool, after func(pass string, m *exir.Method) error) error {
	for i := range Table {
		p := &Table[i]
		if p.Optional && off != nil && off(p.Name) {
			continue
		}
		for _, m := range c.Program.Methods {
			if err := p.Run(c, m); err != nil {
				return fmt.Errorf("pass %s: %w", p.Name, err)
			}
			if err := m.Graph.Verify(); err != nil {
				return fmt.Errorf("verify method %s after pass %s: %w", m.Name, p.Name, err)
			}
			if after != nil {
				if err := after(p.Name, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
