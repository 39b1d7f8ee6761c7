package executor

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// EventTracer is a backend.EventTracer that gets the executor's events, too, as ExecuTorch's EventTracer does. Its
// methods are called by one goroutine at a time as long as no two instances of the program run at once.
type EventTracer interface {
	backend.EventTracer
	// CreateEventBlock begins a block: "Default" for each method that an instance gets, "Execute" for each Run.
	CreateEventBlock(name string)
	// SetChainDebugHandle says that the events that follow belong to this instruction of this chain; chain -1 stands for
	// none.
	SetChainDebugHandle(chain, instruction int)
	// StartProfiling begins an event: "Method::init", "Method::execute", or an instruction: "DELEGATE_CALL", "MOVE_CALL",
	// "JF_CALL", "FREE_CALL", or "native_call_" with the name of a kernel.
	StartProfiling(name string) backend.EventTracerEntry
	// EndProfiling ends an event, also one that failed.
	EndProfiling(e backend.EventTracerEntry)
	// LogEvalue takes a value that an instruction made, of a delegate all arguments; or, if output is set, an output of
	// the method. It keeps no reference to v.
	LogEvalue(v *Value, output bool)
}

// FusedTracer is an EventTracer that gets to know which instructions run as one.
type FusedTracer interface {
	EventTracer
	// LogFused says that the instruction whose event begins next runs these, which are of the same chain, the last one itself. It may
	// keep the list and does not change it.
	LogFused(instructions []int)
}

// traceInit runs f, which makes method m of an instance, as an event.
func (m *Method) traceInit(f func() error) error {
	tr := m.m.prog.tracer
	if tr == nil {
		return f()
	}
	tr.CreateEventBlock("Default")
	tr.SetChainDebugHandle(-1, 0)
	defer tr.EndProfiling(tr.StartProfiling("Method::init"))
	return f()
}

// traceRun is execute as a block of events, which ends with the outputs.
func (m *Method) traceRun(tr EventTracer, run func() error) error {
	tr.CreateEventBlock("Execute")
	tr.SetChainDebugHandle(-1, 0)
	e := tr.StartProfiling("Method::execute")
	err := run()
	tr.SetChainDebugHandle(-1, 0)
	tr.EndProfiling(e)
	if err != nil {
		return err
	}
	for _, v := range m.m.plan.Outputs {
		tr.LogEvalue(m.vals[v], true)
	}
	return nil
}

// traceStep is step as an event.
func (m *Method) traceStep(tr EventTracer, pc int) (int, error) {
	s := &m.m.steps[pc]
	part := m.m.isPart(s)
	if m.m.origin == nil || pc == 0 || m.m.instruction(m.m.steps[pc-1].index) != m.m.instruction(s.index) {
		tr.SetChainDebugHandle(s.chain, m.m.instruction(s.index))
	}
	if to, ok := tr.(FusedTracer); ok && s.fused != nil && !part {
		to.LogFused(m.m.instructions(s.fused))
	}
	profile := m.profile
	if part && s.backend == nil {
		profile = m.profilePart
	}
	next, err := profile(tr, s, pc)
	if err != nil {
		return next, err
	}
	if to, ok := tr.(backend.WorkTracer); ok && s.plan != nil {
		to.LogWork(workOf(s.name, m.calls[pc].invoker))
	}
	for _, v := range s.written() {
		tr.LogEvalue(m.vals[v], false)
	}
	return next, nil
}

func (m *Method) profile(tr EventTracer, s *step, pc int) (int, error) {
	defer tr.EndProfiling(tr.StartProfiling(s.eventName()))
	return m.step(pc)
}

// profilePart is profile of a step that an inlined delegate consists of: to who traces it is one of the delegate.
func (m *Method) profilePart(tr EventTracer, s *step, pc int) (int, error) {
	name, id := s.name, m.m.handles[s.index]
	if id != backend.NoHandle {
		name = ""
	} else {
		id = 0
	}
	defer tr.EndProfilingDelegate(tr.StartProfilingDelegate(name, id), []byte(s.name))
	return m.step(pc)
}

