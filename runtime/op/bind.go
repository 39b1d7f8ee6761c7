package op

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Env is what calls on one goroutine share.
type Env struct {
	// Temp is where casts, scratch and Call.Alloc come from; Call resets it.
	Temp *Temp
	// Parallel is Call.Parallel; nil runs everything on the caller's goroutine.
	Parallel func(n, grain int, f func(lo, hi int))
	// Threads is Call.Threads.
	Threads int
	// Rand is Call.Rand.
	Rand *Generator
	// Grow gives t at least n bytes of Data, or an error if its place is fixed; nil: every place is fixed.
	Grow func(t *tensor.Tensor, n int) error
	// Resizes counts how often sizes of a tensor of the method have changed, by calls of invokers, which count theirs, or
	// otherwise; nil if nobody counts the others.
	Resizes *uint64

	alloc func(n int) ([]byte, error)
}

// Resize is Resize of a tensor of the method.
func (e *Env) Resize(t *tensor.Tensor, sizes []tensor.Dim, grow func(*tensor.Tensor, int) error) error {
	if !slices.Equal(t.Sizes, sizes) {
		e.resized()
	}
	return Resize(t, sizes, grow)
}

// resized counts a change of sizes.
func (e *Env) resized() {
	if e.Resizes != nil {
		*e.Resizes++
	}
}

func serially(n, _ int, f func(lo, hi int)) {
	if n > 0 {
		f(0, n)
	}
}

// Plan is a prepared call of a kernel. It is immutable and shared by instances.
type Plan struct {
	Kernel  *Kernel
	state   State
	tier    kernel.Tier
	scratch int
	promote bool
	inPlace []int // for each out the argument that it is, or -1
	consts  map[*tensor.Tensor]*tensor.Tensor
	packed  uint32 // Prep.Packed, and the constants that are cast
	bounds  *[2]float32
	unread  uint32
	order   []uint8 // what the result is computed in where it lies in row-major order; nil for that
}

// Options say how calls are prepared. The zero value packs for one plan alone, and gives the same
// bits on every machine.
type Options struct {
	// Pack keeps packed constants; nil: the plan does.
	Pack PackFunc
	// Release gets the parts of a constant that were packed while the others are not yet; nil: nobody wants to know. They may be read once more.
	Release func(b []byte)
	// Tier is the instruction set of the kernels that have more than one.
	Tier kernel.Tier
	// Bounds is Call.Bounds; nil unless the operator Clamps.
	Bounds *[2]float32
}

// Prepare makes a plan of calls of k. args are without outs and hold Data only for constants; outs have their
// largest sizes. sig is k's signature.
func Prepare(k *Kernel, sig *Signature, args []Value, outs []tensor.Meta, opts Options) (*Plan, error) {
	p := &Plan{Kernel: k, tier: opts.Tier, promote: k.Def.Key == KeyPromote || k.Def.Key == KeyPromoteFloat, inPlace: sig.inPlace,
		bounds: opts.Bounds}
	pack := opts.Pack.orNew()
	args = p.castConstants(args, pack)
	if k.Prepare == nil {
		return p, nil
	}
	if p.order = turned(k.Def, args, outs, opts.Tier); p.order != nil {
		outs = []tensor.Meta{{DType: outs[0].DType, Sizes: outs[0].Sizes, DimOrder: p.order}}
	}
	prep := Prep{Args: args, Out: outs, Turned: p.order != nil, Pack: pack, Release: opts.Release, Tier: opts.Tier}
	state, err := k.Prepare(&prep)
	p.state, p.scratch, p.packed = state, prep.Scratch, p.packed|prep.Packed
	return p, err
}

// Packed reports whether calls read no element of argument i, a constant that was packed.
func (p *Plan) Packed(i int) bool { return p.packed>>i&1 != 0 }

// turned is the order that a result is computed in, and turned then, where the operator wants that; nil for others.
func turned(def *Def, args []Value, outs []tensor.Meta, t kernel.Tier) []uint8 {
	if def.Turns == nil || len(outs) != 1 || outs[0].Rank() < 3 {
		return nil
	}
	o := &outs[0]
	inner := channelsInner(o, o.Rank()-2)
	if !inner && !o.Contiguous() || !def.Turns(args, o, t) {
		return nil
	}
	if inner {
		return []uint8{0, 1, 2, 3, 4}[:o.Rank()]
	}
	return appendInner(nil, o.Rank(), o.Rank()-2)
}

