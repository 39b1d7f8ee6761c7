package emit

import (
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

func (e *emitter) controlFlow(n *exir.Node) {
	switch n.Op.Name {
	case "higher_order::cond":
		e.cond(n)
	case "higher_order::while_loop":
		e.whileLoop(n)
	case "higher_order::map_impl":
		e.mapOrScan(n, nil, n.Args[1].List, n.Args[2].List, n.Args[0].Graph)
	case "higher_order::scan":
		e.mapOrScan(n, n.Args[1].List, n.Args[2].List, n.Args[3].List, n.Args[0].Graph)
	default:
		e.fail(diag.UnsupportedFeature, "no way to lower this control-flow operator")
	}
	e.node = n
}

// enter makes the inputs of a nested graph other names of the operands.
func (e *emitter) enter(g *exir.Graph, operands []exir.Arg) {
	if len(g.Inputs) != len(operands) {
		e.fail(diag.ModelMalformed, "a nested graph takes %d operands, got %d", len(g.Inputs), len(operands))
		return
	}
	for i, in := range g.Inputs {
		a := &operands[i]
		if a.Kind != exir.ArgValue {
			e.index[in] = e.arg(a, "")
			continue
		}
		e.index[in] = e.value(a.Value)
		e.stores[in] = e.stores[a.Value]
	}
}

// jump appends a jump whose destination is set later by land.
func (e *emitter) jump(cond int32) int {
	return e.push(pte.Instruction{Type: pte.JumpFalseCall, A: cond})
}

func (e *emitter) land(at int) { e.ins[at].B = int32(len(e.ins)) }

func (e *emitter) never() int32 { return e.share(pte.EValue{Type: pte.Bool}) }

// cond emits: jump to else; then-branch; moves; jump to the end; else-branch; moves.
func (e *emitter) cond(n *exir.Node) {
	toElse := e.jump(e.arg(&n.Args[0], "Scalar"))
	for _, v := range n.Outs {
		if v != nil {
			e.resultValue(v)
		}
	}
	e.branch(n, n.Args[1].Graph)
	toEnd := e.jump(e.never())
	e.land(toElse)
	e.branch(n, n.Args[2].Graph)
	e.land(toEnd)
}

// resultValue makes the EValue that both branches move their result to.
func (e *emitter) resultValue(v *exir.Value) {
	switch v.Kind {
	case exir.SymInt:
		e.index[v] = e.add(pte.EValue{Type: pte.Int})
	case exir.SymFloat:
		e.index[v] = e.add(pte.EValue{Type: pte.Double})
	case exir.SymBool:
		e.index[v] = e.add(pte.EValue{Type: pte.Bool})
	default:
		e.tensorValue(v)
		e.store(v, len(e.ins))
	}
}

func (e *emitter) branch(n *exir.Node, g *exir.Graph) {
	e.enter(g, n.Args[3].List)
	e.graph(g)
	e.node = n
	for i, v := range n.Outs {
		if v == nil || i >= len(g.Outputs) {
			continue
		}
		from := e.arg(&g.Outputs[i], "")
		if v.Kind == exir.TensorValue && g.Outputs[i].Kind == exir.ArgValue {
			e.fill(v, g.Outputs[i].Value)
			continue
		}
		e.push(pte.Instruction{Type: pte.MoveCall, A: from, B: e.index[v]})
	}
}

// carry makes a value that a loop writes anew in every turn, with its first content.
func (e *emitter) carry(like *exir.Value, init *exir.Arg) *exir.Value {
	v := &exir.Value{Name: like.Name + "_carry", Kind: like.Kind, Spec: like.Spec, Sym: like.Sym}
	e.resultValue(v)
	e.assign(v, init)
	return v
}

// fill copies src into dst, whose sizes become src's.
func (e *emitter) fill(dst, src *exir.Value) {
	if dst.Spec.Static() {
		e.copyTo(dst, src)
		return
	}
	const clone = "aten::clone.out"
	d, s := e.value(dst), e.value(src)
	e.call(clone, []int32{s, e.share(pte.EValue{Type: pte.Null}), d, d})
	e.use(clone, []exir.Arg{exir.ToArg(src), {}}, nil)
}

// assign copies a tensor, or moves a number, into v.
func (e *emitter) assign(v *exir.Value, from *exir.Arg) {
	if v.Kind == exir.TensorValue && from.Kind == exir.ArgValue {
		e.fill(v, from.Value)
		return
	}
	e.push(pte.Instruction{Type: pte.MoveCall, A: e.arg(from, ""), B: e.index[v]})
}

// reassign gives the carries their next content, through temporaries where one is made of another.
func (e *emitter) reassign(carries []*exir.Value, inputs []*exir.Value, outs []exir.Arg) {
	from := exir.CloneArgs(outs)
	for i := range from {
		for j, in := range inputs[:len(carries)] {
			if i != j && from[i].Kind == exir.ArgValue && from[i].Value == in {
				from[i] = exir.ToArg(e.carry(in, &from[i]))
			}
		}
	}
	for i, v := range carries {
		if from[i].Kind != exir.ArgValue || from[i].Value != inputs[i] {
			e.assign(v, &from[i])
		}
	}
}

// escape notes values that are read when what they may be views of is overwritten already.
func (e *emitter) escape(outs []exir.Arg) {
	for i := range outs {
		if outs[i].Kind == exir.ArgValue {
			e.escapes[outs[i].Value] = true
		}
	}
}

// loop marks the instructions from start to here as repeated: what lives at start lives to the end.
func (e *emitter) loop(start int) { e.loops = append(e.loops, [2]int{start, len(e.ins)}) }

// whileLoop emits: carries := operands; loop: cond; jump to the end; body; carries := results; jump to loop.
func (e *emitter) whileLoop(n *exir.Node) {
	test, body := n.Args[0].Graph, n.Args[1].Graph
	operands, extra := n.Args[2].List, n.Args[3].List
	carries := make([]*exir.Value, len(operands))
	for i := range operands {
		carries[i] = e.carry(body.Inputs[i], &operands[i])
	}
	all := append(valueArgs(carries), extra...)
	start := len(e.ins)
	e.enter(test, all)
	e.graph(test)
	e.node = n
	exit := e.jump(e.arg(&test.Outputs[0], "Scalar"))
	e.enter(body, all)
	e.escape(body.Outputs)
	e.graph(body)
	e.node = n
	e.reassign(carries, body.Inputs, body.Outputs)
	back := e.jump(e.never())
	e.ins[back].B = int32(start)
	e.land(exit)
	e.loop(start)
	e.finish(n, carries)
}

func valueArgs(values []*exir.Value) []exir.Arg {
	args := make([]exir.Arg, len(values))
	for i, v := range values {
		args[i] = exir.ToArg(v)
	}
	return args
}

// finish makes the carries the node's first results.
func (e *emitter) finish(n *exir.Node, carries []*exir.Value) {
	for i, v := range carries {
		if i < len(n.Outs) && n.Outs[i] != nil {
			e.index[n.Outs[i]] = e.index[v]
			e.stores[n.Outs[i]] = e.stores[v]
			e.touch(v, len(e.ins))
		}
	}
}

// mapOrScan emits a loop over dimension 0 of xs, whose body takes the carries, a slice of each x and extra.
func (e *emitter) mapOrScan(n *exir.Node, init, xs, extra []exir.Arg, body *exir.Graph) {
	carries := make([]*exir.Value, len(init))
	for i := range init {
		carries[i] = e.carry(body.Inputs[i], &init[i])
	}
	ys := n.Outs[len(init):]
	for i, y := range ys {
		if y == nil {
			ys[i] = &exir.Value{Name: "unused", Spec: body.Outputs[len(init)+i].Value.Spec}
		}
		e.resultValue(ys[i])
		e.plan.Values[e.index[ys[i]]].Tensor.Dynamism = pte.DynamicBound // et_copy_index lets it grow, turn by turn
	}
	count, turn := e.add(pte.EValue{Type: pte.Int}), e.add(pte.EValue{Type: pte.Int})
	e.call("aten::sym_size.int", []int32{e.value(xs[0].Value), e.int(0), count})
	e.push(pte.Instruction{Type: pte.MoveCall, A: e.int(0), B: turn})
	start := len(e.ins)
	done := e.add(pte.EValue{Type: pte.Bool})
	e.call("executorch_prim::lt.Scalar", []int32{turn, count, done})
	exit := e.jump(done)
	operands := valueArgs(carries)
	for i := range xs {
		operands = append(operands, exir.ToArg(e.slice(xs[i].Value, body.Inputs[len(init)+i], turn)))
	}
	e.enter(body, append(operands, extra...))
	e.escape(body.Outputs)
	e.graph(body)
	e.node = n
	for i, y := range ys {
		e.call("executorch_prim::et_copy_index.tensor", []int32{e.value(y), e.arg(&body.Outputs[len(init)+i], ""), turn})
	}
	e.reassign(carries, body.Inputs, body.Outputs[:len(init)])
	e.call("executorch_prim::add.Scalar", []int32{turn, e.int(1), turn})
	back := e.jump(e.never())
	e.ins[back].B = int32(start)
	e.land(exit)
	e.loop(start)
	e.finish(n, carries)
	for _, y := range ys {
		e.touch(y, len(e.ins))
	}
}

func (e *emitter) int(x int64) int32 { return e.share(pte.EValue{Type: pte.Int, Int: x}) }

// slice emits row = x[turn].
func (e *emitter) slice(x, like *exir.Value, turn int32) *exir.Value {
	row := &exir.Value{Name: like.Name + "_row", Spec: like.Spec}
	out := e.tensorValue(row)
	e.store(row, len(e.ins))
	e.call("aten::select_copy.int_out", []int32{e.value(x), e.int(0), turn, out, out})
	e.use("aten::select_copy.int_out", []exir.Arg{exir.ToArg(x), exir.ToArg(0), exir.ToArg(0)}, nil)
	return row
}
