package emit

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func (e *emitter) operator(name string) int32 {
	base, overload, _ := strings.Cut(name, ".")
	o := pte.Operator{Name: base, Overload: overload}
	i, ok := e.ops[o]
	if !ok {
		i = int32(len(e.plan.Operators))
		e.plan.Operators = append(e.plan.Operators, o)
		e.ops[o] = i
	}
	return i
}

func (e *emitter) graph(g *exir.Graph) {
	for _, n := range g.Nodes {
		e.node = n
		switch {
		case n.Op == exir.CallDelegate:
			e.delegate(n)
		case n.Op.Kind == "hop":
			e.controlFlow(n)
		case n.Asserts():
			e.assert(n)
		case e.elide(n):
		case exir.LookupRow(n.Op.Name) != nil:
			e.kernel(n, exir.LookupRow(n.Op.Name))
		case strings.HasPrefix(n.Op.Name, "executorch_prim::") || primOps[n.Op.Name]:
			e.prim(n)
		default:
			e.fail(diag.UnsupportedOperator, "no kernel and no rule for this operator")
		}
	}
	e.node = nil
}

// primOps are the operators of namespace aten that the official runtime registers as prim ops.
var primOps = map[string]bool{"aten::sym_size.int": true, "aten::sym_numel": true, "aten::_local_scalar_dense": true}

// elide gives a view of a static planned or constant tensor its base's storage instead of an instruction.
func (e *emitter) elide(n *exir.Node) bool {
	if n.Op.Name != "aten::view_copy" {
		return false
	}
	in, out := n.Args[0].Value, n.Outs[0]
	stores := e.stores[in]
	if e.output[out] || e.escapes[out] || e.state[in] || len(stores) != 1 || in.Const != nil || !out.Spec.Static() || !in.Spec.Static() ||
		!in.Spec.Contiguous() || e.node.Outs[0].Spec.DType != in.Spec.DType {
		return false
	}
	e.tensorValue(out)
	e.stores[out] = stores
	e.views[e.index[out]] = e.index[in]
	stores[0].values = append(stores[0].values, e.index[out])
	return true
}

// kernel emits the call of n's out variant: its arguments, the outs, and the result once more.
func (e *emitter) kernel(n *exir.Node, row *exir.Row) {
	picked, err := row.OutArgs(n.Op, n.Args)
	if err != nil {
		e.fail(diag.UnsupportedFeature, "%w", err)
		return
	}
	outs := e.newOuts(n)
	args := make([]int32, len(row.Out.Args))
	for i, at := range row.In {
		args[at] = e.arg(&picked[i], row.Out.Args[at].Type)
	}
	for i, at := range row.Outs {
		if row.Out.Args[at].Type == "Tensor[]" {
			args[at] = e.list(pte.TensorList, outs)
		} else if i < len(outs) {
			args[at] = outs[i]
		}
	}
	switch {
	case len(row.Outs) == 0:
	case len(row.Outs) == 1:
		args = append(args, args[row.Outs[0]])
	default:
		args = append(args, e.list(pte.TensorList, outs))
	}
	e.call(row.Out.Name, args)
	e.use(row.Out.Name, picked, n)
	e.stats.Nodes = append(e.stats.Nodes, n)
}

func (e *emitter) list(t pte.ValueType, items []int32) int32 {
	wide := make([]int64, len(items))
	for i, at := range items {
		wide[i] = int64(at)
	}
	return e.share(pte.EValue{Type: t, Items: wide})
}

// newOuts makes the values of n's results and their storage.
func (e *emitter) newOuts(n *exir.Node) []int32 {
	outs := make([]int32, len(n.Outs))
	for i, v := range n.Outs {
		if v == nil {
			v = &exir.Value{Name: "unused", Spec: n.Outs[0].Spec}
		}
		outs[i] = e.tensorValue(v)
		if !e.output[v] || e.opts.AllocOutput {
			e.store(v, len(e.ins))
		}
	}
	return outs
}

// prim emits a prim op: its arguments and the number that receives the result.
func (e *emitter) prim(n *exir.Node) {
	args := make([]int32, 0, len(n.Args)+1)
	for i := range n.Args {
		args = append(args, e.arg(&n.Args[i], n.Op.Args[i].Type))
	}
	out := n.Outs[0]
	zero := pte.EValue{Type: pte.Int}
	switch out.Kind {
	case exir.SymBool:
		zero.Type = pte.Bool
	case exir.SymFloat:
		zero.Type = pte.Double
	}
	e.index[out] = e.add(zero)
	e.call(n.Op.Name, append(args, e.index[out]))
}

// arg is the EValue of an argument. Equal literals are one EValue, which nobody writes.
func (e *emitter) arg(a *exir.Arg, typ string) int32 {
	if a.Kind == exir.ArgValue {
		return e.value(a.Value)
	}
	return e.share(e.literal(a, typ))
}

