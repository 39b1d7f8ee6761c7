package runcmd

import (
	"fmt"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// The structs below are what `pte inspect --json` prints: a program with names in the place of numbers, and with the
// sizes of buffers in the place of their bytes.

type programJSON struct {
	Size      int          `json:"size"`
	Layout    []regionJSON `json:"layout"`
	Version   uint32       `json:"version"`
	Constants []int        `json:"constants"`
	Mutable   []int        `json:"mutable_data"`
	Payloads  []int        `json:"delegate_data"`
	Named     []namedJSON  `json:"named_data"`
	Methods   []methodJSON `json:"methods"`
}

type regionJSON struct {
	Name   string `json:"name"`
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size"`
}

type namedJSON struct {
	Key  string `json:"key"`
	Size int    `json:"size"`
}

type methodJSON struct {
	Name       string         `json:"name"`
	Inputs     []int32        `json:"inputs"`
	Takes      []string       `json:"takes"`
	Outputs    []int32        `json:"outputs"`
	InputTree  string         `json:"input_tree,omitempty"`
	OutputTree string         `json:"output_tree,omitempty"`
	Arenas     []int64        `json:"arenas"`
	Devices    []deviceJSON   `json:"arena_devices,omitempty"`
	Values     []valueJSON    `json:"values"`
	Operators  []string       `json:"operators"`
	Delegates  []delegateJSON `json:"delegates"`
	Chains     []chainJSON    `json:"chains"`
}

type deviceJSON struct {
	Arena int32 `json:"arena"`
	Type  int8  `json:"type"`
	Index int8  `json:"index"`
}

type valueJSON struct {
	Kind   string      `json:"kind"`
	Value  any         `json:"value,omitempty"`
	Tensor *tensorJSON `json:"tensor,omitempty"`
}

type tensorJSON struct {
	DType         string     `json:"dtype"`
	Sizes         []int32    `json:"sizes"`
	DimOrder      []int      `json:"dim_order"`
	Dynamism      string     `json:"dynamism"`
	Data          uint32     `json:"data_buffer,omitempty"`
	Arena         *placeJSON `json:"allocation,omitempty"`
	StorageOffset int32      `json:"storage_offset,omitempty"`
	Layout        int8       `json:"layout,omitempty"`
	RequiresGrad  bool       `json:"requires_grad,omitempty"`
	Extra         *extraJSON `json:"extra,omitempty"`
}

type placeJSON struct {
	Arena  uint32 `json:"memory_id"`
	Offset uint64 `json:"offset"`
}

type extraJSON struct {
	Name     string `json:"name,omitempty"`
	Segment  uint64 `json:"mutable_data_segment"`
	Location string `json:"location"`
	Device   int8   `json:"device_type"`
	Index    int8   `json:"device_index"`
}

type delegateJSON struct {
	ID      string     `json:"id"`
	Payload int        `json:"payload"`
	Specs   []specJSON `json:"compile_specs"`
}

type specJSON struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

type chainJSON struct {
	Inputs       []int32           `json:"inputs,omitempty"`
	Outputs      []int32           `json:"outputs,omitempty"`
	Instructions []instructionJSON `json:"instructions"`
}

type instructionJSON struct {
	Kind     string      `json:"kind"`
	Operator string      `json:"operator,omitempty"`
	Delegate *int32      `json:"delegate,omitempty"`
	Value    *int32      `json:"value,omitempty"`
	To       *int32      `json:"to,omitempty"`
	Args     []int32     `json:"args,omitempty"`
	Stack    []frameJSON `json:"stack,omitempty"`
}

type frameJSON struct {
	File string `json:"file"`
	Line int32  `json:"line"`
	Func string `json:"func"`
	Text string `json:"text"`
}

func describe(size int, layout []pte.Region, p *pte.Program) programJSON {
	d := programJSON{Size: size, Version: p.Version, Layout: []regionJSON{}, Constants: sizes(p.ConstantBuffers),
		Mutable: sizes(p.MutableData), Payloads: sizes(p.DelegateData), Named: []namedJSON{}, Methods: []methodJSON{}}
	for _, r := range layout {
		d.Layout = append(d.Layout, regionJSON(r))
	}
	for _, n := range p.NamedData {
		d.Named = append(d.Named, namedJSON{n.Key, len(n.Data)})
	}
	for _, plan := range p.Plans {
		d.Methods = append(d.Methods, describePlan(plan))
	}
	return d
}

func sizes(buffers [][]byte) []int {
	out := make([]int, len(buffers))
	for i, b := range buffers {
		out[i] = len(b)
	}
	return out
}

func describePlan(p *pte.ExecutionPlan) methodJSON {
	m := methodJSON{Name: p.Name, Inputs: p.Inputs, Takes: []string{}, Outputs: p.Outputs, InputTree: p.EncodedInpStr, OutputTree: p.EncodedOutStr,
		Arenas: p.NonConstBufferSizes, Values: []valueJSON{}, Operators: []string{}, Delegates: []delegateJSON{}}
	for _, in := range executor.InputsOf(p) {
		m.Takes = append(m.Takes, inputText(&in))
	}
	for _, d := range p.NonConstBufferDevice {
		m.Devices = append(m.Devices, deviceJSON{d.BufferIdx, d.DeviceType, d.DeviceIndex})
	}
	for i := range p.Values {
		m.Values = append(m.Values, describeValue(&p.Values[i]))
	}
	for i := range p.Operators {
		m.Operators = append(m.Operators, operatorName(p, int32(i)))
	}
	for _, d := range p.Delegates {
		j := delegateJSON{ID: d.ID, Payload: d.Processed, Specs: []specJSON{}}
		for _, s := range d.CompileSpecs {
			j.Specs = append(j.Specs, specJSON(s))
		}
		m.Delegates = append(m.Delegates, j)
	}
	for i := range p.Chains {
		m.Chains = append(m.Chains, describeChain(p, &p.Chains[i]))
	}
	return m
}

func describeValue(v *pte.EValue) valueJSON {
	switch v.Type {
	case pte.Null:
		return valueJSON{Kind: "none"}
	case pte.Int:
		return valueJSON{Kind: "int", Value: v.Int}
	case pte.Bool:
		return valueJSON{Kind: "bool", Value: v.Int != 0}
	case pte.Double:
		return valueJSON{Kind: "double", Value: doubles([]float64{v.Double})[0]}
	case pte.String:
		return valueJSON{Kind: "string", Value: v.String}
	case pte.IntList:
		return valueJSON{Kind: "ints", Value: v.Items}
	case pte.DoubleList:
		return valueJSON{Kind: "doubles", Value: doubles(v.Doubles)}
	case pte.BoolList:
		return valueJSON{Kind: "bools", Value: v.Items}
	case pte.TensorList:
		return valueJSON{Kind: "tensors", Value: v.Items}
	case pte.OptionalTensorList:
		return valueJSON{Kind: "optional_tensors", Value: v.Items}
	case pte.TensorValue:
		return valueJSON{Kind: "tensor", Tensor: describeTensor(v.Tensor)}
	}
	return valueJSON{Kind: "absent"}
}

// doubles are numbers as JSON can hold them: infinities and NaN are text.
func doubles(list []float64) []any {
	out := make([]any, len(list))
	for i, f := range list {
		out[i] = f
		if f-f != 0 {
			out[i] = fmt.Sprint(f)
		}
	}
	return out
}

var dynamismNames = [...]string{"static", "bound", "unbound"}

func describeTensor(t *pte.Tensor) *tensorJSON {
	d := &tensorJSON{DType: t.ScalarType.String(), Sizes: t.Sizes, DimOrder: make([]int, len(t.DimOrder)),
		Dynamism: dynamismNames[t.Dynamism], Data: t.DataBufferIdx, StorageOffset: t.StorageOffset, Layout: t.Layout,
		RequiresGrad: t.RequiresGrad}
	for i, x := range t.DimOrder {
		d.DimOrder[i] = int(x)
	}
	if t.Allocation != nil {
		d.Arena = &placeJSON{t.Allocation.MemoryID, t.Allocation.Offset}
	}
	if e := t.Extra; e != nil {
		location := "segment"
		if e.Location == 1 {
			location = "external"
		}
		d.Extra = &extraJSON{e.FullyQualifiedName, e.MutableDataSegmentsIdx, location, e.DeviceType, e.DeviceIndex}
	}
	return d
}

func describeChain(p *pte.ExecutionPlan, c *pte.Chain) chainJSON {
	d := chainJSON{Inputs: c.Inputs, Outputs: c.Outputs, Instructions: []instructionJSON{}}
	for j := range c.Instructions {
		in := describeInstruction(p, &c.Instructions[j])
		if j < len(c.Stacktrace) {
			for _, f := range c.Stacktrace[j] {
				in.Stack = append(in.Stack, frameJSON{f.Filename, f.Lineno, f.Name, f.Context})
			}
		}
		d.Instructions = append(d.Instructions, in)
	}
	return d
}

func describeInstruction(p *pte.ExecutionPlan, in *pte.Instruction) instructionJSON {
	switch in.Type {
	case pte.KernelCall:
		return instructionJSON{Kind: "kernel", Operator: operatorName(p, in.A), Args: in.Args}
	case pte.DelegateCall:
		return instructionJSON{Kind: "delegate", Delegate: &in.A, Args: in.Args}
	case pte.MoveCall:
		return instructionJSON{Kind: "move", Value: &in.A, To: &in.B}
	case pte.JumpFalseCall:
		return instructionJSON{Kind: "jump_false", Value: &in.A, To: &in.B}
	case pte.FreeCall:
		return instructionJSON{Kind: "free", Value: &in.A}
	}
	return instructionJSON{Kind: "none"}
}

// operatorName is "aten::add.out" for operator i of p.
func operatorName(p *pte.ExecutionPlan, i int32) string {
	if i < 0 || int(i) >= len(p.Operators) {
		return fmt.Sprintf("operator %d", i)
	}
	return p.Operators[i].FullName()
}