// workOf is the work of a call of the kernel name.
func workOf(name string, v *op.Invoker) (w backend.Work) {
	place := placeOf(name, v)
	count := func(t *tensor.Tensor) {
		if t != nil && t != place {
			w.Bytes += int64(t.Nbytes())
		}
	}
	for i := range v.Args {
		count(v.Args[i].Tensor)
		for _, t := range v.Args[i].Tensors {
			count(t)
		}
	}
	for _, t := range v.Outs {
		count(t)
	}
	macs, bytes, cached := op.CachedWork(name, v.Args)
	switch {
	case place != nil:
		w.Bytes *= 2 // as much is written
	case cached:
		w.MACs, w.Bytes = macs, bytes
	case len(v.Outs) > 0:
		sizes := func(i int) []tensor.Dim {
			if i < len(v.Args) && v.Args[i].Tensor != nil {
				return v.Args[i].Tensor.Sizes
			}
			return nil
		}
		w.MACs = op.MACs(name, sizes, v.Outs[0].Sizes, len(v.Args) > op.TransposedArg && v.Args[op.TransposedArg].Int != 0)
		w.Integers = w.MACs > 0 && isChar(&v.Args[0]) && isChar(&v.Args[1])
		w.Window = windowOf(name, v.Args)
	}
	return w
}

// placeOf is the tensor that a call of the kernel name writes parts of, or all, without reading it; nil if it does not.
func placeOf(name string, v *op.Invoker) *tensor.Tensor {
	if name != copyName && !strings.HasPrefix(name, "llama::update_cache") && !slices.Contains(scatters, name) {
		return nil
	}
	for i := range v.Args {
		if t := v.Args[i].Tensor; t != nil && t == v.Outs[0] {
			return t
		}
	}
	return nil
}

// windowArgs are the arguments of operators that say how their windows go: those of the window's sizes (of a convolution the weight),
// of the strides, of the dilations and of the groups; -1 where there is none.
var windowArgs = map[string][4]int{
	"aten::convolution": {1, 3, 5, 8},
	"aten::avg_pool1d":  {1, 2, -1, -1}, "aten::avg_pool2d": {1, 2, -1, -1}, "aten::avg_pool3d": {1, 2, -1, -1},
	"aten::max_pool2d_with_indices": {1, 2, 4, -1}, "aten::max_pool3d_with_indices": {1, 2, 4, -1},
}

// windowOf is the window of a call of the kernel name.
func windowOf(name string, args []op.Value) (w backend.Window) {
	base, _, _ := strings.Cut(name, ".")
	at, ok := windowArgs[base]
	if !ok {
		return w
	}
	size := args[at[0]].Ints
	if weight := args[at[0]].Tensor; weight != nil {
		size = weight.Sizes[min(2, len(weight.Sizes)):]
	}
	list := func(i int) []int64 {
		if i < 0 {
			return nil
		}
		return args[i].Ints
	}
	w.Size = innermost(size, len(size))
	w.Stride = innermost(list(at[1]), len(size))
	if len(list(at[1])) == 0 && at[3] < 0 { // of a pooling they are the window's sizes, then
		w.Stride = w.Size
	}
	w.Dilation = innermost(list(at[2]), len(size))
	if at[3] >= 0 {
		w.Groups = args[at[3]].Int
	}
	return w
}

// innermost are the n numbers of list, at the end; one number stands for all, and none for ones.
func innermost(list []int64, n int) (a [3]int64) {
	for i := range min(n, len(a)) {
		x := int64(1)
		if len(list) > 0 {
			x = list[max(len(list)-1-i, 0)]
		}
		a[len(a)-1-i] = x
	}
	return a
}

// isChar reports whether v is a tensor of int8.
func isChar(v *op.Value) bool { return v.Tensor != nil && v.Tensor.DType == tensor.Char }

// eventNames are ExecuTorch's names of instructions that call no kernel.
var eventNames = map[pte.InstructionType]string{
	pte.DelegateCall: "DELEGATE_CALL", pte.MoveCall: "MOVE_CALL", pte.JumpFalseCall: "JF_CALL", pte.FreeCall: "FREE_CALL",
}

func (s *step) eventName() string {
	if s.kind == pte.KernelCall {
		return "native_call_" + s.name[strings.LastIndexByte(s.name, ':')+1:]
	}
	return eventNames[s.kind]
}

// written are the values that a step may write: of a delegate all arguments, since only it knows which are outputs.
func (s *step) written() []int32 {
	switch {
	case s.kind == pte.DelegateCall:
		return s.args
	case s.prim != nil && len(s.args) > 0:
		return s.args[len(s.args)-1:]
	case s.kind == pte.MoveCall:
		return []int32{s.b}
	}
	return s.outs
}
