package executor

import (
	"bytes"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// inline replaces calls of delegates whose backend is an Inliner by those of the operators that compute their payloads, in a copy of the plan:
// values, operators and constants come behind the file's, and what is used between the calls lies behind the rest of the arena whose
// plan changes. Methods with control flow stay, since nothing is fused in those, and so do all for who traces steps of delegates alone.
func (m *method) inline() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = recovered("inline delegates", r)
		}
	}()
	p := m.prog
	if len(m.plan.Delegates) == 0 || len(m.plan.Chains) != 1 || p.tracesIntermediates() || p.opts.Tracer != nil && p.tracer == nil || p.outlined {
		return nil
	}
	moves := func(in pte.Instruction) bool {
		return in.Type != pte.KernelCall && in.Type != pte.DelegateCall && (in.Type != pte.MoveCall || in.A != in.B)
	}
	old := m.plan.Chains[0].Instructions
	if slices.ContainsFunc(old, moves) {
		return nil
	}
	l := &inliner{method: m, graphs: make([]*inlining, len(old)), known: make(map[int]*inlining)}
	calls := 0
	for i := 0; i < len(old) && calls < mostInlined; i++ {
		if l.graphs[i], err = l.inlined(&old[i]); err != nil {
			return err
		}
		if g := l.graphs[i]; g != nil {
			calls += len(g.Calls)
		}
	}
	if calls == 0 {
		return nil
	}
	return l.plan()
}

// mostInlined is from how many calls on no more delegates are inlined: a file may call one of many nodes again and again.
var mostInlined = 1 << 16

// hasInlined reports whether delegates of the method are calls of operators.
func (m *method) hasInlined() bool { return m.origin != nil }

// instruction is the number that the file has for instruction i.
func (m *method) instruction(i int) int {
	if m.origin == nil {
		return i
	}
	return m.origin[i]
}

// instructions are the numbers that the file has for those of list, which rise.
func (m *method) instructions(list []int) []int {
	all := make([]int, len(list))
	for k, i := range list {
		all[k] = m.instruction(i)
	}
	return slices.Compact(all)
}

// outside of delegates, in handles.
const notInlined = backend.NoHandle - 1

// isPart reports whether all that a step runs are calls that one delegate's call consists of.
func (m *method) isPart(s *step) bool {
	return m.handles != nil && m.handles[s.index] != notInlined && (s.fused == nil || len(m.instructions(s.fused)) == 1)
}

// inlining is what one or more calls of a payload compute.
type inlining struct {
	*backend.Inlined // nil if the payload is not inlined
	delegate         *pte.BackendDelegate
	args             []int32 // of the first call; those of others are tensors alike
	// offsets and base are what places says of the values, and at has where those lie in the plan that calls share, -1 for others; they are
	// nil before share.
	offsets  []int64
	base, at []int32
	// constants and operators are where those of the graph start in the plan.
	constants uint32
	operators int32
}

// inlined is what instruction in computes, if it calls a delegate that says so. A call like the last one of its payload computes the same.
func (l *inliner) inlined(in *pte.Instruction) (*inlining, error) {
	m := l.method
	if in.Type != pte.DelegateCall || in.A < 0 || int(in.A) >= len(m.plan.Delegates) {
		return nil, nil
	}
	d := &m.plan.Delegates[in.A]
	g := l.known[d.Processed]
	if g == nil || !l.repeats(g, d, in.Args) {
		graph, err := m.graphOf(d, in.Args)
		if err != nil {
			return nil, err
		}
		g = &inlining{Inlined: graph, delegate: d, args: in.Args}
		l.known[d.Processed] = g
	}
	if g.Inlined == nil || m.overwrites(in.Args, g.Inputs) {
		return nil, nil
	}
	return g, nil
}

