package executor

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Instance is the memory and the state of one user of a program. Its methods share state; one
// Run at a time is allowed, another meanwhile is an error.
type Instance struct {
	prog    *Program
	methods []*Method
	shared  map[int][]byte
	busy    sync.Mutex // held by Run and Close
	closed  bool
	temp    op.Temp
	env     op.Env
	used    int64    // bytes of arenas and of owned tensors
	unmaps  []func() // give back arenas
}

// Method is a method of an instance.
type Method struct {
	inst    *Instance
	m       *method
	vals    []*op.Value // the instance's own, or what the method has
	varying []int32     // the values that instructions set
	initial []op.Value  // those before the first Run
	calls   []call
	homes   []home // of inputs
	outputs []Value
	results []tensor.Tensor           // the tensors of outputs
	owned   map[*tensor.Tensor][]byte // the tensors with memory of their own
	arenas  [][]byte
	grow    func(t *tensor.Tensor, n int) error
	env     op.Env // of the invokers
	exec    backend.ExecuteContext
	// restricted holds for arguments of delegates what those may not do with them.
	restricted map[*tensor.Tensor]restriction
	// delegates are the initialized delegates of the plan, by index.
	delegates map[int32]*delegate
	resizes   uint64 // changes of sizes, of whatever tensor
	pc        int
	number    [8]byte // where a tensor's number is converted
}

// call is a step bound to the values of an instance.
type call struct {
	invoker *op.Invoker
	// refresh lists the arguments, and outs after them, to set before each call.
	refresh []int
	args    []*op.Value
	handle  backend.Handle
}

// delegate is a delegate of a method whose Init succeeded.
type delegate struct {
	backend backend.Backend
	handle  backend.Handle
	args    int // how many each call has
}

// NewInstance makes an instance with its mutable state as the file has it.
func (p *Program) NewInstance() (inst *Instance, err error) {
	if !p.enter() {
		return nil, fail(pte.InvalidState, "make instance: the program is closed")
	}
	in := &Instance{prog: p, shared: make(map[int][]byte)}
	in.temp.Make = p.opts.Alloc
	in.env = op.Env{Temp: &in.temp, Parallel: p.pool.Run, Threads: p.pool.Threads(), Rand: op.NewGenerator(p.opts.Seed)}
	defer func() {
		if r := recover(); r != nil {
			err = recovered("make instance", r)
		}
		if err != nil {
			in.Close()
			inst = nil
		}
	}()
	p.making.Lock()
	defer p.making.Unlock()
	made := false
	defer func() { p.spoiled = p.spoiled || !made }()
	packed := p.packed
	in.take(packed)
	for _, m := range p.methods {
		im := &Method{inst: in, m: m, owned: make(map[*tensor.Tensor][]byte), delegates: make(map[int32]*delegate),
			restricted: make(map[*tensor.Tensor]restriction)}
		in.methods = append(in.methods, im)
		if err := im.traceInit(im.bind); err != nil {
			return nil, wrap(pte.Internal, "make instance: method "+m.plan.Name, err)
		}
	}
	byDelegates := p.packed - packed
	if !in.fits(int(byDelegates)) {
		return nil, wrap(pte.Internal, "make instance", in.overLimit(byDelegates))
	}
	in.take(byDelegates)
	if err := p.fill(); err != nil {
		return nil, wrap(pte.Internal, "make instance", err)
	}
	made = true
	p.keepWeights()
	return in, nil
}

// Method is the method of this name, or nil.
func (in *Instance) Method(name string) *Method {
	for _, m := range in.methods {
		if m.m.plan.Name == name {
			return m
		}
	}
	return nil
}

// Close frees the instance, after the Run that is under way if there is one. Outputs of its methods are not valid
// after it.
func (in *Instance) Close() {
	in.busy.Lock()
	defer in.busy.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	defer in.prog.leave()
	for _, m := range in.methods {
		for i := range m.m.plan.Delegates {
			if d := m.delegates[int32(i)]; d != nil {
				d.backend.Destroy(d.handle)
			}
		}
	}
	for _, unmap := range in.unmaps {
		unmap()
	}
}

