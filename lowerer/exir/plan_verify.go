package exir

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// VerifyPlan checks that p is well formed: every index exists, kernels are out variants or prim ops with all their
// arguments, tensors have types, and nothing is read before it is written. Of a plan with memory it checks also
// that every tensor that needs a place has one, that places lie in their arenas, and that none is written while another
// one there is still to be read. The error is a diag.List of faults of the tool that names nodes with their Python lines.
func VerifyPlan(p *Plan) error {
	v := &planVerifier{Plan: p, at: -1}
	v.shape()
	if len(v.errs) == 0 { // what follows takes indices for granted
		v.roots()
		v.effects()
		if p.Planned {
			v.places()
		}
		if len(v.errs) == 0 {
			v.lifetimes()
		}
	}
	return v.errs.Err()
}

type planVerifier struct {
	*Plan
	errs diag.List
	at   int // the instruction being checked, or -1
	// root maps each tensor to the one whose memory it shares, itself for most.
	root []int32
	// reads and writes are the roots that each instruction reads and overwrites; partial those that it writes a part of.
	reads, writes, partial [][]int32
	// tensors are those whose lifetimes count, index the place of each value there, or -1.
	tensors []int32
	index   []int
}

func (v *planVerifier) fail(format string, args ...any) {
	if v.at >= 0 {
		if n := v.node(v.at); n != nil {
			in := v.instructions()[v.at]
			op := instructionWords[in.Type]
			if in.Type == pte.KernelCall && in.A >= 0 && int(in.A) < len(v.Operators) {
				op = v.operator(in.A)
			}
			v.errs = append(v.errs, n.Origin.Fault(diag.Bug, n.Name, op, format, args...))
			return
		}
	}
	v.errs = append(v.errs, diag.New(diag.Bug, v.Name, format, args...))
}

// failAt reports a fault of a tensor at the first instruction that reads or writes it.
func (v *planVerifier) failAt(root int32, format string, args ...any) {
	defer func(at int) { v.at = at }(v.at)
	v.at = -1
	for i := len(v.reads) - 1; i >= 0; i-- {
		if slices.Contains(v.reads[i], root) || slices.Contains(v.writes[i], root) {
			v.at = i
		}
	}
	v.fail(format, args...)
}

// shape checks indices, operators and types.
func (v *planVerifier) shape() {
	for i := range v.Values {
		v.shapeOfValue(int32(i))
	}
	for _, list := range [][]int32{v.Inputs, v.Outputs, v.State} {
		for _, i := range list {
			v.exists(i)
		}
	}
	for i, base := range v.Views {
		if !v.isTensor(i) || !v.isTensor(base) || base >= i {
			v.fail("%s is a view of %s, which is no tensor before it", valueName(i), valueName(base))
		}
	}
	for v.at = range v.instructions() {
		v.shapeOfInstruction(&v.instructions()[v.at])
	}
	v.at = -1
}

func (v *planVerifier) exists(i int32) bool {
	ok := i >= 0 && int(i) < len(v.Values)
	if !ok {
		v.fail("%s does not exist", valueName(i))
	}
	return ok
}

func (v *planVerifier) isTensor(i int32) bool {
	return i >= 0 && int(i) < len(v.Values) && v.Values[i].Type == pte.TensorValue
}

func (v *planVerifier) shapeOfValue(i int32) {
	val := &v.Values[i]
	switch val.Type {
	case pte.TensorValue:
		t := val.Tensor
		switch {
		case !t.ScalarType.Valid():
			v.fail("%s has no element type", valueName(i))
		case len(t.Sizes) > tensor.MaxRank || !isPermutation(t.DimOrder, len(t.Sizes)):
			v.fail("%s has sizes %v and dim order %v", valueName(i), t.Sizes, t.DimOrder)
		case slices.ContainsFunc(t.Sizes, func(s int32) bool { return s < 0 }):
			v.fail("%s has a negative size: %v", valueName(i), t.Sizes)
		}
	case pte.IntList, pte.TensorList, pte.OptionalTensorList:
		for _, item := range val.Items {
			switch {
			case item < 0 && val.Type == pte.OptionalTensorList:
			case item < 0 || item >= int64(len(v.Values)):
				v.fail("%s holds %d, which does not exist", valueName(i), item)
			case (v.Values[item].Type == pte.TensorValue) != (val.Type != pte.IntList):
				v.fail("%s holds %s, which is of another kind", valueName(i), valueName(int32(item)))
			}
		}
	}
}

func (v *planVerifier) shapeOfInstruction(in *pte.Instruction) {
	switch in.Type {
	case pte.KernelCall:
		if in.A < 0 || int(in.A) >= len(v.Operators) {
			v.fail("there is no operator %d", in.A)
			return
		}
		v.kernel(v.operator(in.A), in.Args)
	case pte.DelegateCall:
		if in.A < 0 || int(in.A) >= len(v.Delegates) {
			v.fail("there is no delegate %d", in.A)
		}
	case pte.MoveCall:
		v.exists(in.A)
		v.exists(in.B)
	case pte.JumpFalseCall:
		v.exists(in.A)
		if in.B < 0 || int(in.B) > len(v.instructions()) {
			v.fail("it jumps to %d of %d", in.B, len(v.instructions()))
		}
	case pte.FreeCall:
		v.exists(in.A)
	default:
		v.fail("it is no instruction")
	}
	for _, a := range in.Args {
		v.exists(a)
	}
}

