// Package emit turns the graphs of a program into execution plans: values,
// instructions and arenas (reference: ExecuTorch's exir/emit/_emitter.py).
package emit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Options of the emission.
type Options struct {
	// AllocInput and AllocOutput say that inputs and outputs lie in the arena, not in the caller's memory.
	AllocInput, AllocOutput bool
	// Alignment of offsets in arenas, in bytes, a power of two.
	Alignment int
	// Stacktrace puts the nodes' Python frames into the file.
	Stacktrace bool
	// Official makes an operator without a kernel in the official runtime an error.
	Official bool
	// Stage, if set, is called with every plan, before and after its tensors have their places.
	Stage func(p *exir.Plan) error
	// Banks are the memories for arenas, in the order in which they are filled; none is the one with memory id 1.
	Banks []Bank
}

// Bank is a memory that all methods of a program share the room of.
type Bank struct {
	Name string
	// MemoryID is the arena's number in the program, from 1 on.
	MemoryID int
	// Limit is the capacity in bytes, or memory.NoLimit.
	Limit int64
}

// OverflowError says that a method does not fit what is left of the last bank.
type OverflowError struct {
	Method, Bank string
	// Need is what all methods up to this one take of the bank, Bound what they take at least, Limit what it has, in bytes.
	Need, Bound, Limit int64
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("bank %s: needs %d bytes, has %d", e.Bank, e.Need, e.Limit)
}

// Stats says what a method's plan holds.
type Stats struct {
	// LowerBound is the peak of live bytes.
	LowerBound int64
	// Banks are the planned bytes in each bank.
	Banks map[string]int64
	// Nodes are those that became kernel calls.
	Nodes []*exir.Node
	// Unbounded lists inputs' and values' names that have a dimension without a bound.
	Unbounded []string
	Kernels   []exir.KernelUse
}