// literal is the EValue of what is not a value of the graph.
func (e *emitter) literal(a *exir.Arg, typ string) pte.EValue {
	switch a.Kind {
	case exir.ArgInt, exir.ArgDType, exir.ArgMemoryFormat:
		if strings.HasPrefix(typ, "float") {
			return pte.EValue{Type: pte.Double, Double: float64(a.Int)}
		}
		if tensor.IsSymbol(a.Int) {
			e.fail(diag.UnsupportedFeature, "a symbolic size has no value")
		}
		return pte.EValue{Type: pte.Int, Int: a.Int}
	case exir.ArgLayout:
		return pte.EValue{Type: pte.Int}
	case exir.ArgBool:
		return pte.EValue{Type: pte.Bool, Int: a.Int}
	case exir.ArgFloat:
		return pte.EValue{Type: pte.Double, Double: a.Float}
	case exir.ArgString:
		return pte.EValue{Type: pte.String, String: a.Str}
	case exir.ArgList:
		return e.listArg(a, typ)
	}
	return pte.EValue{Type: pte.Null}
}

// content is what an EValue that is no tensor holds, to find an equal one by.
type content struct {
	typ  pte.ValueType
	bits uint64
	text string
}

// share is the EValue that holds what v does, for literals, and lists of them and of values.
func (e *emitter) share(v pte.EValue) int32 {
	key := content{typ: v.Type, text: v.String}
	switch v.Type {
	case pte.Int, pte.Bool:
		key.bits = uint64(v.Int)
	case pte.Double:
		key.bits = math.Float64bits(v.Double)
	case pte.IntList, pte.BoolList, pte.TensorList, pte.OptionalTensorList:
		var b []byte
		for _, n := range v.Items {
			b = binary.AppendVarint(b, n)
		}
		key.text = string(b)
	case pte.DoubleList:
		var b []byte
		for _, x := range v.Doubles {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		key.text = string(b)
	}
	at, ok := e.literals[key]
	if !ok {
		at = e.add(v)
		e.literals[key] = at
	}
	return at
}

func (e *emitter) listArg(a *exir.Arg, typ string) pte.EValue {
	v := pte.EValue{Type: listType(a, typ)}
	for i := range a.List {
		m := &a.List[i]
		switch v.Type {
		case pte.DoubleList:
			x := m.Float
			if m.Kind != exir.ArgFloat {
				x = float64(m.Int)
			}
			v.Doubles = append(v.Doubles, x)
		case pte.BoolList:
			v.Items = append(v.Items, m.Int)
		case pte.OptionalTensorList:
			at := int64(-1)
			if m.Kind == exir.ArgValue {
				at = int64(e.value(m.Value))
			}
			v.Items = append(v.Items, at)
		default:
			v.Items = append(v.Items, int64(e.arg(m, "int")))
		}
	}
	return v
}

func listType(a *exir.Arg, typ string) pte.ValueType {
	switch strings.TrimSuffix(typ, "?") {
	case "Tensor?[]":
		return pte.OptionalTensorList
	case "Tensor[]":
		return pte.TensorList
	case "float[]":
		return pte.DoubleList
	case "bool[]":
		return pte.BoolList
	}
	if len(a.List) > 0 && a.List[0].Kind == exir.ArgFloat {
		return pte.DoubleList
	}
	return pte.IntList
}

// use notes the kernel that a call needs, and refuses one that nobody has.
func (e *emitter) use(out string, args []exir.Arg, n *exir.Node) {
	row := exir.LookupOutRow(out)
	if row == nil {
		e.fail(diag.UnsupportedOperator, "no kernel for %s", out)
		return
	}
	values := make([]op.Value, len(args))
	for i := range args {
		values[i] = exir.ToValue(&args[i])
	}
	var metas []tensor.Meta
	if n != nil {
		for _, v := range n.Outs {
			if v != nil {
				metas = append(metas, v.Spec)
			}
		}
	}
	dtype := op.KeyOf(row.Def, values, metas)
	for i, k := range op.Kernels {
		if k.Def == row.Def && k.DType == dtype {
			e.stats.Kernels = append(e.stats.Kernels, exir.KernelUse{Op: out, DType: dtype.String(), Var: op.KernelNames[i]})
			if e.opts.Official && row.Def.Tags&op.Extension != 0 {
				e.fail(diag.UnsupportedOperator, "%s has no kernel in the official runtime, and the spec says operators: \"official\"", out)
			}
			return
		}
	}
	e.fail(diag.UnsupportedDType, "%s has no kernel for %s", out, dtype).
		WithHint("it takes %s; convert the input of that line", strings.Join(dtypesOf(row.Def), ", "))
}

// dtypesOf are the element types that there are kernels for.
func dtypesOf(d *op.Def) (names []string) {
	for _, k := range op.Kernels {
		if k.Def == d {
			names = append(names, k.DType.String())
		}
	}
	return names
}
