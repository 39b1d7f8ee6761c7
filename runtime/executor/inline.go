package executor

import (
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
	if len(m.plan.Delegates) == 0 || len(m.plan.Chains) != 1 || p.tracesIntermediates() || p.opts.Tracer != nil && p.tracer == nil {
		return nil
	}
	moves := func(in pte.Instruction) bool {
		return in.Type != pte.KernelCall && in.Type != pte.DelegateCall && (in.Type != pte.MoveCall || in.A != in.B)
	}
	old := m.plan.Chains[0].Instructions
	if slices.ContainsFunc(old, moves) {
		return nil
	}
	var l *inliner
	for i := range old {
		in := &old[i]
		if graph := m.inlined(in); graph != nil {
			if l == nil {
				l = newInliner(m, i)
			}
			if err := l.graph(graph, in.Args, i); err != nil {
				return err
			}
		} else if l != nil {
			l.add(*in, i, notInlined)
		}
	}
	if l != nil {
		m.plan, m.origin, m.handles = l.finish(), l.origin, l.handles
	}
	return nil
}

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

// inlined is what instruction in computes, if it calls a delegate that says so.
func (m *method) inlined(in *pte.Instruction) *backend.Inlined {
	if in.Type != pte.DelegateCall || in.A < 0 || int(in.A) >= len(m.plan.Delegates) {
		return nil
	}
	p, d := m.prog, &m.plan.Delegates[in.A]
	at := slices.IndexFunc(p.opts.Backends, func(b backend.Backend) bool { return b.ID() == d.ID })
	if at < 0 || d.Processed < 0 || d.Processed >= len(p.file.DelegateData) {
		return nil
	}
	b, ok := p.opts.Backends[at].(backend.Inliner)
	if !ok || !p.opts.Backends[at].Available() {
		return nil
	}
	args := m.delegateArgs(in.Args)
	if args == nil {
		return nil
	}
	payload := p.file.DelegateData[d.Processed]
	graph := b.Inline(&backend.InitContext{Method: m.plan.Name, Args: args, Options: p.opts.BackendOptions[d.ID], NamedData: p.namedBytes, Share: p.share,
		Kernels: p.table, Tier: p.tier}, payload, d.CompileSpecs)
	if graph == nil || m.overwrites(in.Args, graph.Inputs) {
		return nil
	}
	return graph
}

