package etrecord

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// writer makes a graph of a method's. Nested graphs lie in the same list of nodes, where their caller would be. What no node
// in the list makes is an input: arguments, constants, and the results of control flow, which has no Edge operator.
type writer struct {
	graph
	size  func(d tensor.Dim) int64
	names map[*exir.Value]string
	used  map[string]bool
}

func graphOf(m *exir.Method, size func(d tensor.Dim) int64) *exportedProgram {
	w := &writer{size: size, names: map[*exir.Value]string{}, used: map[string]bool{}}
	w.graph = graph{Inputs: []union{}, Outputs: []union{}, Nodes: []node{}, Tensors: map[string]tensorMeta{},
		Ints: map[string]union{}, Bools: map[string]union{}, Objects: map[string]union{}}
	w.nodes(m.Graph)
	for i := range m.Graph.Outputs {
		if v := m.Graph.Outputs[i].Value; m.Graph.Outputs[i].Kind == exir.ArgValue && v.Kind == exir.TensorValue {
			w.Outputs = append(w.Outputs, w.tensor(v))
		}
	}
	s := signature{Inputs: []union{}, Outputs: []union{}}
	for _, in := range w.Inputs {
		s.Inputs = append(s.Inputs, union{"user_input": union{"arg": in}})
	}
	for _, out := range w.Outputs {
		s.Outputs = append(s.Outputs, union{"user_output": union{"arg": out}})
	}
	return &exportedProgram{GraphModule: graphModule{w.graph, s, []moduleCall{{}}}, OpsetVersion: map[string]int{"aten": 10},
		Ranges: map[string]bool{}, Version: schemaVersion{5, 4}, Verifiers: []string{}, Dialect: "EDGE"}
}

// nodes appends those of g.
func (w *writer) nodes(g *exir.Graph) {
	for _, n := range g.Nodes {
		for i := range n.Args {
			if n.Args[i].Kind == exir.ArgGraph {
				w.nodes(n.Args[i].Graph)
			}
		}
		if isEdge(n) {
			w.node(n)
		}
	}
}

// isEdge reports a call of an operator that the Edge dialect has, whose results are tensors.
func isEdge(n *exir.Node) bool {
	return n.Op.Kind != "hop" && !exir.IsPrim(n.Op) &&
		!slices.ContainsFunc(n.Outs, func(v *exir.Value) bool { return v != nil && v.Kind != exir.TensorValue })
}

// edgeOps is before the name of an operator.
const edgeOps = "executorch.exir.dialects.edge.ops."

// node appends n.
func (w *writer) node(n *exir.Node) {
	x := node{Name: n.Name, Target: edgeOps + exir.PythonName(n.Op.Name), Inputs: []namedArgument{},
		Outputs: []union{}, Metadata: metadata(n)}
	for i := range n.Op.Args {
		x.Inputs = append(x.Inputs, namedArgument{n.Op.Args[i].Name, w.argument(&n.Args[i], n.Op.Args[i].Type)})
	}
	var list []tensorName
	for i, v := range n.Outs {
		if v == nil { // an absent result still has a name
			v = &exir.Value{Name: n.Name + "_unused_" + strconv.Itoa(i)}
		}
		w.define(v)
		x.Outputs = append(x.Outputs, union{"as_tensor": tensorName{w.names[v]}})
		list = append(list, tensorName{w.names[v]})
	}
	if len(n.Op.Returns) == 1 && n.Op.Returns[0].Type == "Tensor[]" {
		x.Outputs = []union{{"as_tensors": list}}
	}
	w.Nodes = append(w.Nodes, x)
}

// metadata are a node's debug handle and where it is in the user's Python.
func metadata(n *exir.Node) map[string]string {
	m := map[string]string{}
	if n.DebugHandle > 0 {
		m["debug_handle"] = strconv.Itoa(n.DebugHandle)
	}
	var stack strings.Builder
	for _, f := range n.Frames {
		stack.WriteString("  File \"" + f.File + "\", line " + strconv.Itoa(f.Line))
		if f.Func != "" {
			stack.WriteString(", in " + f.Func)
		}
		stack.WriteString("\n    " + f.Text + "\n")
	}
	if stack.Len() > 0 {
		m["stack_trace"] = stack.String()
	}
	if n.Module != "" && !strings.ContainsAny(n.Module, ",;()[]") {
		m["nn_module_stack"] = n.Module + "," + n.Module + ",torch.nn.modules.module.Module"
	}
	return m
}

