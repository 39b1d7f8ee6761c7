// Package passes has the graph passes that take a functional program of core
// ATen operators to one that can be emitted, one file each, and their order.
package passes

import (
	"errors"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// Context is what a pass gets beside the method.
type Context struct {
	Program *exir.Program
	Table   *symint.Table
	// Offered says that nodes are offered to backends. Until then, operators that a backend asked for may lack a row, and
	// what is dequantized stays a node, since backends take the quantized tensor.
	Offered bool
	late    bool
	hold    []Fact
}

// Pass is one row of the pipeline.
type Pass struct {
	Name, Doc string
	// Optional passes may be switched off in a spec.
	Optional bool
	// Late passes run after the backends took their nodes.
	Late bool
	// Rest passes run only where nodes were offered to backends.
	Rest                 bool
	Needs, Gives, Breaks []Fact
	Run                  func(c *Context, m *exir.Method) error
}

// Table lists the passes in the order in which they run.
var Table = []Pass{
	{Name: "dim-order", Doc: "turns memory formats of _to_copy, clone and empty into dim orders",
		Needs: []Fact{CoreOps}, Gives: []Fact{DimOrderOps}, Run: dimOrder},
	{Name: "remove-copies", Doc: "removes copies that change neither type nor dim order", Optional: true,
		Needs: []Fact{DimOrderOps}, Breaks: []Fact{NoDeadCode}, Run: removeCopies},
	{Name: "body-constants", Doc: "lets bodies of control flow use constants themselves, not as operands",
		Needs: []Fact{CoreOps}, Breaks: []Fact{NoDeadCode}, Run: bodyConstants},
	{Name: "fuse-int-mm", Doc: "makes a linear operator of dequantized factors of a product of integers with scales", Optional: true,
		Needs: []Fact{CoreOps, TensorArgs, DimOrderOps}, Breaks: []Fact{NoDeadCode}, Run: fuseIntMM},
	{Name: "dead-code", Doc: "removes nodes without users, and parameters that nothing reads",
		Gives: []Fact{NoDeadCode}, Run: deadCode},
	{Name: "merge-convolutions", Doc: "makes one convolution of those of one tensor whose results are added, with norms and multiples", Optional: true,
		Needs: []Fact{CoreOps}, Breaks: []Fact{Folded}, Run: mergeConvolutions},
	{Name: "fuse-batch-norm", Doc: "gives a convolution or a linear the weights of the batch norm behind it", Optional: true,
		Needs: []Fact{CoreOps}, Breaks: []Fact{Folded, NoDeadCode}, Run: fuseBatchNorm},
	{Name: "fuse-embedding", Doc: "lets an embedding read a table that stays quantized", Optional: true,
		Needs: []Fact{CoreOps, DimOrderOps}, Breaks: []Fact{NoDeadCode}, Run: fuseEmbedding},
	{Name: "fold-constants", Doc: "turns nodes over constants into constant expressions, evaluated when packing", Optional: true,
		Needs: []Fact{CoreOps, DimOrderOps}, Gives: []Fact{Folded}, Breaks: []Fact{NoDeadCode}, Run: fold},
	{Name: "fold-rest", Doc: "folds constants that were offered to backends, and that none took", Optional: true, Late: true, Rest: true,
		Needs: []Fact{CoreOps, DimOrderOps}, Gives: []Fact{Folded}, Breaks: []Fact{NoDeadCode}, Run: fold},
	{Name: "bind-numbers", Doc: "computes every symbolic size that an argument needs by prim ops over sym_size", Late: true,
		Needs: []Fact{CoreOps}, Gives: []Fact{NumbersBound}, Breaks: []Fact{NoDeadCode, Folded}, Run: bindNumbers},
	{Name: "common-subexpressions", Doc: "computes once what several nodes compute alike", Optional: true, Late: true,
		Needs: []Fact{CoreOps, NumbersBound}, Run: commonSubexpressions},
	{Name: "dead-code-2", Doc: "removes what folding and binding left without users", Late: true,
		Needs: []Fact{NumbersBound}, Gives: []Fact{NoDeadCode}, Run: deadCode},
}

// Run runs the table over every method, up to the late passes, and verifies before the first and after each the facts
// that hold then; off names optional passes to leave out, and after is called after each pass. RunLate goes on from there.
func Run(c *Context, off func(name string) bool, after func(pass string, m *exir.Method) error) error {
	c.hold = slices.Clone(Given)
	if c.Offered {
		c.hold = slices.DeleteFunc(c.hold, func(f Fact) bool { return f == CoreOps || f == TensorArgs })
	}
	for _, m := range c.Program.Methods {
		if err := Verify(c, m, c.hold); err != nil {
			return err
		}
	}
	return c.run(off, after)
}

// RunLate runs the late passes, after Run with the same context and after the backends.
func RunLate(c *Context, off func(name string) bool, after func(pass string, m *exir.Method) error) error {
	if c.Offered {
		c.hold = slices.DeleteFunc(append(c.hold, CoreOps, TensorArgs), func(f Fact) bool { return f == Folded })
	}
	c.late = true
	return c.run(off, after)
}

func (c *Context) run(off func(name string) bool, after func(pass string, m *exir.Method) error) error {
	for i := range Table {
		p := &Table[i]
		if p.Late != c.late || p.Rest && !c.Offered || p.Optional && off != nil && off(p.Name) {
			continue
		}
		c.hold = p.after(c.hold)
		for _, m := range c.Program.Methods {
			if err := p.Run(c, m); err != nil {
				return fault(m, p.Name, err)
			}
			if err := Verify(c, m, c.hold); err != nil {
				return broken(p.Name, err)
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

// broken says of each of a verifier's errors after which pass it was found.
func broken(pass string, err error) error {
	var list diag.List
	list.Add(diag.Bug, err)
	for _, e := range list {
		e.Msg = "after pass " + pass + ": " + e.Msg
	}
	return list
}

// fault is an error of a pass; one without a place gets the method and the pass.
func fault(m *exir.Method, pass string, err error) error {
	var at *diag.Error
	if errors.As(err, &at) {
		return err
	}
	return diag.New(diag.UnsupportedFeature, m.Name, "pass %s: %w", pass, err)
}
