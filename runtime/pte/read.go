package pte

import (
	"strconv"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/rules-pte/rules_pte/runtime/pte/internal/fb"
)

// The memory that decoding may take: budgetBase and budgetFactor bytes for each byte of the flatbuffer.
const (
	budgetBase   = 24 << 20
	budgetFactor = 48
)

// maxVersion is the newest schema version that is known.
const maxVersion = 0

// Vtable offsets of the vectors that ExecuTorch demands to be present.
const (
	slotPlans        = 6
	slotSegments     = 12
	slotNamedData    = 18
	slotPlanValues   = 8
	slotInputs       = 10
	slotOutputs      = 12
	slotDelegates    = 18
	slotBufferSizes  = 20
	slotInstructions = 8
	slotItems        = 4
	slotArgs         = 6
	slotSizes        = 8
	slotDimOrder     = 10
)

// Read decodes and checks a whole file. Constants, mutable data, delegate data and named data are slices of file;
// all else is copied. A buffer that a tensor refers to has the tensor's size; another one ends at the next offset.
//
// It accepts files without an extended header, constants inside the flatbuffer, and absent optional fields. All
// indices, ranges and tensor descriptions are checked. Memory is at most 32 MiB and 64 times the flatbuffer. The
// error is an *Error.
func Read(file []byte) (*Program, error) {
	r, err := newReader(file)
	if err != nil {
		return nil, err
	}
	r.program()
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

// reader decodes one file. The first fault stays in err; after it, results are meaningless.
type reader struct {
	file    []byte
	head    header
	src     *fb.Program
	out     *Program
	budget  int
	strings map[string]string
	// delegates finds the index in DelegateData by data location and index.
	delegates map[uint64]int
	// constants and mutables are the sizes that tensors give to buffers.
	constants, mutables map[uint32]uint64
	plan                int
	at                  accessors
	err                 *Error

	// What there are many small ones of.
	tensors     slab[Tensor]
	allocations slab[Allocation]
	int32s      slab[int32]
	int64s      slab[int64]
	orders      slab[byte]
}

// slab gives small slices that share an allocation.
type slab[T any] struct {
	free []T
	size int // of the allocation that free is of
}

// How many elements an allocation of a slab has.
const (
	slabLeast = 16
	slabMost  = 512
)

// take is n zeros.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		if n > slabMost/4 {
			return make([]T, n)
		}
		s.size = max(slabLeast, min(2*s.size, slabMost), n)
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// one is a new T.
func (s *slab[T]) one() *T { return &s.take(1)[0] }

// newReader reads the header of file and verifies its flatbuffer.
func newReader(file []byte) (*reader, error) {
	h, err := parseHeader(file)
	if err != nil {
		return nil, err
	}
	if err := verifyFlatbuffer(file[:h.program]); err != nil {
		return nil, err
	}
	return &reader{
		file: file, head: h, src: fb.GetRootAsProgram(file[:h.program], 0), out: &Program{},
		budget: budgetBase + budgetFactor*int(h.program), strings: map[string]string{}, delegates: map[uint64]int{},
		constants: map[uint32]uint64{}, mutables: map[uint32]uint64{},
	}, nil
}

func (r *reader) fail(code Code, where, msg string) {
	if r.err == nil {
		r.err = &Error{Code: code, Where: where, Msg: msg}
	}
}

// bad is an InvalidProgram fault of item i of the current plan.
func (r *reader) bad(kind string, i int, msg string) {
	r.failIn(InvalidProgram, kind, i, msg)
}

func (r *reader) failIn(code Code, kind string, i int, msg string) {
	r.fail(code, "plan "+itoa(r.plan)+" "+kind+" "+itoa(i), msg)
}

// charge takes bytes from the budget.
func (r *reader) charge(n int) bool {
	if n > r.budget {
		r.fail(OutOfResources, "program", "decoded size is out of proportion to the file's")
	}
	r.budget -= n
	return r.err == nil
}

// array is a new slice of n elements of the given size, or nil.
func array[T any](r *reader, n, size int) []T {
	if n == 0 || !r.charge(n*size) {
		return nil
	}
	for _, s := range [...]any{&r.int32s, &r.int64s} {
		if s, ok := s.(*slab[T]); ok {
			return s.take(n)
		}
	}
	return make([]T, n)
}

// numbers copies a vector of scalars.
func numbers[T any](r *reader, n int, get func(int) T) []T {
	out := array[T](r, n, 8)
	for i := range out {
		out[i] = get(i)
	}
	return out
}

// int32s copies the vector in a slot of t, which accessors would look for once for each number.
func int32s(r *reader, t table, slot flatbuffers.VOffsetT) []int32 {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return nil
	}
	out, at := array[int32](r, t.VectorLen(o), 8), t.Vector(o)
	for i := range out {
		out[i] = t.GetInt32(at + flatbuffers.UOffsetT(4*i))
	}
	return out
}