// repeats reports whether a call of delegate d computes what g is of: it has the same payload.
func (l *inliner) repeats(g *inlining, d *pte.BackendDelegate, args []int32) bool {
	values := l.method.plan.Values
	alike := func(v, w int32) bool {
		if v < 0 || int(v) >= len(values) || w < 0 || int(w) >= len(values) { // graphOf has refused such
			return false
		}
		x, y := values[v].Tensor, values[w].Tensor
		return x != nil && y != nil && x.ScalarType == y.ScalarType && slices.Equal(x.Sizes, y.Sizes) && slices.Equal(x.DimOrder, y.DimOrder) &&
			x.Dynamism == y.Dynamism && (x.Allocation == nil) == (y.Allocation == nil)
	}
	specs := func(a, b pte.CompileSpec) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) }
	return g.delegate.ID == d.ID && slices.EqualFunc(g.args, args, alike) && slices.EqualFunc(g.delegate.CompileSpecs, d.CompileSpecs, specs)
}

// graphOf is what a delegate computes for arguments like these, nil if its backend does not say.
func (m *method) graphOf(d *pte.BackendDelegate, list []int32) (*backend.Inlined, error) {
	p := m.prog
	at := slices.IndexFunc(p.opts.Backends, func(b backend.Backend) bool { return b.ID() == d.ID })
	if at < 0 || d.Processed < 0 || d.Processed >= len(p.file.DelegateData) {
		return nil, nil
	}
	b, ok := p.opts.Backends[at].(backend.Inliner)
	if !ok || !p.opts.Backends[at].Available() {
		return nil, nil
	}
	args := m.delegateArgs(list)
	if args == nil {
		return nil, nil
	}
	graph := b.Inline(&backend.InitContext{Method: m.plan.Name, Args: args, Options: p.opts.BackendOptions[d.ID], NamedData: p.namedBytes, Share: p.share,
		Kernels: p.table, Tier: p.tier}, p.file.DelegateData[d.Processed], d.CompileSpecs)
	if graph == nil {
		return nil, nil
	}
	if err := checkInlined(graph, len(args)); err != nil {
		return nil, wrap(pte.Internal, "inline a payload of "+d.ID, err)
	}
	return graph, nil
}

// checkInlined says what a backend has wrong of a graph for a call of so many arguments.
func checkInlined(g *backend.Inlined, args int) error {
	if len(g.Args) != args || g.Inputs < 0 || g.Inputs > args || len(g.Handles) != len(g.Calls) || len(g.Constants) == 0 {
		return fail(pte.Internal, "it has ", itoa(len(g.Args)), " arguments, want ", itoa(args), ", or not a handle for each call, or no constant 0")
	}
	has := func(v int64) bool { return v >= 0 && v < int64(len(g.Values)) }
	isArg, used := make([]bool, len(g.Values)), make([]bool, len(g.Values))
	for k, v := range g.Args {
		if !has(int64(v)) || g.Values[v].Tensor == nil || g.Values[v].Tensor.DataBufferIdx != 0 || isArg[v] {
			return fail(pte.Internal, "argument ", itoa(k), " is no tensor, a constant, or another one, too")
		}
		isArg[v] = true
	}
	for v := range g.Values {
		e := &g.Values[v]
		bad := (e.Type == pte.TensorValue) != (e.Tensor != nil) || e.Tensor != nil && (int64(e.Tensor.DataBufferIdx) >= int64(len(g.Constants)) || e.Tensor.Extra != nil)
		if e.Type != pte.BoolList {
			for _, item := range e.Items {
				bad = bad || !has(item) && (item != -1 || e.Type != pte.OptionalTensorList) || e.Type == pte.IntList && g.Values[item].Type != pte.Int
			}
		}
		if bad {
			return fail(pte.Internal, "value ", itoa(v), " is no tensor, or refers to what does not exist")
		}
	}
	for i := range g.Calls {
		in, callees := &g.Calls[i], len(g.Operators)
		if in.Type == pte.DelegateCall {
			callees = len(g.Parts)
		}
		bad := in.Type != pte.KernelCall && in.Type != pte.DelegateCall || in.A < 0 || int(in.A) >= callees ||
			in.Type == pte.DelegateCall && (in.B < 0 || int(in.B) > len(in.Args))
		for _, v := range in.Args {
			if bad = bad || !has(int64(v)); bad {
				break
			}
			used[v] = true
			eachItem(&g.Values[v], func(v int32) { used[v] = true })
		}
		if bad || in.Type == pte.KernelCall && g.Operators[in.A].FullName() == etViewName && (len(in.Args) < 3 || isArg[in.Args[2]]) {
			return fail(pte.Internal, "call ", itoa(i), " calls nothing, or with what does not exist, or makes a view of an output")
		}
	}
	for k, v := range g.Args[g.Inputs:] {
		if !used[v] {
			return fail(pte.Internal, "output ", itoa(k), " is not written")
		}
	}
	return nil
}