// SetUnread says that nobody reads some of the outs; see Call.Unread. It is called before Bind.
func (p *Plan) SetUnread(outs uint32) { p.unread = outs }

// Within is p with these bounds of the results; nil unless its kernel Clamps in Float, also what is Half or BFloat16 then, which has to
// have these bounds, too, and has none yet.
func (p *Plan) Within(low, high float32) *Plan {
	k := p.Kernel
	if k.Def.Tags&Clamps == 0 || !asFloat(k.DType) || p.runType(k.DType) != tensor.Float || !exactly(k.DType, low) || !exactly(k.DType, high) || p.bounds != nil || !(low <= high) {
		return nil
	}
	q := *p
	q.bounds = &[2]float32{low, high}
	return &q
}

// exactly reports whether x is a number of d, one that asFloat knows: then rounding to d keeps on which side of x a number is.
func exactly(d tensor.ScalarType, x float32) bool {
	switch d {
	case tensor.Half:
		return tensor.HalfToFloat32(tensor.Float32ToHalf(x)) == x
	case tensor.BFloat16:
		return tensor.BFloat16ToFloat32(tensor.Float32ToBFloat16(x)) == x
	}
	return true
}

// castConstants is args with constants in the type that Run wants.
func (p *Plan) castConstants(args []Value, pack PackFunc) []Value {
	casts := false
	for i := range args {
		casts = casts || p.castsArg(i, &args[i])
	}
	if !casts {
		return args
	}
	args = append([]Value(nil), args...)
	for i := range args {
		t := args[i].Tensor
		args[i].Tensor = p.castConstant(i, t, pack)
		if p.consts[t] == args[i].Tensor && t != nil {
			p.packed |= 1 << i
		}
		if len(args[i].Tensors) > 0 {
			list := append([]*tensor.Tensor(nil), args[i].Tensors...)
			for j, t := range list {
				list[j] = p.castConstant(i, t, pack)
			}
			args[i].Tensors = list
		}
	}
	return args
}

func (p *Plan) castConstant(i int, t *tensor.Tensor, pack PackFunc) *tensor.Tensor {
	if t == nil {
		return nil
	}
	want := p.argType(i, t.DType)
	if want == t.DType {
		return t
	}
	c := &tensor.Tensor{Meta: t.Meta.Clone()}
	c.DType = want
	if len(t.Data) == 0 || !t.Static() {
		return c
	}
	c.Data = pack(t, Packing{Layout: p.castLayout(i, t.DType, want), Bytes: c.Nbytes(), Now: true, Fill: func(dst []byte) {
		p.castTensor(i, &tensor.Tensor{Meta: c.Meta, Data: dst}, t)
	}})
	if p.consts == nil {
		p.consts = make(map[*tensor.Tensor]*tensor.Tensor)
	}
	p.consts[t] = c
	return c
}

// castLayout names what castTensor makes of argument i.
func (p *Plan) castLayout(i int, from, want tensor.ScalarType) string {
	if key := p.Kernel.DType; p.promotes(i) && from != key && want != key {
		return "cast " + key.String() + " " + want.String()
	}
	return "cast " + want.String()
}

// promotes reports whether argument i is cast to the key's type.
func (p *Plan) promotes(i int) bool {
	mask := p.Kernel.Def.KeyArgs
	return p.promote && (mask == 0 || mask>>i&1 != 0)
}

// keepArgs is how many arguments Kernel.Keep has bits for.
const keepArgs = 8

// argType is the type in which Run wants a tensor of type t as argument i.
func (p *Plan) argType(i int, t tensor.ScalarType) tensor.ScalarType {
	if p.promotes(i) {
		t = p.Kernel.DType
	}
	if i < keepArgs && p.Kernel.Keep>>i&1 != 0 {
		return t
	}
	return p.runType(t)
}

// runType is the type that a tensor of type t has inside of Run.
func (p *Plan) runType(t tensor.ScalarType) tensor.ScalarType {
	if p.Kernel.Cast && t == p.Kernel.DType {
		return p.Kernel.Compute
	}
	return t
}