func (m *Method) bind() error {
	m.grow = m.growOwned
	m.env = m.inst.env
	m.env.Grow, m.env.Resizes = m.grow, &m.resizes
	m.exec = backend.ExecuteContext{Tracer: m.m.prog.opts.Tracer, Parallel: m.inst.env.Parallel, Alloc: m.inst.temp.Alloc,
		Resize: m.resizeForDelegate}
	if err := m.allocArenas(); err != nil {
		return err
	}
	if err := m.bindValues(); err != nil {
		return err
	}
	m.restrict()
	m.calls = make([]call, 0, len(m.m.steps))
	for i := range m.m.steps {
		c, err := m.bindStep(&m.m.steps[i])
		if err != nil {
			return err
		}
		m.calls = append(m.calls, c)
	}
	for _, v := range m.varying {
		m.initial = append(m.initial, *m.vals[v])
	}
	m.homes = make([]home, len(m.m.plan.Inputs))
	for i, v := range m.m.plan.Inputs {
		h := &m.homes[i]
		if m.m.place[v] == planned {
			h.data, h.copied = m.vals[v].Tensor.Data, m.m.lent == nil || !m.m.lent[i]
		}
		if !m.m.writesBack[i] {
			h.tensor = m.vals[v].Tensor
		}
	}
	m.outputs = make([]Value, len(m.m.plan.Outputs))
	m.results = make([]tensor.Tensor, len(m.outputs))
	return nil
}

// resizeForDelegate is backend.ExecuteContext.Resize.
func (m *Method) resizeForDelegate(t *tensor.Tensor, sizes []tensor.Dim) error {
	switch r := m.restricted[t]; {
	case r&noWrite != 0:
		return errors.New("the output is a constant")
	case r&noResize != 0 && !slices.Equal(t.Sizes, sizes):
		return errors.New("output has the static sizes " + op.SizesText(t.Sizes) + ", want " + op.SizesText(sizes))
	}
	m.bringHome(t)
	return m.env.Resize(t, sizes, m.grow)
}

func (m *Method) allocArenas() (err error) {
	for i, n := range m.m.arenas {
		b := m.inst.shared[i]
		if !m.m.sharedArena[i] || b == nil {
			if b, err = m.inst.arena(int(n)); err != nil {
				return err
			}
		}
		if m.m.sharedArena[i] {
			m.inst.shared[i] = b
		}
		m.arenas = append(m.arenas, b)
	}
	return nil
}

// bindValues copies the values that the instance has for itself and gives the tensors their memory.
func (m *Method) bindValues() error {
	m.vals = make([]*op.Value, len(m.m.vals))
	for i := range m.vals {
		m.vals[i] = &m.m.vals[i]
	}
	own, made := make([]op.Value, len(m.m.own)), newTensors(m.m.ownTensors, m.m.ownDims)
	for k, i := range m.m.own {
		v := &own[k]
		*v, m.vals[i] = m.m.vals[i], v
		if m.m.varies[i] {
			m.varying = append(m.varying, i)
		}
		if m.m.bound(i) {
			if err := m.bindTensor(int(i), made); err != nil {
				return err
			}
		}
	}
	for k, i := range m.m.own {
		v := &own[k]
		switch v.Kind {
		case op.Ints:
			v.Ints = append([]int64(nil), v.Ints...)
		case op.Tensors:
			v.Tensors = make([]*tensor.Tensor, len(v.Tensors))
			m.refreshList(int(i))
		}
	}
	return nil
}

