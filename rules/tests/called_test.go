package tests

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// inspected is what `pte inspect --json` says of a program, as far as it picks kernels and backends.
type inspected struct {
	Methods []struct {
		Values    []inspectedValue
		Delegates []struct{ ID string }
		Chains    []struct {
			Instructions []struct {
				Kind, Operator string
				Args           []int32
			}
		}
	}
}

type inspectedValue struct {
	Kind   string
	Value  json.RawMessage
	Tensor *struct {
		DType string
		Sizes []int64
	}
}

// kinds are those of values that a kernel is picked by.
var kinds = map[string]op.Kind{
	"int": op.Int, "bool": op.Bool, "double": op.Float, "tensor": op.Tensor, "tensors": op.Tensors, "optional_tensors": op.Tensors,
}

// members are the indices that a list of tensors holds.
func (v *inspectedValue) members() (list []int32) {
	if json.Unmarshal(v.Value, &list) != nil {
		return nil
	}
	return list
}

// meta is a tensor's element type and rank, which are all that picks a kernel.
func (v *inspectedValue) meta() tensor.Meta {
	return tensor.Meta{DType: tensor.ParseScalarType(v.Tensor.DType), Sizes: v.Tensor.Sizes}
}

// value is v as the row's key sees it.
func value(values []inspectedValue, i int32) op.Value {
	v := &values[i]
	out := op.Value{Kind: kinds[v.Kind]}
	switch v.Kind {
	case "tensor":
		out.Tensor = &tensor.Tensor{Meta: v.meta()}
	case "tensors", "optional_tensors":
		for _, m := range v.members() {
			if m < 0 || values[m].Tensor == nil {
				out.Tensors = append(out.Tensors, nil)
				continue
			}
			out.Tensors = append(out.Tensors, &tensor.Tensor{Meta: values[m].meta()})
		}
	}
	return out
}

// outs are the metas of an out argument.
func outs(values []inspectedValue, i int32) (metas []tensor.Meta) {
	list := []int32{i}
	if values[i].Kind == "tensors" {
		list = values[i].members()
	}
	for _, m := range list {
		metas = append(metas, values[m].meta())
	}
	return metas
}

// called are the kernels that a program calls, by the operators and the element types in the .pte, and the ids of its
// delegates; both sorted, each once.
func called(t *testing.T, text string) (kernels, backends []string) {
	t.Helper()
	var p inspected
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	table := op.NewTable(op.Kernels)
	for _, m := range p.Methods {
		for _, d := range m.Delegates {
			backends = append(backends, d.ID)
		}
		for _, c := range m.Chains {
			for _, in := range c.Instructions {
				def, sig := table.Def(in.Operator)
				switch {
				case in.Kind != "kernel" || primitive(in.Operator):
					continue
				case def == nil:
					t.Errorf("no row for %s", in.Operator)
					continue
				}
				kernels = append(kernels, kernelOf(t, def, sig, m.Values, in.Args))
			}
		}
	}
	slices.Sort(kernels)
	slices.Sort(backends)
	return slices.Compact(kernels), slices.Compact(backends)
}

// primitive reports an operator that the executor has itself, on numbers and sizes.
func primitive(name string) bool {
	return strings.HasPrefix(name, "executorch_prim::") ||
		slices.Contains([]string{"aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense"}, name)
}

// kernelOf is the variable of the kernel that a call picks.
func kernelOf(t *testing.T, def *op.Def, sig *op.Signature, values []inspectedValue, all []int32) string {
	t.Helper()
	var args []op.Value
	var results []tensor.Meta
	for i, p := range sig.Params {
		if p.Out || p.InPlace {
			results = append(results, outs(values, all[i])...)
		}
		if p.Out {
			continue
		}
		a := value(values, all[i])
		if strings.HasPrefix(p.Type, "float") && a.Kind == op.Int {
			a.Kind = op.Float
		}
		args = append(args, a)
	}
	dtype := op.KeyOf(def, args, results)
	for i, k := range op.Kernels {
		if k.Def == def && k.DType == dtype {
			return op.KernelNames[i]
		}
	}
	t.Errorf("%s has no kernel for %s", sig.Name, dtype)
	return ""
}
