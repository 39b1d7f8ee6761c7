package rt

import (
	"errors"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// instance is a handle: a program with the tensors of one user.
type instance struct {
	prog    *program
	tensors []*tensor.Tensor
	steps   []boundStep
	private []byte   // the workspace, unless it is shared
	temp    *op.Temp // of steps; the user's, who has other delegates too
	tier    kernel.Tier
	env     op.Env
	ctx     *backend.ExecuteContext // of the call under way
	sizes   [tensor.MaxRank]tensor.Dim
	grown   bool // some values have been larger than their largest sizes
}

// boundStep is a step with its tensors.
type boundStep struct {
	invoker *op.Invoker
	own     *ownCall          // of a step that is no portable operator
	between func(x []float32) // of a chain that begins here
	// ins and outs are the views that follow their slots, and the slots that follow their views.
	ins, outs []boundView
}

// boundView is a tensor that sees a slot's tensor in another way.
type boundView struct {
	seen, slot *tensor.Tensor
	view       *view
}

func newInstance(ctx *backend.InitContext, p *program, opts options) (*instance, error) {
	in := &instance{prog: p, tier: ctx.Tier, temp: ctx.Temp}
	if in.temp == nil {
		in.temp = &op.Temp{Limit: int(ctx.MaxMemory)}
	}
	in.env = op.Env{Temp: in.temp, Grow: in.grow, Parallel: in.parallel, Threads: ctx.Threads}
	in.makeTensors()
	in.steps = make([]boundStep, len(p.steps))
	own := slices.Repeat([]ownCall{{parallel: in.parallel, resize: in.resize, alloc: in.temp.Alloc, tier: ctx.Tier, threads: ctx.Threads}}, p.ownSteps())
	for i := range p.steps {
		s, b := &p.steps[i], &in.steps[i]
		b.between = p.betweenOf(i, ctx.Tier)
		if s.run == nil {
			in.bind(s, b)
			continue
		}
		b.own, own = &own[0], own[1:]
		b.own.outs, b.own.args = in.operands(s.outs, &b.outs), in.operands(s.args, &b.ins)
	}
	if opts.sharing != sharingDisabled || p.workspace == 0 {
		in.temp.Expect(int(p.workspace))
		return in, nil
	}
	b, err := ctx.Alloc(int(p.workspace))
	in.private = b
	return in, err
}

// makeTensors makes the tensors of the program's slots, with sizes of their own.
func (in *instance) makeTensors() {
	slots, ranks := in.prog.slots, 0
	for i := range slots {
		ranks += len(slots[i].dims)
	}
	in.tensors = make([]*tensor.Tensor, len(slots))
	tensors, dims := make([]tensor.Tensor, len(slots)), make([]tensor.Dim, 0, ranks)
	for i := range slots {
		s, t, from := &slots[i], &tensors[i], len(dims)
		dims = append(dims, s.dims...)
		*t = tensor.Tensor{Meta: s.meta(), Data: s.data}
		t.Sizes = dims[from:len(dims):len(dims)]
		in.tensors[i] = t
	}
}

// ownSteps is how many steps are no portable operators.
func (p *program) ownSteps() (n int) {
	for i := range p.steps {
		if p.steps[i].run != nil {
			n++
		}
	}
	return n
}

// operands are the tensors of operands; views go to list.
func (in *instance) operands(of []operand, list *[]boundView) []*tensor.Tensor {
	tensors := make([]*tensor.Tensor, len(of))
	for i := range of {
		tensors[i] = in.operand(&of[i], list)
	}
	return tensors
}

// bind makes the tensors and the invoker of a step that is a portable operator.
func (in *instance) bind(s *step, b *boundStep) {
	outs := in.operands(s.outs, &b.outs)
	args := make([]op.Value, len(s.args))
	for i := range s.args {
		o := &s.args[i]
		args[i] = o.value
		switch {
		case o.slot >= 0:
			args[i] = op.Value{Kind: op.Tensor, Tensor: in.operand(o, &b.ins)}
		case o.list != nil:
			args[i] = op.Value{Kind: op.Tensors, Tensors: in.operands(o.list, &b.ins)}
		}
	}
	b.invoker = s.plan.Bind(args, outs, &in.env)
	b.invoker.Stable = true // numbers among the arguments never change
}

// operand is the tensor of an operand; a view goes to list.
func (in *instance) operand(o *operand, list *[]boundView) *tensor.Tensor {
	t := in.tensors[o.slot]
	if o.view == nil {
		return t
	}
	seen := &tensor.Tensor{Meta: tensor.Meta{DType: t.DType, Sizes: o.view.sizes(nil, t.Sizes), DimOrder: o.view.order}, Data: t.Data}
	*list = append(*list, boundView{seen, t, o.view})
	return seen
}

func (in *instance) parallel(n, grain int, f func(lo, hi int)) { in.ctx.Parallel(n, grain, f) }

func (in *instance) resize(t *tensor.Tensor, sizes []tensor.Dim) error {
	return op.Resize(t, sizes, in.env.Grow)
}

// grow gives a value that is larger than its largest sizes say a place of its own for this call; results have none.
func (in *instance) grow(t *tensor.Tensor, n int) error {
	for _, s := range in.prog.outputs {
		if s >= 0 && in.tensors[s] == t {
			return backend.Fail(pte.InvalidArgument, "a result needs ", strconv.Itoa(n), " bytes, its place has ", strconv.Itoa(cap(t.Data)))
		}
	}
	b, err := in.ctx.Alloc(n)
	in.temp.Hold()
	in.grown = true
	t.Data = b
	return err
}

// execute runs the steps on these arguments.
func (in *instance) execute(ctx *backend.ExecuteContext, args []*backend.Value) error {
	if len(args) < len(in.prog.inputs) {
		return backend.Fail(pte.InvalidArgument, "got ", strconv.Itoa(len(args)), " arguments, want ", strconv.Itoa(len(in.prog.inputs)))
	}
	in.ctx = ctx
	if err := in.placeWorkspace(); err != nil {
		return err
	}
	if err := in.setArguments(args); err != nil {
		return err
	}
	if err := in.nodes(); err != nil {
		return err
	}
	return in.resizeOutputs(args)
}

// nodes runs all nodes. Their temporaries leave the workspace alone.
func (in *instance) nodes() (err error) {
	in.temp.Hold()
	defer in.temp.Release()
	for i := 0; i < len(in.steps) && err == nil; {
		i, err = in.node(i)
	}
	return err
}

// node runs the steps of one node from step i on, as one event of the trace, and gives the step after them.
func (in *instance) node(i int) (int, error) {
	tr := in.ctx.Tracer
	if tr == nil {
		if n := in.prog.steps[i].chain; n > 0 {
			if done, err := in.runChain(i); done || err != nil {
				return i + n, in.wrap(i, err)
			}
		}
		return in.nodeSteps(i)
	}
	n := &in.prog.nodes[in.prog.steps[i].node]
	name, id := n.step()
	e := tr.StartProfilingDelegate(name, id)
	next, err := in.nodeSteps(i)
	tr.EndProfilingDelegate(e, []byte(n.name))
	if err != nil {
		return next, err
	}
	if to, ok := tr.(backend.WorkTracer); ok {
		to.LogWork(in.work(n))
	}
	for _, slot := range n.results {
		tr.LogIntermediateOutputDelegate(name, id, &backend.Value{Kind: op.Tensor, Tensor: in.tensors[slot]})
	}
	return next, nil
}

// work is what node n has to do with the sizes of this call.
func (in *instance) work(n *traced) backend.Work {
	w := backend.Work{Integers: n.integers, Bytes: n.constants, Window: n.window}
	for _, slot := range n.operands {
		w.Bytes += int64(in.tensors[slot].Nbytes())
	}
	if n.perElement > 0 {
		w.MACs = n.perElement * int64(in.tensors[n.elements].Numel())
	}
	return w
}

// nodeSteps runs the steps of one node from step i on and gives the step after them.
func (in *instance) nodeSteps(i int) (int, error) {
	node := in.prog.steps[i].node
	for ; i < len(in.steps) && in.prog.steps[i].node == node; i++ {
		if err := in.step(i); err != nil {
			return i, in.wrap(i, err)
		}
	}
	return i, nil
}

// wrap says in which node an error happened. What has no code is InvalidArgument.
func (in *instance) wrap(i int, err error) error {
	if err == nil {
		return nil
	}
	code := pte.InvalidArgument
	var e *backend.Error
	if errors.As(err, &e) {
		code = e.Code
	}
	return backend.Fail(code, "run node ", strconv.Itoa(in.prog.steps[i].node), " (", in.prog.nodes[in.prog.steps[i].node].name, "): ", err.Error())
}

// placeWorkspace gives the slots of the workspace their memory.
func (in *instance) placeWorkspace() error {
	b := in.private
	if b == nil && in.prog.workspace > 0 {
		var err error
		if b, err = in.ctx.Alloc(int(in.prog.workspace)); err != nil {
			return err
		}
	}
	for i := range in.prog.slots {
		s := &in.prog.slots[i]
		if s.offset >= 0 {
			m := s.meta()
			n := int64(m.Nbytes())
			in.tensors[i].Data = b[s.offset : s.offset+n : s.offset+n]
		}
	}
	return nil
}

// placeGrown gives values that are larger than their places have room other ones: steps find their sizes as they were, and do not
// grow them again.
func (in *instance) placeGrown() (err error) {
	if !in.grown {
		return nil
	}
	for i := range in.prog.slots {
		if t := in.tensors[i]; in.prog.slots[i].planned() && t.Nbytes() > len(t.Data) && err == nil {
			t.Data, err = in.ctx.Alloc(t.Nbytes())
		}
	}
	return err
}

// step runs a step.
func (in *instance) step(i int) error {
	b := &in.steps[i]
	b.open()
	if b.invoker == nil {
		in.temp.Reset()
		if err := in.prog.steps[i].run(b.own); err != nil {
			return err
		}
	} else if err := b.invoker.Call(); err != nil {
		return err
	}
	b.close()
	return nil
}

// open lets the step's views see their slots.
func (b *boundStep) open() {
	for k := range b.ins {
		v := &b.ins[k]
		v.seen.Sizes, v.seen.Data = v.view.sizes(v.seen.Sizes, v.slot.Sizes), v.slot.Data
	}
	for k := range b.outs {
		v := &b.outs[k]
		v.seen.Data = v.slot.Data
	}
}

// close lets slots be as their views are.
func (b *boundStep) close() {
	for k := range b.outs {
		v := &b.outs[k]
		v.slot.Sizes, v.slot.Data = v.view.dims(v.slot.Sizes, v.seen.Sizes), v.seen.Data
	}
}

// channelsLast reports the order that the official runtime takes for NHWC.
func channelsLast(t *tensor.Tensor) bool {
	return len(t.DimOrder) == 4 && t.DimOrder[1] == 2 && t.DimOrder[2] == 3 && t.DimOrder[3] == 1
}

// setArguments lets the slots of inputs and outputs be the arguments' bytes.
func (in *instance) setArguments(args []*backend.Value) error {
	for k := range in.prog.inputs {
		slot, input := in.prog.inputs[k], true
		if slot < 0 {
			slot, input = in.prog.outputs[k], false
		}
		if slot < 0 {
			continue
		}
		t := args[k].Tensor
		if args[k].Kind != op.Tensor || t == nil {
			return backend.Fail(pte.InvalidArgument, "argument ", strconv.Itoa(k), " is no tensor")
		}
		if err := in.setArgument(k, slot, input, t); err != nil {
			return err
		}
	}
	for _, l := range in.prog.lodgers {
		in.tensors[l.slot].Data = in.tensors[l.home].Data
	}
	return in.placeGrown()
}

func (in *instance) setArgument(k, slot int, input bool, arg *tensor.Tensor) error {
	s, t := &in.prog.slots[slot], in.tensors[slot]
	wide := !input && s.argument == tensor.Int && arg.DType == tensor.Long
	if arg.DType != s.argument && !wide {
		return backend.Fail(pte.InvalidType, "argument ", strconv.Itoa(k), " has type ", arg.DType.String(), ", want ", s.argument.String())
	}
	if len(arg.Sizes) != len(t.Sizes) && !(len(arg.Sizes) == 0 && len(t.Sizes) == 1) {
		return backend.Fail(pte.InvalidArgument, "argument ", strconv.Itoa(k), " has rank ", strconv.Itoa(len(arg.Sizes)), ", want ", strconv.Itoa(len(t.Sizes)))
	}
	if !channelsLast(arg) && !arg.Contiguous() {
		return backend.Fail(pte.InvalidArgument, "argument ", strconv.Itoa(k), " is neither contiguous nor channels-last")
	}
	if !input {
		err := in.ctx.Resize(arg, arg.Sizes) // an error for what may not be written
		t.Data = arg.Data[:cap(arg.Data):cap(arg.Data)]
		return err
	}
	switch {
	case channelsLast(arg):
		t.Sizes = nchw.dims(t.Sizes, arg.Sizes)
	case len(arg.Sizes) < len(t.Sizes):
		t.Sizes[0] = 1
	default:
		copy(t.Sizes, arg.Sizes)
	}
	t.Data = arg.Data[:arg.Nbytes():arg.Nbytes()]
	return nil
}

// resizeOutputs gives the results' arguments their sizes.
func (in *instance) resizeOutputs(args []*backend.Value) error {
	for k, slot := range in.prog.outputs {
		if slot < 0 {
			continue
		}
		t, arg := in.tensors[slot], args[k].Tensor
		sizes := append(in.sizes[:0], t.Sizes...)
		if channelsLast(arg) {
			sizes = nchw.sizes(in.sizes[:0], t.Sizes)
		}
		if len(arg.Sizes) == 0 {
			sizes = sizes[:0]
		}
		if err := in.ctx.Resize(arg, sizes); err != nil {
			return backend.Fail(pte.InvalidArgument, "argument ", strconv.Itoa(k), ": ", err.Error())
		}
		if arg.DType == tensor.Long {
			widen(arg.Data, arg.Numel())
		}
	}
	return nil
}

// widen makes int64 of n int32 in place.
func widen(b []byte, n int) {
	from, to := sliceOf[int32](b, n), sliceOf[int64](b, n)
	for i := n - 1; i >= 0; i-- {
		to[i] = int64(from[i])
	}
}