// integers copies a vector of scalars into 64 bits.
func integers[T int32 | int64](r *reader, n int, get func(int) T) []int64 {
	out := array[int64](r, n, 8)
	for i := range out {
		out[i] = int64(get(i))
	}
	return out
}

func (r *reader) string(b []byte) string {
	if len(b) == 0 || !r.charge(len(b)) {
		return ""
	}
	if s, ok := r.strings[string(b)]; ok {
		return s
	}
	if !utf8.Valid(b) {
		r.fail(InvalidProgram, "plan "+itoa(r.plan), "string "+strconv.Quote(string(b[:min(len(b), 32)]))+" is not UTF-8")
	}
	r.charge(64)
	s := string(b)
	r.strings[s] = s
	return s
}

func (r *reader) bytes(b []byte) []byte {
	if len(b) == 0 || !r.charge(len(b)) {
		return nil
	}
	out := r.orders.take(len(b))
	copy(out, b)
	return out
}

func (r *reader) program() {
	t := r.src.Table()
	if t.Offset(slotPlans) == 0 {
		r.fail(InvalidProgram, "program", "missing execution_plan")
		return
	}
	if r.out.Version = r.src.Version(); r.out.Version > maxVersion {
		r.fail(InvalidProgram, "program", "version "+itoa(r.out.Version)+", want at most "+itoa(maxVersion))
		return
	}
	r.out.Plans = array[*ExecutionPlan](r, r.src.ExecutionPlanLength(), 8)
	var p fb.ExecutionPlan
	for i := 0; i < len(r.out.Plans) && r.err == nil; i++ {
		r.plan = i
		r.src.ExecutionPlan(&p, i)
		r.out.Plans[i] = r.executionPlan(&p)
	}
	r.buffers()
	r.namedData()
}

func (r *reader) executionPlan(p *fb.ExecutionPlan) *ExecutionPlan {
	if !r.required(p) || !r.charge(320) {
		return nil
	}
	out := &ExecutionPlan{
		Name:                r.string(p.Name()),
		Inputs:              numbers(r, p.InputsLength(), p.Inputs),
		Outputs:             numbers(r, p.OutputsLength(), p.Outputs),
		NonConstBufferSizes: numbers(r, p.NonConstBufferSizesLength(), p.NonConstBufferSizes),
	}
	if c := p.ContainerMetaType(nil); c != nil {
		out.EncodedInpStr, out.EncodedOutStr = r.string(c.EncodedInpStr()), r.string(c.EncodedOutStr())
	}
	r.devices(p, out)
	r.values(p, out)
	r.operators(p, out)
	r.backendDelegates(p, out)
	r.chains(p, out)
	if r.err == nil {
		r.checkPlan(out)
	}
	return out
}

// required checks what ExecuTorch demands before a method is loaded.
func (r *reader) required(p *fb.ExecutionPlan) bool {
	t := p.Table()
	for _, f := range []struct {
		slot int
		name string
	}{
		{4, "name"}, {slotPlanValues, "values"}, {slotInputs, "inputs"}, {slotOutputs, "outputs"},
		{14, "chains"}, {slotDelegates, "delegates"}, {slotBufferSizes, "non_const_buffer_sizes"},
	} {
		if t.Offset(flatbuffers.VOffsetT(f.slot)) == 0 {
			r.fail(InvalidProgram, "plan "+itoa(r.plan), "missing "+f.name)
			return false
		}
	}
	return true
}

func (r *reader) devices(p *fb.ExecutionPlan, out *ExecutionPlan) {
	out.NonConstBufferDevice = array[NonConstBufferDevice](r, p.NonConstBufferDeviceLength(), 8)
	var d fb.NonConstBufferDevice
	for i := range out.NonConstBufferDevice {
		p.NonConstBufferDevice(&d, i)
		out.NonConstBufferDevice[i] = NonConstBufferDevice{d.BufferIdx(), int8(d.DeviceType()), d.DeviceIndex()}
	}
}

func (r *reader) operators(p *fb.ExecutionPlan, out *ExecutionPlan) {
	out.Operators = array[Operator](r, p.OperatorsLength(), 32)
	var o fb.Operator
	for i := range out.Operators {
		p.Operators(&o, i)
		if len(o.Name()) == 0 {
			r.bad("operator", i, "missing name")
			return
		}
		out.Operators[i] = Operator{r.string(o.Name()), r.string(o.Overload())}
	}
}

func (r *reader) chains(p *fb.ExecutionPlan, out *ExecutionPlan) {
	out.Chains = array[Chain](r, p.ChainsLength(), 96)
	if len(out.Chains) == 0 {
		r.fail(InvalidProgram, "plan "+itoa(r.plan), "no chains")
	}
	var c fb.Chain
	for i := range out.Chains {
		p.Chains(&c, i)
		if t := c.Table(); t.Offset(slotInstructions) == 0 {
			r.bad("chain", i, "missing instructions")
			return
		}
		out.Chains[i] = r.chain(&c)
	}
}