// castTensor fills dst with argument i, src, rounded to the key's type on the way.
func (p *Plan) castTensor(i int, dst, src *tensor.Tensor) {
	CastBytes(dst.Data, dst.DType, src.Data, src.DType, src.Numel())
	p.roundTensor(i, dst, src.DType)
}

// roundTensor rounds argument i, converted from type t, to the key's type if that lies on the way.
func (p *Plan) roundTensor(i int, x *tensor.Tensor, t tensor.ScalarType) {
	if key := p.Kernel.DType; p.promotes(i) && t != key && x.DType != key {
		roundBytes(x.Data, x.DType, key, x.Numel())
	}
}

// Invoker calls a plan with the tensors of one instance. It is not for concurrent use.
type Invoker struct {
	// Args are the arguments, outs left out; numbers in it may be set between calls.
	Args []Value
	// Outs are the out tensors, of lists too; Call sets their sizes in place.
	Outs []*tensor.Tensor
	// Fixed says that sizes never change from call to call, so that they are inferred only once.
	Fixed bool
	// Stable says that sizes follow from nothing but the sizes of the tensors, so that they are inferred again only if
	// one of those has changed.
	Stable bool
	// Static marks the outs whose sizes may not change; nil for none.
	Static []bool

	plan     *Plan
	env      *Env
	infer    Infer
	call     Call
	caster   *kept[casting]  // the last conversion of cast
	temps    []tensor.Tensor // one for each out, and then each argument and each member of a list; nil until one is needed
	casts    bool
	inferred bool
	tensors  []*tensor.Tensor // if Stable, all arguments and outs of the last inference, members of lists too
	seen     []tensor.Dim     // the sizes of tensors after it
	direct   bool             // what is inferred stays, and neither arguments nor outs need temporaries
	known    bool             // the kernel has run with what is inferred
	resizes  uint64           // if Stable, env.Resizes when tensors had the sizes in seen
}

// sizesOf is room for the sizes and the order of an out, if it has no more dimensions than most.
type sizesOf struct {
	sizes [6]tensor.Dim
	order [6]uint8
}

// oneOut is an invoker with what it needs for one out, as most have.
type oneOut struct {
	Invoker
	infer [1]tensor.Meta
	room  [1]sizesOf
	out   [1]*tensor.Tensor
}

// Bind makes an invoker; it keeps the slices.
func (p *Plan) Bind(args []Value, outs []*tensor.Tensor, env *Env) *Invoker {
	var v *Invoker
	var infer []tensor.Meta
	var room []sizesOf
	var out []*tensor.Tensor
	if n := len(outs); n == 1 {
		one := new(oneOut)
		v, infer, room, out = &one.Invoker, one.infer[:], one.room[:], one.out[:]
	} else {
		v, infer, room, out = new(Invoker), make([]tensor.Meta, n), make([]sizesOf, n), make([]*tensor.Tensor, n)
	}
	for i := range infer {
		infer[i] = tensor.Meta{Sizes: room[i].sizes[:0], DimOrder: room[i].order[:0]}
	}
	copy(out, outs)
	v.Args, v.Outs, v.plan, v.env, v.infer, v.call.Out = args, outs, p, env, Infer{Args: args, Out: infer}, out
	for i := range args {
		v.casts = v.casts || p.castsArg(i, &args[i])
	}
	v.bindCall()
	return v
}

func (v *Invoker) bindCall() {
	if v.env.alloc == nil {
		v.env.alloc = v.env.Temp.Alloc
	}
	v.call = Call{Args: v.Args, Out: v.call.Out, Parallel: v.env.Parallel, Tier: v.plan.tier, Rand: v.env.Rand, Alloc: v.env.alloc,
		Bounds: v.plan.bounds, Unread: v.plan.unread, Threads: max(v.env.Threads, 1)}
	if v.call.Parallel == nil {
		v.call.Parallel = serially
	}
	if !v.casts {
		return
	}
	v.makeTemps()
	v.call.Args = append([]Value(nil), v.Args...)
	for i := range v.call.Args {
		if list := v.call.Args[i].Tensors; len(list) > 0 {
			v.call.Args[i].Tensors = append([]*tensor.Tensor(nil), list...)
		}
	}
}

// makeTemps makes the temporaries, which few invokers need.
func (v *Invoker) makeTemps() {
	n := len(v.Outs)
	for i := range v.Args {
		n += 1 + len(v.Args[i].Tensors)
	}
	v.temps = make([]tensor.Tensor, n)
}

