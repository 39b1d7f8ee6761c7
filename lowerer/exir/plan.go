package exir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Plan is a method of out variants: its instructions, before or after its tensors have places in arenas, with what
// the file does not say.
type Plan struct {
	*pte.ExecutionPlan
	// Planned says that tensors have their places.
	Planned bool
	// Nodes are what the instructions of the one chain were made of; nil for what moves values around.
	Nodes []*Node
	// Views maps a tensor that no instruction writes to the one whose memory it shares.
	Views map[int32]int32
	// State are the tensors that keep their contents from call to call.
	State []int32
}

// Text is the plan in lines, which ParsePlan reads back:
//
//	plan forward planned
//	arena 1: 32
//	v0: f32[2, 3] bound
//	v1: f32[3] constant 1
//	v2: int 1
//	v3: f32[2, 3] at 1+0
//	inputs [v0]
//	outputs [v3]
//	0: aten::add.out(v0, v1, v2, v3, v3)  # add 12 model.py:25 fc
//	1: jump_false v4 to 0
//	2: move v2 to v5
//
// A tensor has its place as ARENA+OFFSET in bytes, constant N where it is the constant number N, state N where its
// first content is the mutable one number N (0 for none), and view of the tensor whose memory it shares. What follows
// # is the node's name, and its origin as in Method.Text.
func (p *Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %s", quoteName(p.Name))
	if p.Planned {
		b.WriteString(" planned")
	}
	b.WriteString("\n")
	for _, s := range []struct{ key, text string }{{"in_spec", p.EncodedInpStr}, {"out_spec", p.EncodedOutStr}} {
		if s.text != "" {
			fmt.Fprintf(&b, "%s %q\n", s.key, s.text)
		}
	}
	for i, size := range p.NonConstBufferSizes {
		if i > 0 {
			fmt.Fprintf(&b, "arena %d: %d\n", i, size)
		}
	}
	for i := range p.Delegates {
		b.WriteString(delegateText(&p.Delegates[i]))
	}
	for i := range p.Values {
		fmt.Fprintf(&b, "v%d: %s\n", i, p.value(int32(i)))
	}
	fmt.Fprintf(&b, "inputs %s\noutputs %s\n", valueNames(p.Inputs, "[", "]"), valueNames(p.Outputs, "[", "]"))
	for i := range p.instructions() {
		fmt.Fprintf(&b, "%d: %s\n", i, p.instruction(i))
	}
	return b.String()
}

func (p *Plan) instructions() []pte.Instruction {
	if len(p.Chains) == 0 {
		return nil
	}
	return p.Chains[0].Instructions
}

// node is what instruction i was made of, or nil.
func (p *Plan) node(i int) *Node {
	if i < len(p.Nodes) {
		return p.Nodes[i]
	}
	return nil
}

func delegateText(d *pte.BackendDelegate) string {
	return fmt.Sprintf("delegate %s payload %d specs %s\n", quoteName(d.ID), d.Processed, specsText(d.CompileSpecs))
}

func valueName(i int32) string {
	if i < 0 {
		return "None"
	}
	return "v" + strconv.Itoa(int(i))
}

func valueNames[T int32 | int64](list []T, open, shut string) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = valueName(int32(v))
	}
	return open + strings.Join(names, ", ") + shut
}

// listWords are the words for the kinds of lists.
var listWords = map[pte.ValueType]string{
	pte.IntList: "ints", pte.TensorList: "tensors", pte.OptionalTensorList: "optionals", pte.BoolList: "bools", pte.DoubleList: "floats",
}

func (p *Plan) value(i int32) string {
	switch v := &p.Values[i]; v.Type {
	case pte.Int:
		return "int " + strconv.FormatInt(v.Int, 10)
	case pte.Bool:
		return "bool " + strconv.FormatBool(v.Int != 0)
	case pte.Double:
		return "float " + floatText(v.Double)
	case pte.String:
		return "string " + strconv.Quote(v.String)
	case pte.TensorValue:
		return p.tensor(i, v.Tensor)
	case pte.BoolList:
		texts := make([]string, len(v.Items))
		for i, x := range v.Items {
			texts[i] = strconv.FormatBool(x != 0)
		}
		return listWords[v.Type] + " [" + strings.Join(texts, ", ") + "]"
	case pte.DoubleList:
		texts := make([]string, len(v.Doubles))
		for i, x := range v.Doubles {
			texts[i] = floatText(x)
		}
		return listWords[v.Type] + " [" + strings.Join(texts, ", ") + "]"
	case pte.IntList, pte.TensorList, pte.OptionalTensorList:
		return listWords[v.Type] + " " + valueNames(v.Items, "[", "]")
	}
	return "None"
}

// dynamisms are the words for what is not static.
var dynamisms = [...]string{pte.Static: "", pte.DynamicBound: " bound", pte.DynamicUnbound: " unbound"}

func (p *Plan) tensor(i int32, t *pte.Tensor) string {
	m := tensor.Meta{DType: t.ScalarType, DimOrder: t.DimOrder}
	for _, s := range t.Sizes {
		m.Sizes = append(m.Sizes, int64(s))
	}
	if slices.IsSorted(t.DimOrder) {
		m.DimOrder = nil
	}
	text := (&printer{}).meta(&m) + dynamisms[t.Dynamism]
	switch {
	case slices.Contains(p.State, i):
		text += fmt.Sprintf(" state %d", t.DataBufferIdx)
	case t.DataBufferIdx != 0:
		text += fmt.Sprintf(" constant %d", t.DataBufferIdx)
	}
	if base, ok := p.Views[i]; ok {
		text += " view of " + valueName(base)
	}
	if a := t.Allocation; a != nil {
		text += fmt.Sprintf(" at %d+%d", a.MemoryID, a.Offset)
	}
	return text
}

// instructionWords are the words that instructions other than kernel calls begin with.
var instructionWords = [...]string{
	pte.DelegateCall: "delegate", pte.MoveCall: "move", pte.JumpFalseCall: "jump_false", pte.FreeCall: "free",
}

func (p *Plan) instruction(i int) string {
	text := ""
	switch in := &p.instructions()[i]; in.Type {
	case pte.KernelCall:
		text = p.operator(in.A) + valueNames(in.Args, "(", ")")
	case pte.DelegateCall:
		text = fmt.Sprintf("delegate %d%s", in.A, valueNames(in.Args, "(", ")"))
	case pte.MoveCall:
		text = "move " + valueName(in.A) + " to " + valueName(in.B)
	case pte.JumpFalseCall:
		text = fmt.Sprintf("jump_false %s to %d", valueName(in.A), in.B)
	case pte.FreeCall:
		text = "free " + valueName(in.A)
	}
	n := p.node(i)
	if n == nil {
		return text
	}
	origin := strings.TrimPrefix(originText(&n.Origin), "  #")
	if origin == "" {
		origin = " 0"
	}
	return text + "  # " + quoteName(n.Name) + origin
}

// operator is the full name of operator i.
func (p *Plan) operator(i int32) string { return p.Operators[i].FullName() }