// eachItem calls f with the values that e, a value of a graph, lists.
func eachItem(e *pte.EValue, f func(v int32)) {
	if e.Type != pte.TensorList && e.Type != pte.OptionalTensorList {
		return
	}
	for _, item := range e.Items {
		if item >= 0 {
			f(int32(item))
		}
	}
}

// delegateArgs are the arguments of a delegate's call as a file has them, nil unless all are tensors with bounded sizes.
func (m *method) delegateArgs(list []int32) []*op.Value {
	args, values, tensors := make([]*op.Value, len(list)), make([]op.Value, len(list)), make([]tensor.Tensor, len(list))
	var dims []tensor.Dim
	for i, v := range list {
		if v < 0 || int(v) >= len(m.plan.Values) || m.plan.Values[v].Tensor == nil {
			return nil
		}
		d := m.plan.Values[v].Tensor
		if d.Dynamism == pte.DynamicUnbound {
			return nil
		}
		t := &tensors[i]
		from := len(dims)
		for _, n := range d.Sizes {
			dims = append(dims, tensor.Dim(n))
		}
		t.DType, t.Sizes = d.ScalarType, dims[from:len(dims):len(dims)]
		if !d.ScalarType.Valid() || m.loadOrder(t, d.DimOrder) != nil {
			return nil
		}
		values[i] = op.Value{Kind: op.Tensor, Tensor: t}
		args[i] = &values[i]
	}
	return args
}

// overwrites reports whether an output of a delegate is a constant, or lies where another argument does, so that one of several calls may
// write what a later one reads.
func (m *method) overwrites(args []int32, inputs int) bool {
	for i, v := range args[inputs:] {
		if d := m.plan.Values[v].Tensor; d.Allocation == nil && m.state(v) {
			return true
		}
		for k, w := range args {
			if k != inputs+i && m.coincide(v, w) {
				return true
			}
		}
	}
	return false
}

// coincide reports whether tensors v and w have bytes in common, as the file has them.
func (m *method) coincide(v, w int32) bool {
	x, y := m.plan.Values[v].Tensor, m.plan.Values[w].Tensor
	if v == w || x.Allocation == nil || y.Allocation == nil {
		return v == w
	}
	area := func(d *pte.Tensor) area {
		return area{int32(d.Allocation.MemoryID), d.Allocation.Offset, d.Allocation.Offset + uint64(bytesOf(d))}
	}
	a, b := area(x), area(y)
	return a.overlaps(&b)
}

// inliner makes the plan of a method with inlined graphs.
type inliner struct {
	*method
	graphs []*inlining       // by instruction; nil of what stays
	known  map[int]*inlining // the last one of each payload
	// behind is the end of the file's arena, and room the bytes of the largest graph.
	behind, room int64
}

// part is what a delegate that stays of an inlined one runs, and how many inputs it has.
type part struct {
	what   any
	inputs int
}