func (m *Method) bindTensor(i int, made *tensors) error {
	d, from := m.m.plan.Values[i].Tensor, m.vals[i].Tensor
	t := made.tensor(len(from.Sizes))
	t.DType, t.DimOrder = from.DType, append([]uint8(nil), from.DimOrder...)
	copy(t.Sizes, from.Sizes)
	m.vals[i].Tensor = t
	if m.m.place[i] == owned {
		m.owned[t] = nil
		if d.Dynamism == pte.DynamicUnbound {
			clear(t.Sizes)
		}
		if d.Dynamism == pte.DynamicUnbound || m.m.isInput[i] {
			return nil
		}
		return m.growOwned(t, t.Nbytes())
	}
	off, n := int(m.m.offset(int32(i))), t.Nbytes()
	t.Data = m.arenas[d.Allocation.MemoryID][off : off+n : off+n]
	return m.initialState(d, t)
}

// initialState copies the value that the file has for a mutable tensor.
func (m *Method) initialState(d *pte.Tensor, t *tensor.Tensor) error {
	var data []byte
	file := m.m.prog.file
	switch {
	case d.Extra != nil && d.Extra.Location == pte.LocationExternal:
		var err error
		if data, err = m.m.prog.external(d, int64(len(t.Data))); err != nil {
			return err
		}
	case d.DataBufferIdx == 0:
		return nil
	case int(d.DataBufferIdx) < len(file.MutableData):
		data = file.MutableData[d.DataBufferIdx]
	}
	if len(data) < len(t.Data) {
		return fail(pte.InvalidProgram, "initial state has ", itoa(len(data)), " bytes, want ", itoa(len(t.Data)))
	}
	copy(t.Data, data)
	return nil
}

// growOwned gives an owned tensor room for n bytes, within the program's memory limit.
func (m *Method) growOwned(t *tensor.Tensor, n int) error {
	old, ok := m.owned[t]
	if !ok {
		return fail(pte.InvalidArgument, "a result needs ", itoa(n), " bytes, more than the ", itoa(cap(t.Data)), " that the bounds of its sizes give")
	}
	if n <= cap(old) {
		t.Data = old[:n]
		return nil
	}
	b, err := m.inst.alloc(n)
	if err != nil {
		return err
	}
	m.inst.take(-int64(cap(old)))
	m.owned[t], t.Data = b, b
	return nil
}

// bindStep binds a step to the method's values.
func (m *Method) bindStep(s *step) (call, error) {
	switch {
	case s.plan != nil:
		return m.bindKernel(s)
	case s.prim != nil:
		return call{args: m.pointers(s.args)}, nil
	case s.backend != nil:
		c := call{args: m.pointers(s.args)}
		h, err := m.initDelegate(s, c.args)
		c.handle = h
		return c, err
	}
	return call{}, nil
}

// initDelegate is the handle of the delegate that s calls; the first call of a delegate makes it.
func (m *Method) initDelegate(s *step, args []*op.Value) (backend.Handle, error) {
	if d := m.delegates[s.a]; d != nil {
		if len(args) != d.args {
			return nil, fail(pte.InvalidProgram, "delegate ", itoa(s.a), " is called with ", itoa(d.args), " arguments and with ", itoa(len(args)))
		}
		return d.handle, nil
	}
	p, d := m.m.prog, &m.m.plan.Delegates[s.a]
	ctx := &backend.InitContext{Method: m.m.plan.Name, Args: args, Part: m.m.parts[s.a].what, Options: p.opts.BackendOptions[d.ID], Tracer: p.opts.Tracer,
		Threads: p.pool.Threads(), Tier: p.tier, Share: p.share, Alloc: m.inst.alloc, MaxMemory: p.opts.MaxMemory, NamedData: p.namedBytes,
		Release: p.release, Kernels: p.table, Constants: p.backendConstants, Pack: p.later, Temp: &m.inst.temp}
	processed := backend.NewFreeableBuffer(p.file.DelegateData[d.Processed], p.release)
	h, err := s.backend.Init(ctx, processed, d.CompileSpecs)
	if err != nil {
		return nil, wrap(pte.DelegateInvalidCompatibility, "init backend "+s.name, err)
	}
	m.delegates[s.a] = &delegate{s.backend, h, len(args)}
	return h, nil
}

