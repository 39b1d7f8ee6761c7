package emit

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// assert emits a move of a condition to itself, which other runtimes run as such, and the line that makes it a check.
func (e *emitter) assert(n *exir.Node) {
	cond := &n.Args[0]
	if cond.Kind == exir.ArgBool && cond.Int != 0 {
		return
	}
	at := e.arg(cond, "Scalar")
	pc := e.push(pte.Instruction{Type: pte.MoveCall, A: at, B: at})
	line := []string{strconv.Itoa(pc), condition(n.Args[1].Str), place(n)}
	for _, v := range operandsOf(cond, nil) {
		name := v.Name
		if v.Kind == exir.SymInt && tensor.IsSymbol(v.Sym) {
			name = e.table.String(v.Sym)
		}
		line = append(line, name, strconv.Itoa(int(e.index[v])))
	}
	for i, field := range line {
		line[i] = strings.Join(strings.Fields(field), " ")
	}
	e.asserts.WriteString(strings.Join(line, "\t") + "\n")
}

// numberInputs moves every symbolic integer that the caller gives, and that no instruction reads, to itself: a number that
// a program leaves alone is one that the export fixed.
func (e *emitter) numberInputs() {
	read := map[int32]bool{}
	for i := range e.ins {
		in := &e.ins[i]
		args := in.Args
		if in.Type == pte.MoveCall || in.Type == pte.JumpFalseCall {
			args = []int32{in.A}
		}
		for _, v := range args {
			read[v] = true
			for _, member := range e.plan.Values[v].Items {
				read[int32(member)] = true
			}
		}
	}
	for i, v := range e.m.Graph.Inputs {
		if v == nil || v.Kind != exir.SymInt || e.m.Inputs[i].Kind != exir.UserInput || read[e.index[v]] || !tensor.IsSymbol(v.Sym) {
			continue
		}
		e.push(pte.Instruction{Type: pte.MoveCall, A: e.index[v], B: e.index[v]})
	}
}

// condition is what torch.export says that does not hold, or the text of the user.
func condition(text string) string {
	rest, ok := strings.CutPrefix(text, "Runtime assertion failed for expression ")
	if at := strings.LastIndex(rest, " on node "); ok && at >= 0 {
		return rest[:at]
	}
	return text
}

// place is the user's Python line that n is of, without the folder: "net.py:41", or "".
func place(n *exir.Node) string {
	f := n.UserFrame()
	if f == nil {
		return ""
	}
	return path.Base(f.File) + ":" + strconv.Itoa(f.Line)
}

// operandsOf appends the numbers that a is computed of by arithmetic to list, each once.
func operandsOf(a *exir.Arg, list []*exir.Value) []*exir.Value {
	if a.Kind != exir.ArgValue || a.Value.Kind == exir.TensorValue {
		return list
	}
	v := a.Value
	if v.Node == nil || !strings.HasPrefix(v.Node.Op.Name, "executorch_prim::") {
		if v.Kind == exir.SymBool || slices.Contains(list, v) {
			return list
		}
		return append(list, v)
	}
	for i := range v.Node.Args {
		list = operandsOf(&v.Node.Args[i], list)
	}
	return list
}
