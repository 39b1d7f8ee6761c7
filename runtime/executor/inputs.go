package executor

import (
	"slices"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Value is an input or output: a tensor, a number, a string or nothing.
type Value = backend.Value

// Kind is the kind of a Value.
type Kind = op.Kind

// The kinds of inputs and outputs.
const (
	None   = op.None
	Tensor = op.Tensor
	Int    = op.Int
	Float  = op.Float
	Bool   = op.Bool
	String = op.String
)

// TensorOf is a tensor as a Value.
func TensorOf(t *tensor.Tensor) Value { return Value{Kind: Tensor, Tensor: t} }

// Values are tensors as Values, for a method whose inputs are all tensors.
func Values(tensors ...*tensor.Tensor) []Value {
	values := make([]Value, len(tensors))
	for i, t := range tensors {
		values[i] = TensorOf(t)
	}
	return values
}

// IntOf is an integer as a Value.
func IntOf(n int64) Value { return Value{Kind: Int, Int: n} }

// FloatOf is a floating-point number as a Value.
func FloatOf(f float64) Value { return Value{Kind: Float, Float: f} }

// BoolOf is a truth value as a Value.
func BoolOf(b bool) Value {
	v := Value{Kind: Bool}
	if b {
		v.Int = 1
	}
	return v
}

// StringOf is a string as a Value.
func StringOf(s string) Value { return Value{Kind: String, Str: s} }

func kindName(k Kind) string {
	switch k {
	case None:
		return "None"
	case Tensor:
		return "a tensor"
	case Int:
		return "an int"
	case Float:
		return "a float"
	case Bool:
		return "a bool"
	case String:
		return "a string"
	}
	return "a list"
}

// setInputs checks the inputs and puts them into the method's values.
func (m *Method) setInputs(inputs []Value) error {
	want := m.m.plan.Inputs
	if len(inputs) != len(want) {
		return fail(pte.InvalidArgument, "got ", itoa(len(inputs)), " inputs, want ", itoa(len(want)))
	}
	if len(m.m.guards) > 0 && m.m.ranksFit(inputs) {
		if err := m.m.checkGuards(inputs); err != nil {
			return err
		}
	}
	for i := range inputs {
		in, h := &inputs[i], &m.homes[i]
		var err error
		switch last := h.tensor; {
		case last == nil || in.Kind != Tensor || in.Tensor == nil || !like(in.Tensor, last):
			err = m.setInput(i, in)
		case h.copied:
			tensor.Copy(last.Data, in.Tensor.Data)
		default:
			err = m.takeBytes(i, in.Tensor, last, len(last.Data), true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ranksFit reports whether the tensors among the inputs have the ranks that the method takes; setInput says which has not.
func (m *method) ranksFit(inputs []Value) bool {
	for i := range inputs {
		in, t := inputs[i].Tensor, m.vals[m.plan.Inputs[i]].Tensor
		if in != nil && t != nil && len(in.Sizes) != len(t.Sizes) {
			return false
		}
	}
	return true
}

// inputText is "input 1", with its name where the program has that.
func (m *method) inputText(i int) string {
	for k := range m.guards {
		if g := &m.guards[k]; g.input == i {
			return "input " + itoa(i) + " (" + g.name + ")"
		}
	}
	return "input " + itoa(i)
}

func (m *Method) setInput(i int, in *Value) error {
	v := m.m.plan.Inputs[i]
	from, val := &m.m.vals[v], m.vals[v]
	if in.Kind == Int && from.Kind == Float {
		f := FloatOf(float64(in.Int))
		in = &f
	}
	symbolic := from.Kind == None && m.m.used[v] // the official emitter's symbolic inputs have no kind
	if in.Kind != from.Kind && !(symbolic && isNumber(in)) {
		return fail(pte.InvalidArgument, m.m.inputText(i), " is ", kindName(in.Kind), ", want ", kindName(from.Kind))
	}
	switch in.Kind {
	case Tensor:
		if in.Tensor == nil {
			return fail(pte.InvalidArgument, m.m.inputText(i), " is a nil tensor")
		}
		return m.setTensor(i, int(v), in.Tensor)
	case Int, Bool, Float, String:
		if !m.m.used[v] && !sameNumber(in, from) {
			return fail(pte.InvalidArgument, m.m.inputText(i), " is ", in.String(), ", the program was exported for ", from.String())
		}
		val.Kind, val.Int, val.Float, val.Str = in.Kind, in.Int, in.Float, in.Str
	}
	return nil
}

// sameNumber compares as ExecuTorch does: floats nearly, the rest exactly.
func sameNumber(a, b *Value) bool {
	if a.Kind == Float {
		d := a.Float - b.Float
		lim := 1e-4 + 1e-5*max(a.Float, -a.Float)
		return d == 0 || d < lim && -d < lim
	}
	return a.Int == b.Int && a.Str == b.Str
}

func (m *Method) setTensor(i, v int, in *tensor.Tensor) error {
	t := m.vals[v].Tensor
	from, dynamism := m.m.vals[v].Tensor, m.m.plan.Values[v].Tensor.Dynamism
	if in.DType != from.DType {
		return fail(pte.InvalidArgument, m.m.inputText(i), " has dtype ", in.DType.String(), ", want ", from.DType.String())
	}
	if !m.m.sizesFit(v, in.Sizes, dynamism) {
		return fail(pte.InvalidArgument, m.m.inputText(i), " has sizes ", op.SizesText(in.Sizes), ", want ", boundText(from.Sizes, dynamism))
	}
	if !in.ValidOrder() {
		return fail(pte.InvalidArgument, m.m.inputText(i), " has a dim order that is not a permutation of ", itoa(len(in.Sizes)), " dimensions")
	}
	n, ok := in.BoundedBytes(m.m.prog.opts.MaxMemory)
	if !ok || int64(len(in.Data)) < n {
		return fail(pte.InvalidArgument, m.m.inputText(i), " has ", itoa(len(in.Data)), " bytes, want ", itoa(n))
	}
	copy(t.Sizes, in.Sizes)
	m.resizes++
	t.Data = t.Data[:0] // which they are not the sizes of, should there be no room
	return m.takeBytes(i, in, t, int(n), sameOrder(&in.Meta, &t.Meta))
}

// like reports whether an input has the type, the sizes and the order of the last one, which t still has, and the bytes for
// them: then it is as right as that one was.
func like(in, t *tensor.Tensor) bool {
	return len(t.Data) > 0 && len(in.Data) >= len(t.Data) && in.Meta.Equal(&t.Meta)
}

// home is where an input is when no Run is under way.
type home struct {
	tensor *tensor.Tensor // nil for what is no tensor, or written back
	data   []byte         // where it is planned; nil if it is not
	copied bool           // every Run copies it to data
}

// lentLeast is how many bytes a planned input has at least that stays where the caller has it: fewer are copied sooner.
const lentLeast = 4 << 10

// giveBack lets go of the caller's memory.
func (m *Method) giveBack() {
	for i, lent := range m.m.lent {
		if h := &m.homes[i]; lent {
			h.tensor.Data = h.data[:len(h.tensor.Data)]
		}
	}
}

// bringHome moves t, which a delegate may write, out of the caller's memory, if it lies there.
func (m *Method) bringHome(t *tensor.Tensor) {
	for i, lent := range m.m.lent {
		if h := &m.homes[i]; lent && h.tensor == t {
			from := t.Data
			t.Data = h.data[:len(from)]
			copy(t.Data, from)
		}
	}
}

// lends reports whether t can be data, the caller's: it is aligned, and no memory that the method writes, as what it gave before.
func (m *Method) lends(t *tensor.Tensor, data []byte) bool {
	if !isAligned(data, t.DType) {
		return false
	}
	for _, a := range m.arenas {
		if tensor.Overlap(a, data) {
			return false
		}
	}
	for _, v := range m.m.ownOutputs {
		if o := m.vals[v].Tensor; o != nil && o != t && tensor.Overlap(o.Data, data) {
			return false
		}
	}
	for _, i := range m.m.moved {
		if tensor.Overlap(m.results[i].Data, data) {
			return false
		}
	}
	return true
}

// takeBytes gives t, the tensor of input i, the n bytes that in begins with: it shares them where it may, or copies them; same says that
// their order is that of t.
func (m *Method) takeBytes(i int, in, t *tensor.Tensor, n int, same bool) error {
	h, isOwned := &m.homes[i], m.m.place[m.m.plan.Inputs[i]] == owned
	if same && (isOwned || !h.copied && n >= lentLeast) && m.lends(t, in.Data) {
		t.Data = in.Data[:n:n]
		return nil
	}
	if !isOwned {
		t.Data = h.data // where it is not if the value is two inputs
	} else if err := m.growOwned(t, n); err != nil {
		return err
	}
	if n > cap(t.Data) {
		return fail(pte.InvalidArgument, m.m.inputText(i), " needs ", itoa(n), " bytes, its place has ", itoa(cap(t.Data)))
	}
	if t.Data = t.Data[:n]; same {
		tensor.Copy(t.Data, in.Data)
		return nil
	}
	if tensor.Overlap(t.Data, in.Data) { // it is what the last Run gave
		in = &tensor.Tensor{Meta: in.Meta, Data: slices.Clone(in.Data)}
	}
	op.Reorder(t, in)
	return nil
}

func isAligned(b []byte, t tensor.ScalarType) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(t.Size()) == 0
}

// findLent finds the planned inputs that nothing but instructions which read them looks at, and the outputs that lie elsewhere than inputs.
func (m *method) findLent() {
	inLine, views := m.inLine(), m.findViews()
	seen := make([]bool, len(m.vals)) // by others than instructions that read it
	m.each(m.plan.Outputs, func(v int32) {
		seen[v] = true
		if !inLine || !m.isInput[views.base(v)] {
			m.ownOutputs = append(m.ownOutputs, v)
		}
	})
	for i, v := range m.plan.Outputs {
		if m.varies[v] {
			m.moved = append(m.moved, i)
		}
	}
	large, shared := false, false
	for i, v := range m.plan.Inputs {
		large = large || m.lendable(v)
		shared = shared || m.writesBack[i] && m.place[v] == owned // it may be another input that the caller gives
	}
	if !inLine || !large || shared {
		return
	}
	_, flows := m.flows()
	for _, f := range flows {
		seen[f.from] = true
	}
	p := m.findSpans()
	m.lent = make([]bool, len(m.plan.Inputs))
	for i, v := range m.plan.Inputs {
		m.lent[i] = m.lendable(v) && p.alone(v) && !seen[v] && !m.varies[v] && !m.writesBack[i]
	}
}

// lendable reports whether v is planned and so large that to copy it takes longer than to see whether it may stay with the caller.
func (m *method) lendable(v int32) bool {
	return m.place[v] == planned && m.vals[v].Tensor.Nbytes() >= lentLeast
}

// sameOrder reports whether the elements of a and b, of equal sizes, lie in the same order.
func sameOrder(a, b *tensor.Meta) bool {
	if a.Contiguous() || b.Contiguous() {
		return a.Contiguous() && b.Contiguous()
	}
	for i, d := range a.DimOrder {
		if b.DimOrder[i] != d {
			return false
		}
	}
	return true
}

// sizesFit reports whether an input may have these sizes.
func (m *method) sizesFit(v int, sizes []int64, dynamism pte.Dynamism) bool {
	want := m.vals[v].Tensor.Sizes
	if len(sizes) != len(want) {
		return false
	}
	for i, n := range sizes {
		if n < 0 || dynamism == pte.Static && n != want[i] || dynamism == pte.DynamicBound && n > want[i] {
			return false
		}
	}
	return true
}

func boundText(sizes []int64, dynamism pte.Dynamism) string {
	switch dynamism {
	case pte.DynamicBound:
		return "at most " + op.SizesText(sizes)
	case pte.DynamicUnbound:
		return "rank " + itoa(len(sizes))
	}
	return op.SizesText(sizes)
}

// writeBack copies what the method wrote into its inputs to the caller's tensors.
func (m *Method) writeBack(inputs []Value) error {
	for i, v := range m.m.plan.Inputs {
		if !m.m.writesBack[i] {
			continue
		}
		in, t := inputs[i].Tensor, m.vals[v].Tensor
		if !slices.Equal(in.Sizes, t.Sizes) {
			return fail(pte.InvalidArgument, m.m.inputText(i), " has sizes ", op.SizesText(in.Sizes), ", the method changes them to ", op.SizesText(t.Sizes))
		}
		if sameOrder(&in.Meta, &t.Meta) {
			tensor.Copy(in.Data, t.Data)
			continue
		}
		op.Reorder(in, t)
	}
	return nil
}
