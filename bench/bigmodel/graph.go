package bigmodel

import "fmt"

// The types below are the part of torch's schema that the models need (torch/_export/serde/schema.py).
type object = map[string]any

const (
	float32Type   = 7
	stridedLayout = 7
)

// meta is a contiguous float32 tensor's.
func meta(sizes ...int64) object {
	step := int64(1)
	dims, strides := make([]object, len(sizes)), make([]object, len(sizes))
	for i := len(sizes) - 1; i >= 0; i-- {
		dims[i], strides[i] = object{"as_int": sizes[i]}, object{"as_int": step}
		step *= sizes[i]
	}
	return object{
		"dtype": float32Type, "sizes": dims, "strides": strides, "storage_offset": object{"as_int": 0},
		"requires_grad": false, "device": object{"type": "cpu", "index": nil}, "layout": stridedLayout,
	}
}

func tensor(name string) object { return object{"as_tensor": object{"name": name}} }

// graph collects a graph in torch's schema.
type graph struct {
	inputs, nodes, specs []object
	values               object
}

func (g *graph) input(name string, spec object, sizes ...int64) {
	g.inputs = append(g.inputs, tensor(name))
	g.specs = append(g.specs, spec)
	g.values[name] = meta(sizes...)
}

func (g *graph) node(target, out string, outMeta object, inputs ...[2]string) {
	args := make([]object, len(inputs))
	for i, in := range inputs {
		args[i] = object{"name": in[0], "arg": tensor(in[1]), "kind": 1}
	}
	g.nodes = append(g.nodes, object{
		"target": "torch.ops.aten." + target, "inputs": args, "outputs": []object{tensor(out)}, "metadata": object{},
		"is_hop_single_tensor_return": nil, "name": out,
	})
	g.values[out] = outMeta
}

// transposed is a side × side matrix's with the strides of its transpose.
func transposed(side int64) object {
	m := meta(side, side)
	m["strides"] = []object{{"as_int": 1}, {"as_int": side}}
	return m
}

// layer multiplies x with matrix i and gives the name of the product.
func (g *graph) layer(i int, x string, side int64) string {
	matrix, y := fmt.Sprintf("p_%d", i), fmt.Sprintf("y_%d", i)
	if i%3 != 2 {
		g.node("linear.default", y, meta(1, side), [2]string{"input", x}, [2]string{"weight", matrix})
		return y
	}
	t := fmt.Sprintf("t_%d", i)
	g.node("t.default", t, transposed(side), [2]string{"self", matrix})
	g.node("mm.default", y, meta(1, side), [2]string{"self", x}, [2]string{"mat2", t})
	return y
}

// model is the record models/model.json.
func model(side int64) object {
	g := &graph{values: object{}}
	for i := range layers {
		name := fmt.Sprintf("p_%d", i)
		g.input(name, object{"parameter": object{"arg": object{"name": name}, "parameter_name": weight(i)}}, side, side)
	}
	g.input("x", object{"user_input": object{"arg": tensor("x")}}, 1, side)
	x := "x"
	for i := range layers {
		x = g.layer(i, x, side)
	}
	return object{
		"graph_module": object{
			"graph": object{
				"inputs": g.inputs, "outputs": []object{tensor(x)}, "nodes": g.nodes, "tensor_values": g.values,
				"sym_int_values": object{}, "sym_bool_values": object{}, "sym_float_values": object{},
				"custom_obj_values": object{}, "is_single_tensor_return": false,
			},
			"signature": object{
				"input_specs":  g.specs,
				"output_specs": []object{{"user_output": object{"arg": tensor(x)}}},
			},
			"module_call_graph": []object{},
			"metadata":          object{}, "treespec_namedtuple_fields": object{},
		},
		"opset_version": object{"aten": 10}, "range_constraints": object{},
		"schema_version": object{"major": 8, "minor": 20}, "verifiers": []string{"TRAINING"},
		"torch_version": "2.13.0", "guards_code": []string{},
	}
}
