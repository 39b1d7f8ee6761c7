package exir

import (
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// ExecutorchProgram is a lowered program: all of a .pte but the bytes of its constants.
type ExecutorchProgram struct {
	// Program has nil buffers; a tensor's DataBufferIdx i stands for Constants[i-1], or, where it has an
	// allocation, for Mutable[i-1].
	Program *pte.Program
	// Constants and Mutable are expressions over the weights of the .pt2 files, one .pte buffer each.
	Constants, Mutable []*Constant
	// Files has the name of the data file of each of Constants, "" for the .pte; nil if there are none. The tensors of such
	// a constant have Extra, with its key: the weight's name, or a placeholder of its content key.
	Files []string
	// Payloads are the delegates', which BackendDelegate.Processed refers to; NamedData is what they refer to.
	Payloads  []Blob
	NamedData []*NamedData
	// Requirements are what the delegates took for granted; packing checks them.
	Requirements []Requirement
	// Kernels are the names in .pte files and element types of the kernels that the instructions call, sorted.
	Kernels []KernelUse
	// Machine is what the program was lowered for.
	Machine Machine
}

// Machine is a row of cue/targets, as far as a runtime has to match it.
type Machine struct {
	// Name is the target's; OS and Arch are "any" if any will do.
	Name, OS, Arch string
	CPUFeatures    []string
}

// Requirement is that a constant which could not be read when its program was lowered is 0 everywhere.
type Requirement struct {
	Zero *Constant
	// Otherwise is the error of a constant that is not; it has no cause.
	Otherwise *diag.Error
}

// File is the data file of Constants[i], or "".
func (p *ExecutorchProgram) File(i int) string {
	if i < len(p.Files) {
		return p.Files[i]
	}
	return ""
}

// KernelUse is one kernel that a program calls.
type KernelUse struct {
	// Op is the out variant, such as "aten::add.out"; Var the Go variable of the kernel in runtime/op.
	Op, DType, Var string
}

// Walk calls f for every graph nested in g, innermost first, and last for g.
func (g *Graph) Walk(f func(*Graph) error) error {
	for _, n := range g.Nodes {
		for i := range n.Args {
			if n.Args[i].Kind == ArgGraph {
				if err := n.Args[i].Graph.Walk(f); err != nil {
					return err
				}
			}
		}
	}
	return f(g)
}

// EachValue calls f for every value that a is or holds; f may replace it.
func (a *Arg) EachValue(f func(v **Value)) {
	switch a.Kind {
	case ArgValue:
		f(&a.Value)
	case ArgList:
		for i := range a.List {
			a.List[i].EachValue(f)
		}
	}
}

// EachArg calls f for a and every member of it, lists last.
func (a *Arg) EachArg(f func(*Arg) error) error {
	for i := range a.List {
		if err := a.List[i].EachArg(f); err != nil {
			return err
		}
	}
	return f(a)
}

// CloneArgs copies args so that replacing members leaves the original alone.
func CloneArgs(args []Arg) []Arg {
	out := append([]Arg(nil), args...)
	for i := range out {
		if out[i].Kind == ArgList {
			out[i].List = CloneArgs(out[i].List)
		}
	}
	return out
}