// delegateArgs are the arguments of a delegate's call as a file has them, nil unless all are tensors with bounded sizes.
func (m *method) delegateArgs(list []int32) []*op.Value {
	args := make([]*op.Value, len(list))
	for i, v := range list {
		if v < 0 || int(v) >= len(m.plan.Values) || m.plan.Values[v].Tensor == nil {
			return nil
		}
		d := m.plan.Values[v].Tensor
		if d.Dynamism == pte.DynamicUnbound {
			return nil
		}
		t := &tensor.Tensor{Meta: tensor.Meta{DType: d.ScalarType}}
		for _, n := range d.Sizes {
			t.Sizes = append(t.Sizes, tensor.Dim(n))
		}
		if !d.ScalarType.Valid() || m.loadOrder(t, d.DimOrder) != nil {
			return nil
		}
		args[i] = &op.Value{Kind: op.Tensor, Tensor: t}
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
			if k != inputs+i && m.overlap(v, w) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether tensors v and w have bytes in common, as the file has them.
func (m *method) overlap(v, w int32) bool {
	x, y := m.plan.Values[v].Tensor, m.plan.Values[w].Tensor
	if v == w || x.Allocation == nil || y.Allocation == nil {
		return v == w
	}
	area := func(d *pte.Tensor) area {
		n := uint64(d.ScalarType.Size())
		for _, size := range d.Sizes {
			n *= uint64(size)
		}
		return area{int32(d.Allocation.MemoryID), d.Allocation.Offset, d.Allocation.Offset + n}
	}
	a, b := area(x), area(y)
	return a.overlaps(&b)
}

// inliner makes the plan of a method with inlined graphs.
type inliner struct {
	m    *method
	plan pte.ExecutionPlan
	// calls are the instructions; origin and handles are the method's.
	calls   []pte.Instruction
	origin  []int
	handles []int64
	// behind is the end of the file's arena, and room the bytes of the largest graph.
	behind, room int64
}

// newInliner has the instructions before number n.
func newInliner(m *method, n int) *inliner {
	l := &inliner{m: m, plan: *m.plan}
	l.plan.Values, l.plan.Operators = slices.Clip(l.plan.Values), slices.Clip(l.plan.Operators)
	l.plan.NonConstBufferSizes = slices.Clone(l.plan.NonConstBufferSizes)
	for len(l.plan.NonConstBufferSizes) <= fusedArena {
		l.plan.NonConstBufferSizes = append(l.plan.NonConstBufferSizes, 0)
	}
	l.behind = (l.plan.NonConstBufferSizes[fusedArena] + tenantAlign - 1) &^ (tenantAlign - 1)
	for i, in := range m.plan.Chains[0].Instructions[:n] {
		l.add(in, i, notInlined)
	}
	return l
}

func (l *inliner) add(in pte.Instruction, origin int, handle int64) {
	l.calls, l.origin, l.handles = append(l.calls, in), append(l.origin, origin), append(l.handles, handle)
}

// graph adds a graph in place of instruction origin, with its arguments.
func (l *inliner) graph(g *backend.Inlined, args []int32, origin int) error {
	values, operators := int32(len(l.plan.Values)), int32(len(l.plan.Operators))
	dynamism := pte.Static
	at := make([]int32, len(g.Values)) // of the graph's values in the plan
	for k, v := range g.Args {
		at[v] = args[k] + 1
		if l.plan.Values[args[k]].Tensor.Dynamism != pte.Static {
			dynamism = pte.DynamicBound
		}
	}
	for v := range at {
		if at[v]--; at[v] < 0 {
			at[v] = values
			values++
		}
	}
	inner, err := l.places(g)
	if err != nil {
		return err
	}
	isArg := make([]bool, len(g.Values))
	for _, v := range g.Args {
		isArg[v] = true
	}
	constants := uint32(len(l.m.prog.file.ConstantBuffers) + len(l.m.inlinedData))
	for v := range g.Values {
		if isArg[v] {
			continue
		}
		e := g.Values[v]
		if e.Items = slices.Clone(e.Items); e.Type != pte.BoolList {
			for i, item := range e.Items {
				e.Items[i] = int64(at[item])
			}
		}
		if t := e.Tensor; t != nil {
			e.Tensor = &pte.Tensor{ScalarType: t.ScalarType, Sizes: t.Sizes, DimOrder: t.DimOrder}
			if t.DataBufferIdx > 0 {
				e.Tensor.DataBufferIdx = constants + t.DataBufferIdx - 1
			} else {
				e.Tensor.Dynamism = dynamism
				e.Tensor.Allocation = &pte.Allocation{MemoryID: fusedArena, Offset: uint64(l.behind + inner[v])}
			}
		}
		l.plan.Values = append(l.plan.Values, e)
	}
	l.m.inlinedData = append(l.m.inlinedData, g.Constants[1:]...)
	l.plan.Operators = append(l.plan.Operators, g.Operators...)
	for i := range g.Calls {
		in := pte.Instruction{Type: pte.KernelCall, A: operators + g.Calls[i].A, Args: make([]int32, len(g.Calls[i].Args))}
		for k, v := range g.Calls[i].Args {
			in.Args[k] = at[v]
		}
		l.add(in, origin, g.Handles[i])
	}
	return nil
}

// places are the places of the tensors of a graph that are neither arguments nor constants, among each other. A view has that of what it is
// a view of.
func (l *inliner) places(g *backend.Inlined) ([]int64, error) {
	n := len(g.Values)
	items, base := make([]memory.Item, n), make([]int, n)
	for v := range items {
		items[v].First, base[v] = math.MaxInt, v
		if t := g.Values[v].Tensor; t != nil && t.DataBufferIdx == 0 {
			size := int64(t.ScalarType.Size())
			for _, d := range t.Sizes {
				size *= int64(d)
			}
			items[v].Size, items[v].Align = size, tenantAlign
		}
	}
	for _, v := range g.Args {
		items[v].Size = 0
	}
	var use func(v int32, i int)
	use = func(v int32, i int) {
		if g.Values[v].Type == pte.TensorList {
			for _, item := range g.Values[v].Items {
				use(int32(item), i)
			}
		}
		x := &items[base[v]]
		x.First, x.Last = min(x.First, i), i
	}
	for i := range g.Calls {
		in := &g.Calls[i]
		if g.Operators[in.A].FullName() == etViewName && items[base[in.Args[0]]].Size > 0 {
			to := in.Args[2]
			base[to], items[to].Size = base[in.Args[0]], 0
		}
		for _, v := range in.Args {
			use(v, i)
		}
	}
	for v := range items {
		if items[v].First == math.MaxInt {
			items[v] = memory.Item{}
		}
	}
	offsets, total, err := memory.Plan(items)
	if err != nil {
		return nil, wrap(pte.MemoryAllocationFailed, "inline a delegate", err)
	}
	for v := range offsets {
		offsets[v] = offsets[base[v]]
	}
	l.room = max(l.room, total)
	return offsets, nil
}

// finish is the plan.
func (l *inliner) finish() *pte.ExecutionPlan {
	l.plan.NonConstBufferSizes[fusedArena] = l.behind + l.room
	l.plan.Chains = []pte.Chain{{Inputs: l.plan.Chains[0].Inputs, Outputs: l.plan.Chains[0].Outputs, Instructions: l.calls}}
	return &l.plan
}
