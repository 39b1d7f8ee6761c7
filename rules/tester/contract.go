package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

const contractHead = "# What a program promises to its callers. Made by pte_contract_test.\n"

// runContract holds what callers of a program depend on against a committed text.
func runContract(_ io.Writer, args []string) error {
	var t test
	f := t.flags("contract")
	program := f.String("program", "", "the program")
	if err := f.Parse(args); err != nil {
		return err
	}
	p, err := readProgram(*program)
	if err != nil {
		return fmt.Errorf("%s: %w", t.target, err)
	}
	return t.compare(contract(p))
}

func readProgram(name string) (*pte.Program, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	p, err := pte.Read(data)
	if err != nil {
		return nil, fmt.Errorf("read program %s: %w", name, err)
	}
	return p, nil
}

// contract is the methods in the order of their names, with the types of inputs and outputs, and the backends that must be
// there.
func contract(p *pte.Program) string {
	var b strings.Builder
	b.WriteString(contractHead)
	plans := slices.Clone(p.Plans)
	slices.SortFunc(plans, func(x, y *pte.ExecutionPlan) int { return strings.Compare(x.Name, y.Name) })
	for _, plan := range plans {
		fmt.Fprintf(&b, "method %s\n", plan.Name)
		for i, v := range plan.Inputs {
			fmt.Fprintf(&b, "  input %d: %s\n", i, typeOf(&plan.Values[v], plan))
		}
		for i, v := range plan.Outputs {
			fmt.Fprintf(&b, "  output %d: %s\n", i, typeOf(&plan.Values[v], plan))
		}
		for _, id := range backendsOf(plan) {
			fmt.Fprintf(&b, "  backend %s\n", id)
		}
	}
	return b.String()
}

// backendsOf are the ids of a plan's delegates, sorted, each once.
func backendsOf(plan *pte.ExecutionPlan) (ids []string) {
	for _, d := range plan.Delegates {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// kinds are the names of values that are no tensors.
var kinds = map[pte.ValueType]string{
	pte.Null: "none", pte.Int: "int", pte.Bool: "bool", pte.Double: "double", pte.String: "string", pte.IntList: "list of int",
	pte.DoubleList: "list of double", pte.BoolList: "list of bool", pte.TensorList: "list of tensor",
	pte.OptionalTensorList: "list of optional tensor",
}

// typeOf is a value's type as a caller sees it: element type and sizes of a tensor, which are upper bounds if its shape may
// change.
func typeOf(v *pte.EValue, plan *pte.ExecutionPlan) string {
	switch {
	case v.Type == pte.TensorList:
		types := make([]string, len(v.Items))
		for i, item := range v.Items {
			types[i] = typeOf(&plan.Values[item], plan)
		}
		return kinds[v.Type] + ": " + strings.Join(types, ", ")
	case v.Type != pte.TensorValue:
		return kinds[v.Type]
	}
	t := v.Tensor
	text := fmt.Sprintf("%v %s", t.ScalarType, sizes(t.Sizes))
	switch t.Dynamism {
	case pte.DynamicBound:
		return fmt.Sprintf("%v at most %s", t.ScalarType, sizes(t.Sizes))
	case pte.DynamicUnbound:
		return text + " without a bound"
	}
	return text
}

func sizes(s []int32) string { return strings.ReplaceAll(fmt.Sprint(s), " ", ", ") }