// alloc is backend.InitContext.Alloc.
func (in *Instance) alloc(n int) ([]byte, error) {
	if !in.fits(n) {
		return nil, in.overLimit(max(int64(n), 0) + int64(in.temp.Held()))
	}
	in.take(int64(n))
	return in.prog.alloc(n), nil
}

// arena is alloc for memory that nobody looks at after Close: large ones come from the system, where nobody clears them once more,
// and do not make Go collect its garbage.
func (in *Instance) arena(n int) ([]byte, error) {
	if in.prog.opts.Alloc == nil && in.fits(n) {
		if b, unmap := mapMemory(n); unmap != nil {
			in.unmaps = append(in.unmaps, unmap)
			in.take(int64(n))
			return b, nil
		}
	}
	return in.alloc(n)
}

// fits reports whether n more bytes are within the limit; temporaries that nobody has make room for them.
func (in *Instance) fits(n int) bool {
	room := in.prog.opts.MaxMemory - in.used
	if int64(n) > room-int64(in.temp.Held()) {
		in.temp.Trim()
	}
	return n >= 0 && int64(n) <= room-int64(in.temp.Held())
}

// overLimit is the error of an instance that needs n more bytes than it has.
func (in *Instance) overLimit(n int64) error {
	return fail(pte.MemoryAllocationFailed, "instance needs ", itoa(in.used+n), " bytes and more, the limit is ", itoa(in.prog.opts.MaxMemory))
}

// take counts n bytes, which are there, and leaves the rest to temporaries.
func (in *Instance) take(n int64) {
	in.used += n
	in.temp.Limit = int(max(in.prog.opts.MaxMemory-in.used, 1))
}

func (m *Method) pointers(list []int32) []*op.Value {
	args := make([]*op.Value, len(list))
	for i, v := range list {
		args[i] = m.vals[v]
	}
	return args
}

func (m *Method) bindKernel(s *step) (call, error) {
	var c call
	outs, static := make([]*tensor.Tensor, 0, len(s.outs)), make([]bool, 0, len(s.outs))
	for i, v := range s.args {
		if m.m.varies[v] {
			c.refresh = append(c.refresh, i)
		}
	}
	for i, v := range s.outs {
		outs = append(outs, m.vals[v].Tensor)
		static = append(static, m.m.static(v))
		if m.m.varies[v] {
			c.refresh = append(c.refresh, len(s.args)+i)
		}
	}
	args := make([]op.Value, len(s.args))
	for i, v := range s.args {
		args[i] = s.kernelArg(i, m.vals[v])
	}
	if err := m.takeInvoker(args); err != nil {
		return c, err
	}
	c.invoker = s.plan.Bind(args, outs, &m.env)
	c.invoker.Fixed, c.invoker.Stable, c.invoker.Static = s.fixed, s.stable, static
	return c, nil
}

// invokerMember is about what an invoker takes for each member of a list.
const invokerMember = 128

// takeInvoker counts what an invoker takes for lists: many instructions may share a long one.
func (m *Method) takeInvoker(args []op.Value) error {
	tensors := 0
	for i := range args {
		tensors += len(args[i].Tensors)
	}
	n := int64(tensors) * invokerMember
	if n > m.inst.prog.opts.MaxMemory-m.inst.used {
		return m.inst.overLimit(n)
	}
	m.inst.take(n)
	return nil
}

// refreshList sets the members of list v from the values that they name.
func (m *Method) refreshList(v int) {
	list := m.vals[v]
	for j, item := range m.m.plan.Values[v].Items {
		switch {
		case item < 0:
		case list.Kind == op.Ints:
			list.Ints[j] = m.vals[item].Int
		case list.Kind == op.Tensors:
			list.Tensors[j] = m.vals[item].Tensor
		}
	}
}

// background is the context of a Run without one.
var background = context.Background()
