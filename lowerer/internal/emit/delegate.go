package emit

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// delegate emits the call of a lowered module: its inputs and then its results. Every call has a BackendDelegate of its
// own; equal payloads become one when they are packed.
func (e *emitter) delegate(n *exir.Node) {
	module := n.Args[0].Lowered
	args := make([]int32, 0, len(n.Args)-1+len(n.Outs))
	for i := range n.Args[1:] {
		args = append(args, e.arg(&n.Args[1+i], ""))
	}
	for _, v := range n.Outs {
		args = append(args, e.delegateOut(v))
	}
	e.plan.Delegates = append(e.plan.Delegates, pte.BackendDelegate{
		ID: module.BackendID, Processed: len(e.shared.payloads), CompileSpecs: module.CompileSpecs})
	e.shared.payloads = append(e.shared.payloads, module.Processed)
	e.padding = max(e.padding, int64(module.ArenaPadding))
	e.push(pte.Instruction{Type: pte.DelegateCall, A: int32(len(e.plan.Delegates) - 1), Args: args})
}

func (e *emitter) delegateOut(v *exir.Value) int32 {
	if v.Kind != exir.TensorValue {
		e.resultValue(v)
		return e.index[v]
	}
	at := e.tensorValue(v)
	if !e.output[v] || e.opts.AllocOutput {
		e.store(v, len(e.ins))
	}
	return at
}
