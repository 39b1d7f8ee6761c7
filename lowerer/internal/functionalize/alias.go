package functionalize

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// cell is a tensor of the original program, an object that can be written to.
type cell struct {
	// val is its content when store had version stamp.
	val   *exir.Value
	stamp int
	store *storage
	// src is the tensor that this one is a view of, how is the view; nil for a tensor with memory of its own.
	src *cell
	how view
	// order is that of the dimensions in PyTorch's memory, for a tensor with memory of its own; nil is row-major.
	order []uint8
}

// storage is the memory of a tensor and its views.
type storage struct {
	version int
	input   *exir.Value
}

// view is how one tensor shows another.
type view struct {
	op   string
	args []exir.Arg // after self
	// back is src with val in the place of what the view shows; nil where there is no such operator.
	back func(s *state, src, val *exir.Value) *exir.Value
	// lay gives the view's strides; nil where they are not known.
	lay layout
}

// fresh makes v a tensor with memory of its own.
func (s *state) fresh(v *exir.Value) *cell {
	c := &cell{val: v, store: &storage{}, order: orderOf(v)}
	s.cells[v] = c
	return c
}

// alias makes out another name of the tensor v.
func (s *state) alias(out, v *exir.Value) { s.cells[out] = s.cell(v) }

// copied makes out a tensor of its own that holds what v holds now.
func (s *state) copied(out, v *exir.Value) {
	now := s.read(v)
	s.fresh(out).val = now
}

func (s *state) cell(v *exir.Value) *cell {
	c := s.cells[v]
	if c == nil {
		c = s.fresh(v)
	}
	return c
}

// read is the value that v has now.
func (s *state) read(v *exir.Value) *exir.Value {
	if v == nil || v.Kind != exir.TensorValue {
		return v
	}
	return s.content(s.cell(v))
}

func (s *state) content(c *cell) *exir.Value {
	if c.stamp != c.store.version && c.src != nil {
		spec := c.val.Spec
		c.val = s.emit(c.how.op, spec, append([]exir.Arg{value(s.content(c.src))}, c.how.args...)...)
	}
	c.stamp = c.store.version
	return c.val
}

// write gives v, and what shares its memory, the new content val.
func (s *state) write(v, val *exir.Value) error {
	c := s.cell(v)
	// What the views were seen through is computed before the version changes.
	type step struct {
		c   *cell
		old *exir.Value
	}
	var steps []step
	for at := c; at.src != nil; at = at.src {
		steps = append(steps, step{at, s.content(at.src)})
	}
	c.store.version++
	c.val, c.stamp = val, c.store.version
	for _, st := range steps {
		if st.c.how.back == nil {
			return fmt.Errorf("rewrite write: cannot write through %s", st.c.how.op)
		}
		val = st.c.how.back(s, st.old, val)
		st.c.src.val, st.c.src.stamp = val, c.store.version
	}
	return nil
}

// emit appends a call of op, at the place of the present node.
func (s *state) emit(op string, spec tensor.Meta, args ...exir.Arg) *exir.Value {
	v := &exir.Value{Kind: exir.TensorValue, Spec: tensor.Meta{DType: spec.DType, Sizes: spec.Sizes}}
	s.emitTo([]*exir.Value{v}, op, args...)
	v.Name = v.Node.Name
	return v
}

// emitTo appends a call of op that makes outs. Arguments left out have their defaults.
func (s *state) emitTo(outs []*exir.Value, op string, args ...exir.Arg) {
	schema := exir.MustSchema(op)
	for i := len(args); i < len(schema.Args); i++ {
		args = append(args, schema.Args[i].Default)
	}
	n := &exir.Node{Name: s.name(schema.Base()), Op: schema, Args: args, Outs: outs, Origin: s.at.Origin}
	for _, v := range outs {
		if v != nil {
			v.Node = n
			v.Spec.DimOrder = nil
		}
	}
	s.nodes = append(s.nodes, n)
}

// call rewrites a call of op that makes out, in the place of the present node. Arguments left out have their defaults.
func (s *state) call(out *exir.Value, op string, args ...exir.Arg) error {
	n := &exir.Node{Op: exir.MustSchema(op), Args: args, Outs: []*exir.Value{out}, Origin: s.at.Origin}
	for i := len(args); i < len(n.Op.Args); i++ {
		n.Args = append(n.Args, n.Op.Args[i].Default)
	}
	n.Name = s.name(n.Op.Base())
	out.Node = n
	return s.node(n)
}

// name is an unused name that starts with base.
func (s *state) name(base string) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s_f%d", base, i+len(s.nodes))
		if !s.names[name] {
			s.names[name] = true
			return name
		}
	}
}