// define gives v a name of its own and notes its type.
func (w *writer) define(v *exir.Value) {
	name := v.Name
	for i := 1; w.used[name]; i++ {
		name = v.Name + "_" + strconv.Itoa(i)
	}
	w.used[name], w.names[v] = true, name
	m := tensorMeta{DType: dtype(int64(v.Spec.DType)), Sizes: []union{}, Device: device{Type: "cpu"}, Strides: []union{},
		StorageOffset: union{"as_int": 0}, Layout: strided}
	spec := v.Spec.Clone()
	for i, d := range spec.Sizes {
		spec.Sizes[i] = w.size(d)
		m.Sizes = append(m.Sizes, union{"as_int": spec.Sizes[i]})
	}
	for _, stride := range spec.Strides(nil) {
		m.Strides = append(m.Strides, union{"as_int": stride})
	}
	w.Tensors[name] = m
}

// dtype is schema.py's number of an element type.
func dtype(t int64) int {
	if tensor.ScalarType(t) == tensor.BFloat16 {
		return 13
	}
	return int(t) + 1
}

// tensor is a reference to v, an input if no node made it.
func (w *writer) tensor(v *exir.Value) union {
	if w.names[v] == "" {
		w.define(v)
		w.Inputs = append(w.Inputs, union{"as_tensor": tensorName{w.names[v]}})
	}
	return union{"as_tensor": tensorName{w.names[v]}}
}

// argument is an argument of the type t. A number of run time is that of the export, or 0.
func (w *writer) argument(a *exir.Arg, t string) union {
	switch a.Kind {
	case exir.ArgValue:
		if a.Value.Kind == exir.TensorValue {
			return w.tensor(a.Value)
		}
		return union{"as_int": w.size(a.Value.Sym)}
	case exir.ArgInt:
		return union{"as_int": w.size(a.Int)}
	case exir.ArgBool:
		return union{"as_bool": a.Int != 0}
	case exir.ArgFloat:
		return number(a.Float)
	case exir.ArgString:
		return union{"as_string": a.Str}
	case exir.ArgDType:
		return union{"as_scalar_type": dtype(a.Int)}
	case exir.ArgMemoryFormat:
		return union{"as_memory_format": memoryFormats[a.Int]}
	case exir.ArgLayout:
		return union{"as_layout": strided}
	case exir.ArgDevice:
		return union{"as_device": device{Type: "cpu"}}
	case exir.ArgList:
		return w.list(a.List, t)
	}
	return union{"as_none": []int{}}
}

// number is a float. JSON has none that are not finite; those are text.
func number(f float64) union {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return union{"as_string": strconv.FormatFloat(f, 'g', -1, 64)}
	}
	return union{"as_float": f}
}

// list is an argument that is a list of the type t.
func (w *writer) list(list []exir.Arg, t string) union {
	tensors, optional := []tensorName{}, []union{}
	ints, floats, bools := []int64{}, []float64{}, []bool{}
	kind := exir.ArgInt
	for i := range list {
		a := &list[i]
		if optional = append(optional, w.argument(a, "")); a.Kind == exir.ArgValue && a.Value.Kind == exir.TensorValue {
			tensors = append(tensors, tensorName{w.names[a.Value]})
		}
		if kind = a.Kind; a.Kind == exir.ArgValue { // a size of run time
			kind, ints = exir.ArgInt, append(ints, w.size(a.Value.Sym))
			continue
		}
		ints, floats, bools = append(ints, w.size(a.Int)), append(floats, a.Float), append(bools, a.Int != 0)
	}
	switch {
	case strings.HasPrefix(t, "Tensor?["):
		return union{"as_optional_tensors": optional}
	case strings.HasPrefix(t, "Tensor["):
		return union{"as_tensors": tensors}
	case kind == exir.ArgFloat:
		return union{"as_floats": floats}
	case kind == exir.ArgBool:
		return union{"as_bools": bools}
	}
	return union{"as_ints": ints}
}