// plan gives the method its plan with the graphs.
func (l *inliner) plan() error {
	m := l.method
	plan, old := *m.plan, m.plan.Chains[0]
	values, calls, counted := 0, 0, make(map[*inlining]bool, len(l.known))
	for _, g := range l.graphs {
		if g == nil {
			continue
		}
		calls += len(g.Calls)
		for v := range g.Values {
			if !counted[g] || !shared(&g.Values[v]) {
				values++
			}
		}
		values -= len(g.Args)
		counted[g] = true
	}
	plan.Values, plan.Operators = slices.Grow(slices.Clip(plan.Values), values), slices.Clip(plan.Operators)
	plan.Delegates = slices.Clip(plan.Delegates)
	plan.NonConstBufferSizes = slices.Clone(plan.NonConstBufferSizes)
	for len(plan.NonConstBufferSizes) <= fusedArena {
		plan.NonConstBufferSizes = append(plan.NonConstBufferSizes, 0)
	}
	l.behind = (plan.NonConstBufferSizes[fusedArena] + tenantAlign - 1) &^ (tenantAlign - 1)
	n := len(old.Instructions) + calls
	chain := pte.Chain{Inputs: old.Inputs, Outputs: old.Outputs, Instructions: make([]pte.Instruction, 0, n)}
	m.origin, m.handles = make([]int, 0, n), make([]int64, 0, n)
	m.parts = make(map[int32]part)
	for i, g := range l.graphs {
		if g == nil {
			chain.Instructions, m.origin, m.handles = append(chain.Instructions, old.Instructions[i]), append(m.origin, i), append(m.handles, notInlined)
			continue
		}
		if g.at == nil {
			if err := l.share(&plan, g); err != nil {
				return err
			}
		}
		chain.Instructions, m.handles = l.calls(chain.Instructions, &plan, g, &old.Instructions[i]), append(m.handles, g.Handles...)
		for range g.Calls {
			m.origin = append(m.origin, i)
		}
	}
	plan.NonConstBufferSizes[fusedArena] = l.behind + l.room + l.padding()
	plan.Chains, m.plan, m.more = []pte.Chain{chain}, &plan, len(chain.Instructions)-len(old.Instructions)
	return nil
}

// padding is what the file has behind the last tensor of the arena if delegates stay, whose backends may read it.
func (l *inliner) padding() int64 {
	file, stays, end := l.method.plan, false, uint64(0)
	for i, g := range l.graphs {
		stays = stays || g == nil && file.Chains[0].Instructions[i].Type == pte.DelegateCall || g != nil && len(g.Parts) > 0
	}
	for v := range file.Values {
		if t := file.Values[v].Tensor; stays && t != nil && t.Allocation != nil && t.Allocation.MemoryID == fusedArena {
			end = max(end, t.Allocation.Offset+uint64(bytesOf(t)))
		}
	}
	if !stays || fusedArena >= len(file.NonConstBufferSizes) {
		return 0
	}
	return max(file.NonConstBufferSizes[fusedArena]-int64(end), 0)
}

// share adds to plan what all calls of a payload have in common: operators, constants, and values that no call writes.
func (l *inliner) share(plan *pte.ExecutionPlan, g *inlining) (err error) {
	if g.offsets, g.base, err = l.places(g); err != nil {
		return err
	}
	g.operators, g.constants = int32(len(plan.Operators)), uint32(len(l.prog.file.ConstantBuffers)+len(l.inlinedData))
	plan.Operators, l.inlinedData = append(plan.Operators, g.Operators...), append(l.inlinedData, g.Constants[1:]...)
	g.at = make([]int32, len(g.Values))
	next := int32(len(plan.Values))
	for v := range g.Values {
		if g.at[v] = -1; shared(&g.Values[v]) {
			g.at[v] = next
			next++
		}
	}
	for v := range g.Values {
		if g.at[v] < 0 {
			continue
		}
		e := g.Values[v]
		if e.Tensor != nil {
			t := *e.Tensor
			t.DataBufferIdx += g.constants - 1
			e.Tensor = &t
		}
		if e.Type == pte.IntList {
			e.Items = itemsAt(e.Items, g.at)
		}
		plan.Values = append(plan.Values, e)
	}
	return nil
}

// shared reports whether all calls of a payload have the same value e: a constant, or what is no tensor and no list of such.
func shared(e *pte.EValue) bool {
	if e.Tensor != nil {
		return e.Tensor.DataBufferIdx > 0
	}
	return e.Type != pte.TensorList && e.Type != pte.OptionalTensorList
}

// itemsAt are the values of a list, which at has in the plan.
func itemsAt(items []int64, at []int32) []int64 {
	list := make([]int64, len(items))
	for i, item := range items {
		if list[i] = item; item >= 0 {
			list[i] = int64(at[item])
		}
	}
	return list
}