// Program emits every method, in the order of their names.
func Program(p *exir.Program, table *symint.Table, opts Options) (*exir.ExecutorchProgram, map[string]*Stats, error) {
	out := &exir.ExecutorchProgram{Program: &pte.Program{}}
	if len(opts.Banks) == 0 {
		opts.Banks = []Bank{{Name: "ram", MemoryID: 1, Limit: memory.NoLimit}}
	}
	shared := &constants{index: map[*exir.Constant]uint32{}, first: map[string]uint32{}, places: map[string]uint64{},
		arena: stateArena(opts.Banks), used: make([]int64, len(opts.Banks))}
	stats := map[string]*Stats{}
	var errs []error
	var done []*emitter
	var padding int64
	for _, m := range p.Methods {
		e := newEmitter(m, p, table, opts, shared)
		if err := e.method(); err != nil {
			errs = append(errs, err)
			continue
		}
		out.Program.Plans = append(out.Program.Plans, e.plan)
		padding = max(padding, e.padding)
		done = append(done, e)
		stats[m.Name] = &e.stats
		out.Kernels = append(out.Kernels, e.stats.Kernels...)
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	for _, e := range done {
		if e.sharesState {
			setArena(e.plan, shared.arena, shared.size+padding)
			e.stats.LowerBound += shared.size
		}
		if err := e.check(true); err != nil {
			return nil, nil, err
		}
	}
	out.Constants, out.Mutable, out.Payloads = shared.constants, shared.mutable, shared.payloads
	out.Kernels = sortedUses(out.Kernels)
	return out, stats, nil
}

func sortedUses(uses []exir.KernelUse) []exir.KernelUse {
	sort.Slice(uses, func(i, j int) bool {
		a, b := uses[i], uses[j]
		return a.Op < b.Op || a.Op == b.Op && (a.DType < b.DType || a.DType == b.DType && a.Var < b.Var)
	})
	kept := uses[:0]
	for i, u := range uses {
		if i == 0 || u != uses[i-1] {
			kept = append(kept, u)
		}
	}
	return kept
}

// constants are shared by the methods of a program. The same weight under two names is one constant.
type constants struct {
	index              map[*exir.Constant]uint32
	constants, mutable []*exir.Constant
	payloads           []exir.Blob
	// first has each state's index in mutable, places its offset in the shared arena, number arena, of size bytes.
	first  map[string]uint32
	places map[string]uint64
	size   int64
	arena  int
	// used are the bytes of each bank that the methods so far take.
	used []int64
}

func (c *constants) constant(k *exir.Constant) uint32 {
	if i, ok := c.index[k]; ok {
		return i
	}
	c.constants = append(c.constants, k)
	c.index[k] = uint32(len(c.constants))
	return c.index[k]
}

// initial is the index of the first content of the state called target.
func (c *constants) initial(target string, k *exir.Constant) uint32 {
	if i, ok := c.first[target]; ok {
		return i
	}
	c.mutable = append(c.mutable, k)
	c.first[target] = uint32(len(c.mutable))
	return c.first[target]
}

// place is the offset of the state called target in the shared arena.
func (c *constants) place(target string, size, align int64) uint64 {
	at, ok := c.places[target]
	if !ok {
		at = uint64(c.size+align-1) / uint64(align) * uint64(align)
		c.places[target] = at
		c.size = int64(at) + size
	}
	return at
}

// storage is a place in an arena that one or more values share.
type storage struct {
	size        int64
	first, last int
	values      []int32
	pinned      bool // lives for the whole method
}

type emitter struct {
	m      *exir.Method
	prog   *exir.Program
	table  *symint.Table
	opts   Options
	shared *constants
	plan   *pte.ExecutionPlan
	ins    []pte.Instruction
	traces [][]pte.Frame
	nodes  []*exir.Node    // of ins
	views  map[int32]int32 // what an elided view shares the memory of
	index  map[*exir.Value]int32
	// literals are the EValues that calls share, by what they hold.
	literals map[content]int32
	stores   map[*exir.Value][]*storage // a value merged from two branches has both
	order    []*storage
	ops      map[pte.Operator]int32
	loops    [][2]int
	state    map[*exir.Value]bool // mutated buffers
	output   map[*exir.Value]bool
	// escapes are results of loop bodies and new states.
	escapes map[*exir.Value]bool
	node    *exir.Node
	// asserts has a line for each check (pte.AssertsPrefix).
	asserts strings.Builder
	// sharesState says that the method uses the arena that methods share.
	sharesState bool
	// padding is added to every arena, since a delegate may read past its end.
	padding int64
	stats   Stats
	errs    []error
}

func newEmitter(m *exir.Method, p *exir.Program, table *symint.Table, opts Options, shared *constants) *emitter {
	return &emitter{m: m, prog: p, table: table, opts: opts, shared: shared,
		plan:  &pte.ExecutionPlan{Name: m.Name, EncodedInpStr: m.InSpec, EncodedOutStr: m.OutSpec},
		index: map[*exir.Value]int32{}, literals: map[content]int32{}, stores: map[*exir.Value][]*storage{}, ops: map[pte.Operator]int32{},
		state: map[*exir.Value]bool{}, output: map[*exir.Value]bool{}, escapes: map[*exir.Value]bool{}, views: map[int32]int32{}}
}

func (e *emitter) method() error {
	e.placeholders()
	e.graph(e.m.Graph)
	e.keepOld()
	e.writeBack()
	e.outputs()
	e.numberInputs()
	e.guards()
	if e.asserts.Len() > 0 {
		e.add(pte.EValue{Type: pte.String, String: pte.AssertsPrefix + e.asserts.String()})
	}
	if len(e.errs) > 0 {
		return errors.Join(e.errs...)
	}
	e.plan.Chains = []pte.Chain{{Instructions: e.ins, Stacktrace: e.traces}}
	if err := e.check(false); err != nil {
		return err
	}
	return e.allocate()
}

// check verifies the plan as it is now and shows it to Options.Stage.
func (e *emitter) check(planned bool) error {
	p := &exir.Plan{ExecutionPlan: e.plan, Planned: planned, Nodes: e.nodes, Views: e.views}
	for v := range e.state {
		p.State = append(p.State, e.index[v])
	}
	slices.Sort(p.State)
	if err := exir.VerifyPlan(p); err != nil || e.opts.Stage == nil {
		return err
	}
	return e.opts.Stage(p)
}

func (e *emitter) fail(code diag.Code, format string, args ...any) *diag.Error {
	err := diag.New(code, e.m.Name, format, args...)
	if e.node != nil {
		err = e.node.Fault(code, format, args...)
	}
	e.errs = append(e.errs, err)
	return err
}

// placeholders makes the values of the method's inputs, and marks the state.
func (e *emitter) placeholders() {
	mutated := e.prog.MutatedBuffers()
	e.escape(e.m.Graph.Outputs)
	for i := range e.m.Graph.Outputs {
		if e.m.Outputs[i].Kind == exir.UserOutput && e.m.Graph.Outputs[i].Kind == exir.ArgValue {
			e.output[e.m.Graph.Outputs[i].Value] = true
		}
	}
	for i, v := range e.m.Graph.Inputs {
		spec := e.m.Inputs[i]
		switch {
		case spec.Kind == exir.ConstantInput:
			e.plan.Inputs = append(e.plan.Inputs, e.add(e.literal(&spec.Value, "")))
		case spec.Kind == exir.UserInput && v == nil:
			e.plan.Inputs = append(e.plan.Inputs, e.add(pte.EValue{Type: pte.Null}))
		case spec.Kind == exir.UserInput:
			e.plan.Inputs = append(e.plan.Inputs, e.input(v))
		case mutated[spec.Target]:
			e.state[v] = true
			e.mutable(v, spec.Target)
		}
	}
}

func (e *emitter) input(v *exir.Value) int32 {
	switch v.Kind {
	case exir.SymInt:
		hint := v.Sym
		if tensor.IsSymbol(hint) {
			hint = 0
		}
		e.index[v] = e.add(pte.EValue{Type: pte.Int, Int: hint})
	case exir.SymFloat:
		e.index[v] = e.add(pte.EValue{Type: pte.Double})
	case exir.SymBool:
		e.index[v] = e.add(pte.EValue{Type: pte.Bool})
	default:
		at := e.tensorValue(v)
		if e.opts.AllocInput {
			e.store(v, 0)
		}
		return at
	}
	return e.index[v]
}

// mutable makes the value of a buffer that is written. Where a program has several methods it lies in an arena that
// they share (ExecuTorch's share_mutable_buffers): number 2, as there, if no bank has it.
func (e *emitter) mutable(v *exir.Value, target string) {
	at := e.tensorValue(v)
	t := e.plan.Values[at].Tensor
	if len(e.prog.Methods) == 1 {
		e.store(v, 0).pinned = true
	} else {
		t.Allocation = &pte.Allocation{MemoryID: uint32(e.shared.arena), Offset: e.shared.place(target, nbytes(t), int64(e.opts.Alignment))}
		e.sharesState = true
	}
	if v.Const != nil {
		t.DataBufferIdx = e.shared.initial(target, v.Const)
	}
}

func (e *emitter) add(v pte.EValue) int32 {
	e.plan.Values = append(e.plan.Values, v)
	return int32(len(e.plan.Values) - 1)
}

// tensorValue makes the EValue of a tensor, without storage.
func (e *emitter) tensorValue(v *exir.Value) int32 {
	t := &pte.Tensor{ScalarType: v.Spec.DType, Sizes: make([]int32, v.Spec.Rank()), DimOrder: make([]uint8, v.Spec.Rank())}
	for i := range t.Sizes {
		t.DimOrder[i] = uint8(i)
		if v.Spec.DimOrder != nil {
			t.DimOrder[i] = v.Spec.DimOrder[i]
		}
		hi, bounded := e.upper(v.Spec.Sizes[i])
		t.Sizes[i] = int32(hi)
		switch {
		case !bounded:
			t.Dynamism = pte.DynamicUnbound
			e.stats.Unbounded = append(e.stats.Unbounded, v.Name)
		case tensor.IsSymbol(v.Spec.Sizes[i]) && t.Dynamism == pte.Static:
			t.Dynamism = pte.DynamicBound
		}
	}
	at := e.add(pte.EValue{Type: pte.TensorValue, Tensor: t})
	e.index[v] = at
	return at
}

// maxSize is the largest size of a dimension that counts as a bound: ExecuTorch's sizes are int32.
const maxSize = math.MaxInt32

// upper is the largest size of d, or what it is at export, which is none.
func (e *emitter) upper(d tensor.Dim) (size int64, bounded bool) {
	if !tensor.IsSymbol(d) {
		return d, d <= maxSize
	}
	_, hi := e.table.Bounds(d)
	if hi > maxSize {
		return min(max(e.table.Hint(d), 0), maxSize), false
	}
	return max(hi, 0), true
}

func nbytes(t *pte.Tensor) int64 {
	n := int64(t.ScalarType.Size())
	for _, s := range t.Sizes {
		n *= int64(s)
	}
	return n
}

// store gives v a storage of its own, defined at instruction first.
func (e *emitter) store(v *exir.Value, first int) *storage {
	at := e.index[v]
	t := e.plan.Values[at].Tensor
	s := &storage{size: nbytes(t), first: first, last: first, values: []int32{at}}
	if t.Dynamism == pte.DynamicUnbound {
		return s
	}
	e.order = append(e.order, s)
	e.stores[v] = []*storage{s}
	return s
}

// touch says that instruction at reads or writes v.
func (e *emitter) touch(v *exir.Value, at int) {
	for _, s := range e.stores[v] {
		s.last = max(s.last, at)
	}
}

// value is the index of a value's EValue; constants get theirs when they are first used.
func (e *emitter) value(v *exir.Value) int32 {
	at, ok := e.index[v]
	if !ok {
		if v.Const == nil {
			if len(e.errs) == 0 { // else it is the result of a node that failed
				e.fail(diag.Bug, "value %s is used before it is made", v.Name)
			}
			return 0
		}
		at = e.tensorValue(v)
		e.plan.Values[at].Tensor.DataBufferIdx = e.shared.constant(v.Const)
	}
	e.touch(v, len(e.ins))
	return at
}

// writeBack copies new states into their buffers, and mutated inputs into theirs.
func (e *emitter) writeBack() {
	targets := map[string]*exir.Value{}
	for i, v := range e.m.Graph.Inputs {
		switch e.m.Inputs[i].Kind {
		case exir.UserInput:
			if v != nil {
				targets["input "+v.Name] = v
			}
		case exir.Buffer, exir.Parameter, exir.TensorConstant:
			targets["buffer "+e.m.Inputs[i].Target] = v
		}
	}
	e.node = nil
	for i, o := range e.m.Outputs {
		kind := "buffer "
		if o.Kind == exir.UserInputMutation {
			kind = "input "
		}
		if o.Kind == exir.UserOutput {
			continue
		}
		dst := targets[kind+o.Target]
		if dst == nil {
			e.fail(diag.ModelMalformed, "output %d writes to %s%s, which is no input", i, kind, o.Target)
			continue
		}
		if src := e.m.Graph.Outputs[i]; src.Kind == exir.ArgValue && src.Value != dst {
			e.copyTo(dst, src.Value)
		}
	}
}

// keepOld copies what a buffer or an input held at first, where that is returned or written elsewhere after it is
// overwritten.
func (e *emitter) keepOld() {
	overwritten := map[string]bool{}
	for _, o := range e.m.Outputs {
		if o.Kind != exir.UserOutput {
			overwritten[o.Target] = true
		}
	}
	old := map[*exir.Value]bool{}
	for i, v := range e.m.Graph.Inputs {
		if v != nil && (overwritten[e.m.Inputs[i].Target] || e.m.Inputs[i].Kind == exir.UserInput && overwritten[v.Name]) {
			old[v] = true
		}
	}
	for i := range e.m.Graph.Outputs {
		a := &e.m.Graph.Outputs[i]
		if a.Kind != exir.ArgValue || !old[a.Value] || e.ownState(i, a.Value) {
			continue
		}
		*a = exir.ToArg(e.carry(a.Value, a))
	}
}

// ownState reports that output i writes v to v itself.
func (e *emitter) ownState(i int, v *exir.Value) bool {
	o := e.m.Outputs[i]
	for j, in := range e.m.Graph.Inputs {
		if in == v {
			return o.Kind == exir.BufferMutation && o.Target == e.m.Inputs[j].Target || o.Kind == exir.UserInputMutation && o.Target == v.Name
		}
	}
	return false
}

// copyTo emits aten::copy_(dst, src).
func (e *emitter) copyTo(dst, src *exir.Value) {
	d, s := e.value(dst), e.value(src)
	blocking := e.share(pte.EValue{Type: pte.Bool})
	e.call("aten::copy_", []int32{d, s, blocking, d})
	e.use("aten::copy_", []exir.Arg{exir.ToArg(dst), exir.ToArg(src), exir.ToArg(false)}, nil)
}

func (e *emitter) outputs() {
	for i := range e.m.Graph.Outputs {
		if e.m.Outputs[i].Kind != exir.UserOutput {
			continue
		}
		a := &e.m.Graph.Outputs[i]
		if a.Kind != exir.ArgValue {
			e.plan.Outputs = append(e.plan.Outputs, e.arg(a, ""))
			continue
		}
		at := e.value(a.Value)
		e.touch(a.Value, math.MaxInt32)
		e.plan.Outputs = append(e.plan.Outputs, at)
	}
}

// call appends a kernel call.
func (e *emitter) call(name string, args []int32) {
	e.push(pte.Instruction{Type: pte.KernelCall, A: e.operator(name), Args: args})
}

func (e *emitter) push(in pte.Instruction) int {
	e.ins = append(e.ins, in)
	e.nodes = append(e.nodes, e.node)
	if e.opts.Stacktrace {
		e.traces = append(e.traces, frames(e.node))
	}
	return len(e.ins) - 1
}

func frames(n *exir.Node) []pte.Frame {
	if n == nil {
		return nil
	}
	var out []pte.Frame
	for _, f := range n.Frames {
		out = append(out, pte.Frame{Filename: f.File, Lineno: int32(f.Line), Name: f.Func, Context: f.Text})
	}
	return out
}