func (r *reader) chain(c *fb.Chain) Chain {
	out := Chain{
		Inputs:       numbers(r, c.InputsLength(), c.Inputs),
		Outputs:      numbers(r, c.OutputsLength(), c.Outputs),
		Instructions: array[Instruction](r, c.InstructionsLength(), 40),
		Stacktrace:   array[[]Frame](r, c.StacktraceLength(), 24),
	}
	var in fb.Instruction
	for i := 0; i < len(out.Instructions) && r.err == nil; i++ {
		c.Instructions(&in, i)
		out.Instructions[i] = r.instruction(i, &in)
	}
	var l fb.FrameList
	for i := 0; i < len(out.Stacktrace) && r.err == nil; i++ {
		c.Stacktrace(&l, i)
		out.Stacktrace[i] = r.frames(&l)
	}
	return out
}

func (r *reader) frames(l *fb.FrameList) []Frame {
	out := array[Frame](r, l.ItemsLength(), 56)
	var f fb.Frame
	for i := range out {
		l.Items(&f, i)
		out[i] = Frame{r.string(f.Filename()), f.Lineno(), r.string(f.Name()), r.string(f.Context())}
	}
	return out
}

func (r *reader) instruction(i int, in *fb.Instruction) Instruction {
	var t table
	in.InstrArgs(&t)
	out := Instruction{Type: InstructionType(in.InstrArgsType())}
	if call := out.Type == KernelCall || out.Type == DelegateCall; call && t.Offset(slotArgs) == 0 {
		r.bad("instruction", i, "missing args")
		return out
	}
	switch out.Type {
	case KernelCall:
		c := as(&r.at.kernelCall, t)
		out.A, out.Args = c.OpIndex(), int32s(r, t, slotArgs)
	case DelegateCall:
		c := as(&r.at.delegateCall, t)
		out.A, out.Args = c.DelegateIndex(), int32s(r, t, slotArgs)
	case MoveCall:
		c := as(&r.at.moveCall, t)
		out.A, out.B = c.MoveFrom(), c.MoveTo()
	case JumpFalseCall:
		c := as(&r.at.jumpFalseCall, t)
		out.A, out.B = c.CondValueIndex(), c.DestinationInstruction()
	case FreeCall:
		out.A = as(&r.at.freeCall, t).ValueIndex()
	}
	return out
}

func (r *reader) backendDelegates(p *fb.ExecutionPlan, out *ExecutionPlan) {
	out.Delegates = array[BackendDelegate](r, p.DelegatesLength(), 48)
	var d fb.BackendDelegate
	for i := 0; i < len(out.Delegates) && r.err == nil; i++ {
		p.Delegates(&d, i)
		out.Delegates[i] = r.backendDelegate(i, &d)
	}
}

func (r *reader) backendDelegate(i int, d *fb.BackendDelegate) BackendDelegate {
	out := BackendDelegate{ID: r.string(d.Id()), CompileSpecs: array[CompileSpec](r, d.CompileSpecsLength(), 40)}
	if out.ID == "" {
		r.bad("delegate", i, "missing id")
	}
	var c fb.CompileSpec
	for j := range out.CompileSpecs {
		d.CompileSpecs(&c, j)
		out.CompileSpecs[j] = CompileSpec{r.string(c.Key()), r.bytes(c.ValueBytes())}
	}
	ref := d.Processed(nil)
	if ref == nil {
		r.bad("delegate", i, "missing processed")
		return out
	}
	out.Processed = r.processed(i, ref)
	return out
}

// processed is the index in DelegateData of a payload.
func (r *reader) processed(i int, ref *fb.BackendDelegateDataReference) int {
	key := uint64(ref.Location())<<32 | uint64(ref.Index())
	if at, ok := r.delegates[key]; ok || r.err != nil {
		return at
	}
	data, ok := r.payload(ref)
	if !ok {
		r.bad("delegate", i, "no data "+strconv.FormatUint(uint64(ref.Index()), 10)+" at location "+itoa(int8(ref.Location())))
		return 0
	}
	if !r.charge(96) {
		return 0
	}
	at := len(r.out.DelegateData)
	r.delegates[key] = at
	r.out.DelegateData = append(r.out.DelegateData, data)
	return at
}

func (r *reader) payload(ref *fb.BackendDelegateDataReference) ([]byte, bool) {
	n := ref.Index()
	switch ref.Location() {
	case fb.DataLocationINLINE:
		var d fb.BackendDelegateInlineData
		if uint64(n) >= uint64(r.src.BackendDelegateDataLength()) {
			return nil, false
		}
		r.src.BackendDelegateData(&d, int(n))
		return whole(d.DataBytes()), true
	case fb.DataLocationSEGMENT:
		data, ok := r.segment(n)
		return data, ok && r.head.base != 0
	}
	return nil, false
}
