package executor

import (
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// place says where the bytes of a tensor lie.
type place uint8

const (
	noTensor place = iota
	constant       // in the file
	planned        // in an arena
	owned          // on its own, grown on demand; or shared with the caller's input
)

// method is the immutable part of a method.
type method struct {
	prog *Program
	plan *pte.ExecutionPlan // the file's, or that with inlined delegates
	// origin says which instruction of the file each one of plan belongs to, handles has the numbers that nodes of inlined delegates have in
	// traces, and inlinedData constants behind the file's; nil where nothing is inlined.
	origin      []int
	handles     []int64
	inlinedData [][]byte
	more        int            // how many instructions plan has more than the file's
	parts       map[int32]part // of inlined delegates, by the delegates that stay of them
	vals        []op.Value     // only constants have Data
	place       []place
	// varies marks values that instructions or inputs change, numbers and moved tensors; lists of them too.
	varies []bool
	// used marks values that an instruction or the outputs refer to.
	used []bool
	// isInput marks the inputs.
	isInput []bool
	// readOnly marks values that may hold a constant or a view of one.
	readOnly []bool
	// sharedArena marks the arenas that all methods of an instance share.
	sharedArena []bool
	// offsets are where planned tensors lie in their arenas; nil where the file says.
	offsets []uint64
	// arenas are how many bytes of each arena instances need: what is planned anew may take less than the file says.
	arenas []int64
	steps  []step
	// own are the values that each instance has for itself, and the tensors and dimensions that these take. It shares the others.
	own                 []int32
	ownTensors, ownDims int
	// writesBack lists the inputs whose bytes the method writes.
	writesBack []bool
	// lent lists the inputs that are planned and may yet stay where the caller has them; nil for none.
	lent []bool
	// ownOutputs are the tensors among the outputs, and in lists of them, that are no inputs or views of inputs.
	ownOutputs []int32
	// moved are the places of the outputs that instructions set: which tensor they are is known after a Run.
	moved     []int
	guards    []guard
	operators []string // the names of the plan's

	// While the method is loaded: arguments and outs of the step that is prepared, and what is inferred of it; and what findSpans found
	// last.
	args  []op.Value
	outs  []tensor.Meta
	infer op.Infer
	found *spans
}

// tensors are the tensors of a method's values, in two pieces of memory.
type tensors struct {
	list  []tensor.Tensor
	sizes []tensor.Dim
}

// newTensors is memory for so many tensors, which have so many dimensions together.
func newTensors(count, dims int) *tensors {
	return &tensors{make([]tensor.Tensor, count), make([]tensor.Dim, dims)}
}

// tensor takes a tensor of this rank, whose sizes are 0.
func (s *tensors) tensor(rank int) *tensor.Tensor {
	t := &s.list[0]
	t.Sizes = s.sizes[:rank:rank]
	s.list, s.sizes = s.list[1:], s.sizes[rank:]
	return t
}

// findOwn finds the values that change from call to call, those that others than kernels get, and tensors that lie elsewhere than in
// the file, with the lists that they are in. Tensors that nobody refers to any more are none of them, and need no room in arenas.
func (m *method) findOwn() {
	own := slices.Clone(m.varies)
	tensor := func(v int32) { own[v] = own[v] || m.bound(v) }
	use := func(list ...int32) {
		m.each(list, tensor)
		for _, v := range list {
			own[v] = own[v] || m.vals[v].Kind == op.Tensors
		}
	}
	use(m.plan.Inputs...)
	use(m.plan.Outputs...)
	for i := range m.steps {
		s := &m.steps[i]
		use(s.args...)
		use(s.outs...)
		switch {
		case s.kind == pte.JumpFalseCall:
			use(s.a)
		case s.plan == nil:
			for _, v := range s.args {
				own[v] = true
			}
		}
	}
	m.arenas = make([]int64, len(m.plan.NonConstBufferSizes))
	for i, yes := range own {
		v := int32(i)
		bound := m.bound(v)
		if !yes && !(bound && m.state(v)) {
			continue
		}
		m.own = append(m.own, v)
		if bound {
			m.ownTensors++
			m.ownDims += len(m.vals[v].Tensor.Sizes)
			if m.place[v] == planned {
				a := m.areaOf(v)
				m.arenas[a.memory] = max(m.arenas[a.memory], int64(a.to))
			}
		}
	}
	for i, shared := range m.sharedArena {
		if shared {
			m.arenas[i] = m.plan.NonConstBufferSizes[i]
		}
	}
	if slices.ContainsFunc(m.steps, func(s step) bool { return s.backend != nil }) {
		m.padArenas()
	}
}

// padArenas adds what the file has behind the last tensor of each arena, which the backends of delegates may read.
func (m *method) padArenas() {
	ends := make([]uint64, len(m.arenas))
	for v := range m.vals {
		if m.place[v] == planned {
			a := m.plan.Values[v].Tensor.Allocation
			ends[a.MemoryID] = max(ends[a.MemoryID], a.Offset+uint64(m.vals[v].Tensor.Nbytes()))
		}
	}
	for i, n := range m.plan.NonConstBufferSizes {
		m.arenas[i] = min(m.arenas[i]+n-int64(ends[i]), n)
	}
}

// bound reports whether v is a tensor that instances have memory for.
func (m *method) bound(v int32) bool { return m.vals[v].Kind == op.Tensor && m.place[v] != constant }

// loadValues makes vals and place of the plan's values.
func (m *method) loadValues() error {
	n := len(m.plan.Values)
	m.vals, m.place = make([]op.Value, n), make([]place, n)
	m.varies, m.used, m.isInput = make([]bool, n), make([]bool, n), make([]bool, n)
	for _, v := range m.plan.Inputs {
		m.isInput[v] = true
	}
	m.sharedArena = make([]bool, len(m.plan.NonConstBufferSizes))
	count, dims := 0, 0
	for i := range m.plan.Values {
		if t := m.plan.Values[i].Tensor; t != nil {
			count++
			dims += len(t.Sizes)
		}
	}
	made := newTensors(count, dims)
	for i := range m.plan.Values {
		if err := m.loadValue(i, made); err != nil {
			return wrap(pte.InvalidProgram, "load value "+itoa(i), err)
		}
	}
	for i := range m.plan.Values {
		if err := m.loadList(i); err != nil {
			return wrap(pte.InvalidProgram, "load value "+itoa(i), err)
		}
	}
	return m.loadGuards()
}

func (m *method) loadValue(i int, made *tensors) error {
	e, v := &m.plan.Values[i], &m.vals[i]
	switch e.Type {
	case pte.Int:
		v.Kind, v.Int = op.Int, e.Int
	case pte.Bool:
		v.Kind, v.Int = op.Bool, e.Int
	case pte.Double:
		v.Kind, v.Float = op.Float, e.Double
	case pte.String:
		v.Kind, v.Str = op.String, e.String
	case pte.BoolList:
		v.Kind, v.Ints = op.Bools, e.Items
	case pte.DoubleList:
		v.Kind, v.Floats = op.Floats, e.Doubles
	case pte.TensorValue:
		return m.loadTensor(i, e.Tensor, made)
	}
	return nil
}

// loadList makes the lists that refer to other values.
func (m *method) loadList(i int) error {
	e, v := &m.plan.Values[i], &m.vals[i]
	switch e.Type {
	case pte.IntList:
		v.Kind, v.Ints = op.Ints, make([]int64, len(e.Items))
	case pte.TensorList, pte.OptionalTensorList:
		v.Kind, v.Tensors = op.Tensors, make([]*tensor.Tensor, len(e.Items))
	default:
		return nil
	}
	for j, item := range e.Items {
		if item == -1 && e.Type == pte.OptionalTensorList {
			continue
		}
		if item < 0 || item >= int64(len(m.vals)) {
			return fail(pte.InvalidProgram, "item ", itoa(j), " is value ", itoa(item), ", which does not exist")
		}
		from := &m.vals[item]
		switch {
		case v.Kind == op.Ints && from.Kind == op.Int:
			v.Ints[j] = from.Int
		case v.Kind == op.Tensors && from.Kind == op.Tensor:
			v.Tensors[j] = from.Tensor
		case from.Kind == op.None && (e.Type == pte.OptionalTensorList || v.Kind == op.Ints && m.isInput[item]):
		default:
			return fail(pte.InvalidProgram, "item ", itoa(j), " is a value of the wrong kind")
		}
	}
	return nil
}

// loadTensor checks a tensor's description and finds its place.
func (m *method) loadTensor(i int, d *pte.Tensor, made *tensors) error {
	if !d.ScalarType.Valid() || d.StorageOffset != 0 || len(d.Sizes) > tensor.MaxRank || d.Layout != 0 {
		return fail(pte.NotSupported, "tensor of an element type, offset, rank or layout that is not supported")
	}
	t := made.tensor(len(d.Sizes))
	t.DType = d.ScalarType
	m.vals[i] = op.Value{Kind: op.Tensor, Tensor: t}
	for j, n := range d.Sizes {
		t.Sizes[j] = tensor.Dim(n)
	}
	if err := m.loadOrder(t, d.DimOrder); err != nil {
		return err
	}
	n, ok := t.BoundedBytes(m.prog.opts.MaxMemory)
	if onDemand := d.Dynamism == pte.DynamicUnbound && d.Allocation == nil && d.DataBufferIdx == 0 && d.Extra == nil; !ok && !onDemand {
		return fail(pte.MemoryAllocationFailed, "tensor of sizes ", op.SizesText(t.Sizes), " exceeds the limit of memory, ", itoa(m.prog.opts.MaxMemory))
	}
	return m.placeTensor(i, d, n)
}

func (m *method) loadOrder(t *tensor.Tensor, order []uint8) error {
	if len(order) != len(t.Sizes) {
		return fail(pte.InvalidProgram, "dim_order has ", itoa(len(order)), " members, want ", itoa(len(t.Sizes)))
	}
	var seen [tensor.MaxRank]bool
	plain := true
	for j, x := range order {
		if int(x) >= len(order) || seen[x] {
			return fail(pte.InvalidProgram, "dim_order is not a permutation")
		}
		seen[x] = true
		plain = plain && int(x) == j
	}
	if !plain {
		t.DimOrder = order
	}
	return nil
}

// placeTensor follows ExecuTorch's table of allocation, data_buffer_idx and extra_tensor_info.
func (m *method) placeTensor(i int, d *pte.Tensor, n int64) error {
	switch {
	case d.Allocation != nil:
		m.place[i] = planned
		if d.Allocation.Offset%uint64(d.ScalarType.Size()) != 0 {
			return fail(pte.InvalidProgram, "offset ", strconv.FormatUint(d.Allocation.Offset, 10), " is not a multiple of ",
				itoa(d.ScalarType.Size()), " bytes")
		}
		return m.checkPlace(d.Allocation, n)
	case d.Extra != nil && d.Extra.Location == pte.LocationExternal:
		data, err := m.prog.external(d, n)
		if err != nil {
			return err
		}
		return m.setConstant(i, data)
	case d.DataBufferIdx > 0:
		data, ok := m.constantBytes(int(d.DataBufferIdx))
		if !ok {
			return fail(pte.InvalidProgram, "constant ", itoa(d.DataBufferIdx), " does not exist")
		}
		if int64(len(data)) < n {
			return fail(pte.InvalidProgram, "constant has ", itoa(len(data)), " bytes, want ", itoa(n))
		}
		return m.setConstant(i, data[:n:n])
	default:
		m.place[i] = owned
	}
	return nil
}

// constantBytes is constant i; ok is false if there is none.
func (m *method) constantBytes(i int) (data []byte, ok bool) {
	list := m.prog.file.ConstantBuffers
	if i >= len(list) {
		list, i = m.inlinedData, i-len(list)
	}
	if i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// external is the n bytes of a tensor that lie among named data.
func (p *Program) external(d *pte.Tensor, n int64) ([]byte, error) {
	name := d.Extra.FullyQualifiedName
	found := p.named[name]
	switch {
	case found == nil:
		return nil, fail(pte.NotFound, "external constant ", strconv.Quote(name), " is neither in the program nor in the data files given with it")
	case found.Layout != nil && !sameLayout(found.Layout, d):
		return nil, fail(pte.InvalidExternalData, "external constant ", strconv.Quote(name), " has another type, shape or order of dimensions than the program's tensor")
	case int64(len(found.Data)) < n:
		return nil, fail(pte.InvalidExternalData, "external constant ", strconv.Quote(name), " has ", itoa(len(found.Data)), " bytes, want ", itoa(n))
	}
	return found.Data[:n:n], nil
}

func sameLayout(l *pte.TensorLayout, d *pte.Tensor) bool {
	return l.ScalarType == d.ScalarType && slices.Equal(l.Sizes, d.Sizes) && slices.Equal(l.DimOrder, d.DimOrder)
}

func (m *method) checkPlace(a *pte.Allocation, n int64) error {
	sizes := m.plan.NonConstBufferSizes
	if a.MemoryID == 0 || int64(a.MemoryID) >= int64(len(sizes)) {
		return fail(pte.InvalidProgram, "arena ", itoa(a.MemoryID), " does not exist")
	}
	size := sizes[a.MemoryID]
	if a.Offset > uint64(max(size, 0)) || n > size-int64(a.Offset) {
		return fail(pte.MemoryAllocationFailed, "tensor of ", itoa(n), " bytes does not fit into arena ", itoa(a.MemoryID))
	}
	return nil
}

// setConstant makes value i a constant of these bytes, or of a copy if they do not lie as its elements must.
func (m *method) setConstant(i int, data []byte) error {
	t := m.vals[i].Tensor
	m.place[i], t.Data = constant, data
	if isAligned(data, t.DType) {
		return nil
	}
	if err := m.prog.charge(int64(len(data))); err != nil {
		return err
	}
	t.Data = m.prog.alloc(len(data))
	copy(t.Data, data)
	return nil
}

// shareArenas finds the arenas from 2 on that hold nothing but mutable state in every method that has
// them: methods of an instance share those.
func (p *Program) shareArenas() {
	if len(p.methods) < 2 {
		return
	}
	type arena struct {
		size  int64
		users int
		other bool // it holds something else, or has another size elsewhere
	}
	arenas := make(map[int]arena)
	for _, m := range p.methods {
		other := m.otherThanState()
		for id := 2; id < len(m.sharedArena); id++ {
			a, n := arenas[id], m.plan.NonConstBufferSizes[id]
			arenas[id] = arena{n, a.users + 1, a.other || other[id] || a.users > 0 && a.size != n}
		}
	}
	for _, m := range p.methods {
		for id := 2; id < len(m.sharedArena); id++ {
			m.sharedArena[id] = !arenas[id].other && arenas[id].users > 1
		}
	}
}

// otherThanState marks the arenas with an input, or with a tensor that an instruction produces before one reads it.
func (m *method) otherThanState() []bool {
	other, read := make([]bool, len(m.sharedArena)), make(map[pte.Allocation]bool)
	place := func(v int32) *pte.Allocation {
		if t := m.plan.Values[v].Tensor; t != nil {
			return t.Allocation
		}
		return nil
	}
	for _, v := range m.plan.Inputs {
		if a := place(v); a != nil {
			other[a.MemoryID] = true
		}
	}
	for _, chain := range m.plan.Chains {
		for i := range chain.Instructions {
			outs, reads := m.outsAndReads(&chain.Instructions[i])
			for _, v := range reads {
				if a := place(v); a != nil {
					read[*a] = true
				}
			}
			for _, v := range outs {
				if a := place(v); a != nil && !read[*a] {
					other[a.MemoryID] = true
				}
			}
		}
	}
	return other
}