// castsArg reports whether argument i or a member of it is cast.
func (p *Plan) castsArg(i int, a *Value) bool {
	if t := a.Tensor; t != nil && p.argType(i, t.DType) != t.DType {
		return true
	}
	for _, t := range a.Tensors {
		if t != nil && p.argType(i, t.DType) != t.DType {
			return true
		}
	}
	return false
}

// Call infers and sets the outs' sizes and runs the kernel.
func (v *Invoker) Call() error {
	if err := v.Place(); err != nil {
		return err
	}
	return v.run()
}

// Place is Call without running the kernel.
func (v *Invoker) Place() error {
	v.env.Temp.Reset()
	return v.place()
}

// place is Place that leaves temporaries alone.
func (v *Invoker) place() error {
	if !v.inferred || !v.Fixed && !(v.Stable && v.sameSizes()) {
		v.inferred, v.direct, v.known = false, false, false
		if err := v.resize(); err != nil {
			return err
		}
		v.inferred = true
		v.sawSizes()
	}
	if !v.direct {
		if err := v.castArgs(); err != nil {
			return err
		}
		if err := v.placeOuts(); err != nil {
			return err
		}
		v.direct = (v.Fixed || v.Stable) && !v.casts && slices.Equal(v.call.Out, v.Outs)
	}
	if n := v.plan.scratch; n > 0 {
		b, err := v.env.Temp.Alloc(n)
		if err != nil {
			return err
		}
		v.call.Scratch = b
	}
	return nil
}

// run runs the kernel of what is placed.
func (v *Invoker) run() error {
	if !v.known {
		v.call.left = false
	}
	v.call.same = v.known && v.call.left
	if err := v.plan.Kernel.Run(&v.call, v.plan.state); err != nil {
		v.known = false
		v.env.resized() // perhaps
		return err
	}
	v.known = v.Fixed || v.Stable
	if v.direct {
		return nil
	}
	return v.takeOuts()
}

// resize infers the outs and gives them their sizes.
func (v *Invoker) resize() error {
	if err := v.plan.Kernel.Def.Infer(&v.infer); err != nil {
		return err
	}
	if len(v.infer.Out) != len(v.Outs) {
		return errors.New("operator gives " + strconv.Itoa(len(v.infer.Out)) + " outputs, want " + strconv.Itoa(len(v.Outs)))
	}
	for i, t := range v.Outs {
		sizes := v.infer.Out[i].Sizes
		if err := v.checkStatic(i, t.Sizes, sizes); err != nil {
			return err
		}
		if !slices.Equal(t.Sizes, sizes) && v.reads(t) {
			return errors.New("output is an input, whose sizes " + SizesText(t.Sizes) + " would become " + SizesText(sizes))
		}
		if err := v.env.Resize(t, sizes, v.env.Grow); err != nil {
			return err
		}
	}
	if v.Stable {
		v.watch()
	}
	return nil
}

// reads reports whether t is an argument, or a member of one.
func (v *Invoker) reads(t *tensor.Tensor) bool {
	for i := range v.Args {
		if a := &v.Args[i]; a.Tensor == t || slices.Contains(a.Tensors, t) {
			return true
		}
	}
	return false
}

// watch notes all tensors and their sizes.
func (v *Invoker) watch() {
	v.tensors, v.seen = v.tensors[:0], v.seen[:0]
	for i := range v.Args {
		if t := v.Args[i].Tensor; t != nil {
			v.tensors = append(v.tensors, t)
		}
		for _, t := range v.Args[i].Tensors {
			if t != nil {
				v.tensors = append(v.tensors, t)
			}
		}
	}
	v.tensors = append(v.tensors, v.Outs...)
	for _, t := range v.tensors {
		v.seen = append(v.seen, t.Sizes...)
	}
}

// sawSizes notes that all tensors have the sizes of the last inference.
func (v *Invoker) sawSizes() {
	if n := v.env.Resizes; n != nil {
		v.resizes = *n
	}
}

// sameSizes reports whether all tensors, whose ranks never change, have the sizes that they had after the last inference.
func (v *Invoker) sameSizes() bool {
	if n := v.env.Resizes; n != nil && *n == v.resizes {
		return true
	}
	seen := v.seen
	for _, t := range v.tensors {
		n := len(t.Sizes)
		for k, d := range seen[:n] {
			if t.Sizes[k] != d {
				return false
			}
		}
		seen = seen[n:]
	}
	v.sawSizes()
	return true
}

