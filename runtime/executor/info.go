package executor

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ValueInfo describes an input or output.
type ValueInfo struct {
	Kind Kind
	// Meta holds, for a tensor, the element type, the sizes (the largest ones if Dynamism is
	// DynamicBound) and the order.
	Meta     tensor.Meta
	Dynamism pte.Dynamism
	// Planned reports that the tensor has a place in an arena; other inputs are read where the caller has them.
	Planned bool
	// Written reports an input that the method writes.
	Written bool
	// Sizes are what each dimension of a tensor may be; of an input, as the program's guards say where there are any. They have its Name, too.
	Sizes []SizeInfo
	Name  string
}

// SizeInfo are the sizes that a dimension may have: from Least to Most or, if Derived is not empty, what it follows from, such as
// "2*s0 + 1".
type SizeInfo struct {
	Least, Most int64
	Derived     string
}

// MethodInfo describes a method.
type MethodInfo struct {
	Name            string
	Inputs, Outputs []ValueInfo
	// Arenas are how many bytes of the planned arenas an instance takes, those of memory id 1 first: what the file says, or less where
	// steps that run as one, or at load, need fewer tensors.
	Arenas   []int64
	Backends []string
}

// Methods are the names of the program's methods, in the file's order.
func (p *Program) Methods() []string {
	var names []string
	for _, m := range p.methods {
		names = append(names, m.plan.Name)
	}
	return names
}

// Method describes the method of this name; ok is false if there is none.
func (p *Program) Method(name string) (info MethodInfo, ok bool) {
	for _, m := range p.methods {
		if m.plan.Name == name {
			return m.info(), true
		}
	}
	return MethodInfo{}, false
}

// Info describes the method.
func (m *Method) Info() MethodInfo { return m.m.info() }

func (m *method) info() MethodInfo {
	info := MethodInfo{Name: m.plan.Name, Inputs: m.infos(m.plan.Inputs), Outputs: m.infos(m.plan.Outputs)}
	for i := range info.Inputs {
		info.Inputs[i].Written = m.writesBack[i]
	}
	m.describe(info.Inputs)
	if len(m.arenas) > 1 {
		info.Arenas = append(info.Arenas, m.arenas[1:]...)
	}
	for i, d := range m.plan.Delegates {
		if _, inlined := m.parts[int32(i)]; !inlined {
			info.Backends = append(info.Backends, d.ID)
		}
	}
	return info
}

func (m *method) infos(list []int32) []ValueInfo {
	infos := make([]ValueInfo, len(list))
	for i, v := range list {
		infos[i].Kind = m.vals[v].Kind
		if t := m.vals[v].Tensor; t != nil {
			infos[i].Meta = t.Meta.Clone()
			infos[i].Dynamism = m.plan.Values[v].Tensor.Dynamism
			infos[i].Sizes = sizeInfos(t.Sizes, infos[i].Dynamism)
			infos[i].Planned = m.place[v] == planned
		}
	}
	return infos
}

// kinds are those of the values that inputs can be.
var kinds = map[pte.ValueType]Kind{pte.Int: Int, pte.Bool: Bool, pte.Double: Float, pte.String: String, pte.TensorValue: Tensor}

// InputsOf describes the inputs of a plan as a file has them, whether it can be loaded or not: kinds, types, orders and sizes. What is
// malformed there, which Load refuses, it leaves out.
func InputsOf(plan *pte.ExecutionPlan) []ValueInfo {
	m, infos := &method{plan: plan}, make([]ValueInfo, len(plan.Inputs))
	for i, v := range plan.Inputs {
		if v < 0 || int(v) >= len(plan.Values) {
			continue
		}
		infos[i].Kind = kinds[plan.Values[v].Type]
		if t := plan.Values[v].Tensor; t != nil {
			infos[i].Meta.DType, infos[i].Meta.DimOrder, infos[i].Dynamism = t.ScalarType, slices.Clone(t.DimOrder), t.Dynamism
			for _, n := range t.Sizes {
				infos[i].Meta.Sizes = append(infos[i].Meta.Sizes, tensor.Dim(n))
			}
			infos[i].Sizes = sizeInfos(infos[i].Meta.Sizes, t.Dynamism)
		}
	}
	_ = m.loadGuards() // up to the first that cannot be used
	m.describe(infos)
	return infos
}

// sizeInfos are what sizes may be by themselves.
func sizeInfos(sizes []tensor.Dim, d pte.Dynamism) (list []SizeInfo) {
	for _, n := range sizes {
		s := SizeInfo{Least: int64(n), Most: int64(n)}
		if d != pte.Static {
			s.Least = 0
		}
		if d == pte.DynamicUnbound {
			s.Most = math.MaxInt64
		}
		list = append(list, s)
	}
	return list
}
