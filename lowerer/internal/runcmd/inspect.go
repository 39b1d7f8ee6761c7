package runcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

// Inspect is "pte inspect": it prints every field of the program at path, and where the file's bytes go. The error has a
// code. Of a data file it prints the entries.
func Inspect(path string, asJSON bool, w io.Writer) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fault(path, err)
	}
	if ptd.Is(b) {
		return inspectData(path, b, asJSON, w)
	}
	p, err := pte.Read(b)
	if err != nil {
		return fault(path, err)
	}
	layout, err := pte.Layout(b)
	if err != nil {
		return fault(path, err)
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(describe(len(b), layout, p))
	}
	printSummary(w, p)
	printLayout(w, len(b), layout)
	printData(w, p)
	for _, plan := range p.Plans {
		printPlan(w, plan)
	}
	return nil
}

// printSummary says what there is, and what it takes.
func printSummary(w io.Writer, p *pte.Program) {
	var methods, operators, backends []string
	var constants, payloads, named, planned int64
	for _, plan := range p.Plans {
		methods = append(methods, plan.Name)
		for i := range plan.Operators {
			operators = append(operators, plan.Operators[i].FullName())
		}
		for _, d := range plan.Delegates {
			backends = append(backends, d.ID)
		}
		for _, n := range plan.NonConstBufferSizes {
			planned += n
		}
	}
	for _, b := range p.ConstantBuffers {
		constants += int64(len(b))
	}
	for _, b := range p.DelegateData {
		payloads += int64(len(b))
	}
	for _, d := range p.NamedData {
		named += int64(len(d.Data))
	}
	fmt.Fprintf(w, "methods: %s; operators: %d; delegates: %d", strings.Join(methods, ", "), len(distinct(operators)), len(backends))
	if len(backends) > 0 {
		fmt.Fprintf(w, " of %s", strings.Join(distinct(backends), ", "))
	}
	fmt.Fprintf(w, "\nconstants: %s; payloads: %s; named data: %s; planned memory: %s\n", bench.Size(constants), bench.Size(payloads), bench.Size(named), bench.Size(planned))
}

// distinct sorts list and has each of it once.
func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func printLayout(w io.Writer, size int, layout []pte.Region) {
	fmt.Fprintf(w, "file %d bytes\n", size)
	for _, r := range layout {
		fmt.Fprintf(w, "  %10d %10d  %s\n", r.Offset, r.Size, r.Name)
	}
}

func printData(w io.Writer, p *pte.Program) {
	fmt.Fprintf(w, "version %d\n", p.Version)
	for i, b := range p.ConstantBuffers {
		if i > 0 {
			fmt.Fprintf(w, "constant %d: %d bytes\n", i, len(b))
		}
	}
	for i, b := range p.MutableData {
		if i > 0 {
			fmt.Fprintf(w, "mutable data %d: %d bytes\n", i, len(b))
		}
	}
	for i, b := range p.DelegateData {
		fmt.Fprintf(w, "payload %d: %d bytes\n", i, len(b))
	}
	for _, d := range p.NamedData {
		fmt.Fprintf(w, "named data %q: %d bytes\n", d.Key, len(d.Data))
	}
}

func printPlan(w io.Writer, p *pte.ExecutionPlan) {
	fmt.Fprintf(w, "method %s\n  arenas %v\n  inputs %s\n  outputs %s\n", p.Name, p.NonConstBufferSizes, inputsText(p), typed(p, p.Outputs))
	for _, d := range p.NonConstBufferDevice {
		fmt.Fprintf(w, "  arena %d on device %d:%d\n", d.BufferIdx, d.DeviceType, d.DeviceIndex)
	}
	if p.EncodedInpStr != "" || p.EncodedOutStr != "" {
		fmt.Fprintf(w, "  input tree %s\n  output tree %s\n", p.EncodedInpStr, p.EncodedOutStr)
	}
	for i, d := range p.Delegates {
		fmt.Fprintf(w, "  delegate %d: %s payload %d\n", i, d.ID, d.Processed)
		for _, s := range d.CompileSpecs {
			fmt.Fprintf(w, "    %s = %q\n", s.Key, s.Value)
		}
	}
	fmt.Fprintln(w, "  values")
	for i := range p.Values {
		fmt.Fprintf(w, "    %%%d = %s\n", i, valueText(&p.Values[i]))
	}
	for i, c := range p.Chains {
		fmt.Fprintf(w, "  chain %d%s\n", i, chainIO(&c))
		for j := range c.Instructions {
			fmt.Fprintf(w, "    %4d  %s\n", j, instructionText(p, &c.Instructions[j]))
			if j < len(c.Stacktrace) {
				for _, f := range c.Stacktrace[j] {
					fmt.Fprintf(w, "          at %s:%d %s %s\n", f.Filename, f.Lineno, f.Name, f.Context)
				}
			}
		}
	}
}