// checkStatic refuses other sizes for an out that is static.
func (v *Invoker) checkStatic(i int, have, want []tensor.Dim) error {
	if v.Static == nil || !v.Static[i] || slices.Equal(have, want) {
		return nil
	}
	return errors.New("output has the static sizes " + SizesText(have) + ", want " + SizesText(want))
}

// castArgs puts the arguments into the call, cast where Run wants another type.
func (v *Invoker) castArgs() error {
	if !v.casts {
		return nil
	}
	next := len(v.Outs)
	for i := range v.Args {
		src, dst := &v.Args[i], &v.call.Args[i]
		list := dst.Tensors
		*dst = *src
		if src.Tensor != nil {
			t, err := v.castArg(i, src.Tensor, &v.temps[next])
			if err != nil {
				return err
			}
			dst.Tensor = t
		}
		next++
		dst.Tensors = list
		for j, m := range src.Tensors {
			t, err := v.castArg(i, m, &v.temps[next+j])
			if err != nil {
				return err
			}
			list[j] = t
		}
		next += len(src.Tensors)
	}
	return nil
}

func (v *Invoker) castArg(i int, src, temp *tensor.Tensor) (*tensor.Tensor, error) {
	if src == nil {
		return nil, nil
	}
	want := v.plan.argType(i, src.DType)
	if want == src.DType {
		return src, nil
	}
	if c := v.plan.consts[src]; c != nil {
		return c, nil
	}
	temp.Meta = tensor.Meta{DType: want, Sizes: src.Sizes, DimOrder: src.DimOrder}
	b, err := v.env.Temp.Alloc(temp.Nbytes())
	if err != nil {
		return nil, err
	}
	temp.Data = b
	v.cast(temp, src)
	v.plan.roundTensor(i, temp, src.DType)
	return temp, nil
}

// placeOuts puts the outs into the call, temporaries where Run gives another type or order.
func (v *Invoker) placeOuts() error {
	for i, t := range v.Outs {
		natural := &v.infer.Out[i]
		want := v.plan.runType(natural.DType)
		arg := v.plan.inPlaceArg(i)
		order := natural.DimOrder
		switch {
		case arg >= 0:
			order = t.DimOrder
		case v.plan.order != nil:
			order = v.plan.order
		case v.inner(t):
			order = t.DimOrder
		}
		if v.plan.order == nil && (want == t.DType || !natural.DType.Valid()) && (arg >= 0 || sameOrder(t, order)) {
			v.call.Out[i] = t
			continue
		}
		if arg >= 0 && v.call.Args[arg].Tensor.DType == want {
			v.call.Out[i] = v.call.Args[arg].Tensor
			continue
		}
		if v.temps == nil {
			v.makeTemps()
		}
		temp := &v.temps[i]
		temp.Meta = tensor.Meta{DType: want, Sizes: append(temp.Sizes[:0], t.Sizes...), DimOrder: order}
		b, err := v.env.Temp.Alloc(temp.Nbytes())
		if err != nil {
			return err
		}
		temp.Data = b
		v.call.Out[i] = temp
	}
	return nil
}

// inner reports whether the kernel gives t with its channels innermost, as they are, where others are natural.
func (v *Invoker) inner(t *tensor.Tensor) bool {
	f := v.plan.Kernel.Def.Inner
	return f != nil && t.Rank() > 2 && channelsInner(&t.Meta, t.Rank()-2) && f(v.call.Args, &t.Meta, v.plan.tier)
}

// inPlaceArg is the argument that out i is, or -1.
func (p *Plan) inPlaceArg(i int) int {
	if i < len(p.inPlace) {
		return p.inPlace[i]
	}
	return -1
}

// sameOrder reports whether t's elements lie as order says.
func sameOrder(t *tensor.Tensor, order []uint8) bool {
	if t.Contiguous() {
		if len(order) == 0 {
			return true
		}
		m := tensor.Meta{Sizes: t.Sizes, DimOrder: order}
		return m.Contiguous()
	}
	if len(order) != len(t.DimOrder) {
		return false
	}
	for i, d := range order {
		if t.DimOrder[i] != d {
			return false
		}
	}
	return true
}