// kernel checks the call of a kernel: an out variant, or another operator that writes its result somewhere.
func (v *planVerifier) kernel(name string, args []int32) {
	want := -1
	switch row := LookupOutRow(name); {
	case row != nil:
		want = len(row.Out.Args) + min(len(row.Outs), 1)
		if len(row.Outs) == 0 { // in place: the written argument once more
			want = len(row.Out.Args) + len(row.Out.Returns)
		}
	case strings.HasPrefix(name, "executorch_prim::"):
	case LookupSchema(name) != nil && IsPrim(LookupSchema(name)):
	default:
		v.fail("%s is no out variant", name)
		return
	}
	if want >= 0 && len(args) != want {
		v.fail("%d values for %s, want %d", len(args), name, want)
		return
	}
	if row := LookupOutRow(name); row != nil {
		for i, p := range row.Out.Args {
			if p.Write && p.Type == "Tensor" && !v.isTensor(args[i]) {
				v.fail("%s, which %s writes, is no tensor", valueName(args[i]), name)
			}
		}
	}
}

// roots finds the tensor behind each view.
func (v *planVerifier) roots() {
	v.root = make([]int32, len(v.Values))
	for i := range v.root {
		v.root[i] = int32(i)
		if base, ok := v.Views[int32(i)]; ok {
			v.root[i] = v.root[base] // views come after what they view
		}
	}
}

// tensorsOf appends the roots of the tensors that value i is or holds.
func (v *planVerifier) tensorsOf(list []int32, i int32) []int32 {
	switch val := &v.Values[i]; val.Type {
	case pte.TensorValue:
		return append(list, v.root[i])
	case pte.TensorList, pte.OptionalTensorList:
		for _, item := range val.Items {
			if item >= 0 {
				list = append(list, v.root[item])
			}
		}
	}
	return list
}

// effects finds what each instruction reads and writes.
func (v *planVerifier) effects() {
	ins := v.instructions()
	v.reads, v.writes, v.partial = make([][]int32, len(ins)), make([][]int32, len(ins)), make([][]int32, len(ins))
	for i := range ins {
		in := &ins[i]
		switch in.Type {
		case pte.KernelCall:
			name := v.operator(in.A)
			for j, a := range in.Args {
				if name == copyIndex && j == 0 {
					v.collects(i, a)
					continue
				}
				switch read, write := effect(name, j); {
				case write && !read:
					v.writes[i] = v.tensorsOf(v.writes[i], a)
				case read:
					v.reads[i] = v.tensorsOf(v.reads[i], a)
				}
			}
		case pte.MoveCall:
			v.reads[i] = v.tensorsOf(nil, in.A)
			v.writes[i] = v.tensorsOf(nil, in.B)
		}
	}
	v.delegates()
}

// copyIndex writes one row of its first argument.
const copyIndex = "executorch_prim::et_copy_index.tensor"

// collects notes that instruction i writes a row of y, which a loop fills: its contents begin where the loop does.
func (v *planVerifier) collects(i int, y int32) {
	start := -1
	for j, in := range v.instructions() {
		if in.Type == pte.JumpFalseCall && int(in.B) <= i && i <= j {
			start = max(start, int(in.B))
		}
	}
	if start <= 0 {
		v.writes[i] = v.tensorsOf(v.writes[i], y)
		return
	}
	v.writes[start-1] = v.tensorsOf(v.writes[start-1], y)
	v.reads[i] = v.tensorsOf(v.reads[i], y)
	v.partial[i] = v.tensorsOf(v.partial[i], y)
}

// effect says what operator name does with its argument j.
func effect(name string, j int) (read, write bool) {
	row := LookupOutRow(name)
	switch {
	case row == nil:
		return true, false
	case j >= len(row.Out.Args): // the results once more
		return false, false
	case name == "aten::copy_":
		return j != 0, j == 0
	}
	p := &row.Out.Args[j]
	return !p.Write || !p.KwOnly, p.Write
}

// delegates finds what delegates write: those arguments that nobody else did before.
func (v *planVerifier) delegates() {
	made := map[int32]bool{}
	for _, i := range slices.Concat(v.Inputs, v.State) {
		made[v.root[i]] = true
	}
	for i := range v.Values {
		if t := v.Values[i].Tensor; t != nil && t.DataBufferIdx != 0 {
			made[v.root[i]] = true
		}
	}
	for i, in := range v.instructions() {
		for _, w := range v.writes[i] {
			made[w] = true
		}
		if in.Type != pte.DelegateCall {
			continue
		}
		for _, a := range in.Args {
			for _, r := range v.tensorsOf(nil, a) {
				if made[r] {
					v.reads[i] = append(v.reads[i], r)
				} else {
					v.writes[i] = append(v.writes[i], r)
				}
			}
		}
		for _, w := range v.writes[i] {
			made[w] = true
		}
	}
}