func chainIO(c *pte.Chain) string {
	if len(c.Inputs)+len(c.Outputs) == 0 {
		return ""
	}
	return " inputs " + refs(c.Inputs) + " outputs " + refs(c.Outputs)
}

func refs[T int32 | int64](list []T) string {
	var s []string
	for _, v := range list {
		s = append(s, fmt.Sprintf("%%%d", v))
	}
	return "(" + strings.Join(s, ", ") + ")"
}

func valueText(v *pte.EValue) string {
	switch v.Type {
	case pte.Null:
		return "none"
	case pte.Int:
		return fmt.Sprintf("int %d", v.Int)
	case pte.Bool:
		return fmt.Sprintf("bool %t", v.Int != 0)
	case pte.Double:
		return fmt.Sprintf("double %v", v.Double)
	case pte.String:
		return fmt.Sprintf("string %q", v.String)
	case pte.TensorValue:
		return tensorText(v.Tensor)
	case pte.IntList:
		return "ints " + refs(v.Items)
	case pte.DoubleList:
		return fmt.Sprintf("doubles %v", v.Doubles)
	case pte.BoolList:
		return fmt.Sprintf("bools %v", v.Items)
	case pte.TensorList:
		return "tensors " + refs(v.Items)
	case pte.OptionalTensorList:
		return "optional tensors " + refs(v.Items)
	}
	return "absent"
}

var dynamisms = [...]string{"", " bound", " unbound"}

// typeText is what a caller of a method must know of a tensor.
func typeText(t *pte.Tensor) string {
	s := fmt.Sprintf("%v%v", t.ScalarType, t.Sizes)
	if int(t.Dynamism) < len(dynamisms) && t.Dynamism >= 0 {
		s += dynamisms[t.Dynamism]
	}
	return s + orderText(t)
}

// orderText is the order of the dimensions, if it is not theirs.
func orderText(t *pte.Tensor) string {
	for i, d := range t.DimOrder {
		if int(d) != i {
			return fmt.Sprintf(" order %v", t.DimOrder)
		}
	}
	return ""
}

// inputsText are the inputs of a method, with their types and what their sizes may be.
func inputsText(p *pte.ExecutionPlan) string {
	var list []string
	for i, in := range executor.InputsOf(p) {
		text := fmt.Sprintf("%%%d %s", p.Inputs[i], inputText(&in))
		if in.Kind == executor.Tensor {
			text += orderText(p.Values[p.Inputs[i]].Tensor)
		}
		list = append(list, text)
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// typed are values, outputs of a method, with their types.
func typed(p *pte.ExecutionPlan, values []int32) string {
	var s []string
	for _, v := range values {
		text := fmt.Sprintf("%%%d", v)
		if v >= 0 && int(v) < len(p.Values) {
			switch e := &p.Values[v]; e.Type {
			case pte.TensorValue:
				text += " " + typeText(e.Tensor)
			case pte.Int, pte.Bool, pte.Double, pte.String:
				kind, _, _ := strings.Cut(valueText(e), " ")
				text += " " + kind
			}
		}
		s = append(s, text)
	}
	return "(" + strings.Join(s, ", ") + ")"
}

func tensorText(t *pte.Tensor) string {
	s := "tensor " + typeText(t)
	if t.DataBufferIdx != 0 {
		s += fmt.Sprintf(" data %d", t.DataBufferIdx)
	}
	if t.Allocation != nil {
		s += fmt.Sprintf(" at %d:%d", t.Allocation.MemoryID, t.Allocation.Offset)
	}
	if t.StorageOffset != 0 || t.Layout != 0 || t.RequiresGrad {
		s += fmt.Sprintf(" storage_offset %d layout %d requires_grad %t", t.StorageOffset, t.Layout, t.RequiresGrad)
	}
	if e := t.Extra; e != nil {
		s += fmt.Sprintf(" name %q segment %d location %d device %d:%d", e.FullyQualifiedName, e.MutableDataSegmentsIdx,
			e.Location, e.DeviceType, e.DeviceIndex)
	}
	return s
}

func instructionText(p *pte.ExecutionPlan, in *pte.Instruction) string {
	switch in.Type {
	case pte.KernelCall:
		return operatorName(p, in.A) + refs(in.Args)
	case pte.DelegateCall:
		return fmt.Sprintf("delegate %d %s", in.A, refs(in.Args))
	case pte.MoveCall:
		return fmt.Sprintf("move %%%d to %%%d", in.A, in.B)
	case pte.JumpFalseCall:
		return fmt.Sprintf("jump to %d unless %%%d", in.B, in.A)
	case pte.FreeCall:
		return fmt.Sprintf("free %%%d", in.A)
	}
	return "unknown instruction"
}