// calls appends those of a graph to list, for a delegate's call, and adds the values of that one to plan.
func (l *inliner) calls(list []pte.Instruction, plan *pte.ExecutionPlan, g *inlining, call *pte.Instruction) []pte.Instruction {
	at, dynamism := slices.Clone(g.at), pte.Static
	for k, v := range g.Args {
		at[v] = call.Args[k]
		if plan.Values[call.Args[k]].Tensor.Dynamism != pte.Static {
			dynamism = pte.DynamicBound
		}
	}
	values, own, ints := int32(len(plan.Values)), 0, 0
	for v := range at {
		if at[v] < 0 {
			at[v] = values + int32(own)
			own++
		}
	}
	for i := range g.Calls {
		ints += len(g.Calls[i].Args)
	}
	tensors, places, args := make([]pte.Tensor, own), make([]pte.Allocation, own), make([]int32, 0, ints)
	for v := range at {
		k := at[v] - values
		if k < 0 {
			continue
		}
		e := g.Values[v]
		if e.Tensor == nil {
			e.Items = itemsAt(e.Items, at)
			plan.Values = append(plan.Values, e)
			continue
		}
		places[k] = pte.Allocation{MemoryID: fusedArena, Offset: uint64(l.behind + g.offsets[v])}
		if of := at[g.base[v]]; of < values && plan.Values[of].Tensor.Allocation != nil {
			places[k] = *plan.Values[of].Tensor.Allocation // a view of an argument
		}
		tensors[k] = *e.Tensor
		tensors[k].Dynamism, tensors[k].Allocation = dynamism, &places[k]
		e.Tensor = &tensors[k]
		plan.Values = append(plan.Values, e)
	}
	for i := range g.Calls {
		in := g.Calls[i]
		from := len(args)
		for _, v := range in.Args {
			args = append(args, at[v])
		}
		in.Args = args[from:len(args):len(args)]
		if in.Type == pte.KernelCall {
			in.A += g.operators
		} else {
			l.parts[int32(len(plan.Delegates))] = part{g.Parts[in.A], int(in.B)}
			in.A = int32(len(plan.Delegates))
			plan.Delegates = append(plan.Delegates, plan.Delegates[call.A])
		}
		list = append(list, in)
	}
	return list
}

// places are the places of the tensors of a graph that are neither arguments nor constants, among each other. A view has that of what it is
// a view of, which base says of each, and none of its own where that is an argument with a place.
func (l *inliner) places(g *inlining) (offsets []int64, base []int32, err error) {
	n := len(g.Values)
	items := make([]memory.Item, n)
	base = make([]int32, n)
	for v := range items {
		items[v].First, base[v] = math.MaxInt, int32(v)
		if t := g.Values[v].Tensor; t != nil && t.DataBufferIdx == 0 {
			items[v].Size, items[v].Align = bytesOf(t), tenantAlign
		}
	}
	planned := make([]bool, n)
	for k, v := range g.Args {
		items[v].Size, planned[v] = 0, l.method.plan.Values[g.args[k]].Tensor.Allocation != nil
	}
	use := func(v int32, i int) {
		x := &items[base[v]]
		x.First, x.Last = min(x.First, i), i
	}
	for i := range g.Calls {
		in := &g.Calls[i]
		if in.Type == pte.KernelCall && g.Operators[in.A].FullName() == etViewName && (items[base[in.Args[0]]].Size > 0 || planned[base[in.Args[0]]]) {
			to := in.Args[2]
			base[to], items[to].Size = base[in.Args[0]], 0
		}
		for _, v := range in.Args {
			use(v, i)
			eachItem(&g.Values[v], func(v int32) { use(v, i) })
		}
	}
	for v := range items {
		if items[v].First == math.MaxInt {
			items[v] = memory.Item{}
		}
	}
	offsets, total, err := memory.PlanWithin(items, memory.MaxTotal) // steps that are fused are planned anew
	if err != nil {
		return nil, nil, wrap(pte.MemoryAllocationFailed, "inline a delegate", err)
	}
	for v := range offsets {
		offsets[v] = offsets[base[v]]
	}
	l.room = max(l.room, total)
	return offsets, base, nil
}

// bytesOf are how many bytes a tensor takes.
func bytesOf(d *pte.Tensor) int64 {
	n := int64(d.ScalarType.Size())
	for _, size := range d.Sizes {
		n *= int64(size)
	}
	return n
}