// takeOuts moves temporaries into the outs.
func (v *Invoker) takeOuts() error {
	for i, t := range v.Outs {
		got := v.call.Out[i]
		if got == t {
			inferred := v.infer.Out[i].Sizes
			if slices.Equal(inferred, t.Sizes) {
				continue
			}
			if err := v.checkStatic(i, inferred, t.Sizes); err != nil {
				copy(t.Sizes, inferred)
				return err
			}
			v.env.resized()
			continue
		}
		if err := v.checkStatic(i, t.Sizes, got.Sizes); err != nil {
			return err
		}
		if err := v.env.Resize(t, got.Sizes, v.env.Grow); err != nil {
			return err
		}
		if sameOrder(t, got.DimOrder) {
			v.cast(t, got)
			continue
		}
		if err := v.takeReordered(t, got); err != nil {
			return err
		}
	}
	return nil
}

// takeReordered moves got into t, which lie in different orders.
func (v *Invoker) takeReordered(t, got *tensor.Tensor) error {
	if t.DType == got.DType {
		v.reorder(t, got)
		return nil
	}
	b, err := v.env.Temp.Alloc(t.Nbytes())
	if err != nil {
		return err
	}
	cast := &tensor.Tensor{Meta: tensor.Meta{DType: t.DType, Sizes: got.Sizes, DimOrder: got.DimOrder}, Data: b}
	v.cast(cast, got)
	v.reorder(t, cast)
	return nil
}

// casting is a conversion of bytes of elements.
type casting struct {
	dst, src []byte
	to, from tensor.ScalarType
}

func (j *casting) parts(lo, hi int) {
	CastBytes(j.dst[lo*j.to.Size():], j.to, j.src[lo*j.from.Size():], j.from, hi-lo)
}

// cast is CastBytes of tensors in the same order, by the threads of the call.
func (v *Invoker) cast(dst, src *tensor.Tensor) {
	n := src.Numel()
	job := casting{dst.Data, src.Data, dst.DType, src.DType}
	if sharers(&v.call, n) == 1 {
		job.parts(0, n)
		return
	}
	if v.caster == nil {
		v.caster = newKept[casting]()
	}
	v.caster.job = job
	v.call.Parallel(n, parallelGrain, v.caster.run)
}

// reorder is Reorder by the threads of the call.
func (v *Invoker) reorder(dst, src *tensor.Tensor) {
	if dst.DType.Size() == f32Size {
		reorder(&v.call, elems[uint32](dst), elems[uint32](src), sameMove(&src.Meta, &dst.Meta))
		return
	}
	Reorder(dst, src)
}

// Resize gives t these sizes, in place. grow, if not nil, is asked for more bytes than t has room for.
func Resize(t *tensor.Tensor, sizes []tensor.Dim, grow func(*tensor.Tensor, int) error) error {
	if len(sizes) != len(t.Sizes) {
		return errors.New("output has sizes " + SizesText(t.Sizes) + ", want " + SizesText(sizes))
	}
	m := tensor.Meta{DType: t.DType, Sizes: sizes}
	bytes, ok := m.BoundedBytes(math.MaxInt)
	if !ok {
		return errors.New("output sizes " + SizesText(sizes) + " are negative or too large")
	}
	n := int(bytes)
	if n > cap(t.Data) {
		err := errors.New("output needs " + strconv.Itoa(n) + " bytes, its place has " + strconv.Itoa(cap(t.Data)))
		if grow != nil {
			err = grow(t, n)
		}
		if err != nil {
			return err
		}
	}
	copy(t.Sizes, sizes)
	t.Data = t.Data[:n]
	return nil
}

// Reorder copies src into dst of the same type and sizes, whose elements may lie in another order.
func Reorder(dst, src *tensor.Tensor) {
	switch dst.DType.Size() {
	case 1:
		reorderOf[uint8](dst, src)
	case 2:
		reorderOf[uint16](dst, src)
	case 4:
		reorderOf[uint32](dst, src)
	case 8:
		reorderOf[uint64](dst, src)
	}
}

func reorderOf[T word](dst, src *tensor.Tensor) {
	if dst.Numel() == 0 {
		return
	}
	v := sameMove(&src.Meta, &dst.Meta)
	moveStrided(elems[T](dst), elems[T](src), &v)
}
