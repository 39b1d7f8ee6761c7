package rt

import (
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// compiler makes a program of a graph. The first error stays in err.
type compiler struct {
	ctx    *backend.InitContext
	graph  *blob.Graph
	out    *program
	values map[uint32]*value
	node   int
	// bounds are what the next operator that Clamps is to bound its results by.
	bounds *[2]float32
	// listed has the kernels that are called, if only they are asked for: then there are no constants, and nothing is prepared.
	listed map[*op.Kernel]bool
	// inlined gets the calls of operators, if only they are asked for; room is what prepare then looks at, anew for each call.
	inlined *inliner
	room    struct {
		vals    []op.Value
		tensors []tensor.Tensor
		used    int
		infer   op.Infer
	}
	dims []tensor.Dim // room for those of slots
	jobs []backend.Packing
	err  error
}

// value is a value of the graph and the slots that hold it.
type value struct {
	*blob.Value
	// slot holds it in its own type, or in float32 a half type.
	slot int
	// float holds it in float32; -1 until a node asks for it.
	float int
	// params holds the parameters of a dynamically quantized value, else -1.
	params int
}

// half reports a type of 16 bits.
func (v *value) half() bool { return v.Type == blob.FP16 || v.Type == blob.BF16 }

// inFloat reports a value whose own slot holds float32.
func (v *value) inFloat() bool { return v.slot >= 0 && v.slot == v.float }

func compile(ctx *backend.InitContext, g *blob.Graph) (*program, error) {
	c := &compiler{ctx: ctx}
	if err := c.steps(g); err != nil {
		return nil, err
	}
	c.runJobs()
	if !backend.TracesIntermediates(ctx.Tracer) {
		c.fuseAttention()
		c.fuseTransposes()
	}
	c.out.findChains()
	return c.out, c.place()
}

// read makes the steps of a payload.
func (c *compiler) read(payload []byte) error {
	g, err := read(payload)
	if err != nil {
		return err
	}
	return c.steps(g)
}

// steps makes the steps of a graph, which it changes.
func (c *compiler) steps(g *blob.Graph) error {
	var order []piece
	if c.inlined == nil {
		fuseClamps(g)
		fuseSilu(g)
	} else if order = inlineOrder(g); order == nil {
		c.inlined.refused = true
		return nil
	}
	c.graph, c.values = g, make(map[uint32]*value, len(g.Values))
	c.out = &program{slots: make([]slot, 0, len(g.Values))}
	if c.inlined == nil {
		c.out.steps, c.out.nodes = make([]step, 0, len(g.Nodes)), make([]traced, 0, len(g.Nodes))
	} else {
		c.inlined.expect(g)
	}
	c.out.inputs, c.out.outputs = absent(int(g.NumExterns)), absent(int(g.NumExterns))
	for i := range g.Constants {
		c.out.inline = c.out.inline || len(g.Constants[i].Data) > 0
	}
	ranks := 0
	for i := range g.Values {
		ranks += len(g.Values[i].Dims)
	}
	c.dims = make([]tensor.Dim, 0, ranks)
	values := make([]value, len(g.Values))
	for i := range g.Values {
		c.define(&g.Values[i], &values[i])
	}
	if c.inlined != nil {
		c.inline(order)
		return c.err
	}
	for i := 0; i < len(g.Nodes) && c.err == nil; i++ {
		c.node = i
		c.out.nodes = append(c.out.nodes, c.traced(&g.Nodes[i]))
		c.lower(&g.Nodes[i])
	}
	return c.err
}

// inline makes calls of a graph's pieces.
func (c *compiler) inline(order []piece) {
	for i := 0; i < len(order) && c.err == nil; i++ {
		if c.node = order[i].node; order[i].part == nil {
			c.lower(&c.graph.Nodes[c.node])
		} else {
			c.inlined.part(c.out, c.values, order[i].part)
		}
	}
}

func absent(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

// fail keeps the first error, with the node's index and type before its message.
func (c *compiler) fail(code pte.Code, parts ...string) {
	if c.err == nil {
		where := "compile graph: node " + strconv.Itoa(c.node) + " (" + c.graph.Nodes[c.node].Type.String() + "): "
		c.err = backend.Fail(code, append([]string{where}, parts...)...)
	}
}

// failWith keeps err if it is the first.
func (c *compiler) failWith(err error) {
	if c.err == nil {
		c.err = err
	}
}

// storage is how elements of a type lie in a slot, and the type of an argument of it.
type storage struct{ slot, argument tensor.ScalarType }

var storages = map[blob.DataType]storage{
	blob.FP32: {tensor.Float, tensor.Float}, blob.FP16: {tensor.Half, tensor.Half}, blob.BF16: {tensor.Half, tensor.BFloat16},
	blob.QInt8: {tensor.Char, tensor.Char}, blob.QUint8: {tensor.Char, tensor.Byte}, blob.Int32: {tensor.Float, tensor.Int},
	blob.QDInt8: {tensor.Char, tensor.Undefined},
}

// define makes the slot of v, as x says it. Constants get theirs when a node asks for them. Values of half types that stay
// in the graph lie in float32, in which all nodes compute them: what is not rounded in between needs no conversion.
func (c *compiler) define(v *blob.Value, x *value) {
	*x = value{Value: v, slot: -1, float: -1, params: -1}
	c.values[v.ID] = x
	if v.Constant != 0 {
		return
	}
	s, ok := storages[v.Type]
	if !ok || v.DynamicType != blob.InvalidType && v.DynamicType != blob.QInt8 {
		if c.err == nil {
			c.err = backend.Fail(pte.NotImplemented, "compile graph: value ", itoa(v.ID), " of type ", v.Type.String())
		}
		return
	}
	if s.slot == tensor.Half && v.External == blob.InvalidID {
		s.slot = tensor.Float
	}
	from := len(c.dims)
	for _, d := range v.Dims {
		c.dims = append(c.dims, tensor.Dim(d))
	}
	x.slot = c.newSlot(s.slot, c.dims[from:len(c.dims):len(c.dims)])
	if s.slot == tensor.Float && v.Type != blob.Int32 {
		x.float = x.slot
	}
	if v.Type == blob.QDInt8 {
		x.params = c.newSlot(tensor.Float, dynamicSizes(nil, dimsOf(v.Dims), int(v.Quant.NonbatchDims)))
	}
	if v.External == blob.InvalidID {
		return
	}
	slot := &c.out.slots[x.slot]
	slot.external, slot.argument = int(v.External), s.argument
	if v.Flags == blob.ExternalInput {
		c.out.inputs[v.External] = x.slot
	} else {
		c.out.outputs[v.External] = x.slot
	}
}

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func (c *compiler) newSlot(dtype tensor.ScalarType, dims []tensor.Dim) int {
	c.out.slots = append(c.out.slots, slot{dtype: dtype, dims: dims, external: -1, offset: -1, first: -1})
	return len(c.out.slots) - 1
}

func (c *compiler) traced(n *blob.Node) traced {
	t := traced{handle: int64(n.DebugHandle), name: n.Type.String()}
	for _, id := range n.Outputs {
		if v := c.values[id]; v != nil && v.slot >= 0 {
			t.results = append(t.results, v.slot)
		}
	}
	c.measure(&t, n)
	return t
}

// measure notes what n has to do.
func (c *compiler) measure(t *traced, n *blob.Node) {
	t.operands = append(t.operands, t.results...)
	quantized := 0
	for i, id := range n.Inputs {
		v := c.values[id]
		switch {
		case v == nil:
			continue
		case v.Constant != 0:
			t.constants += int64(v.Bytes())
		default:
			t.operands = append(t.operands, v.slot)
		}
		if i < 2 && v.Type.Bits() <= 8 {
			quantized++
		}
	}
	t.integers = quantized == 2
	per, of := n.MACs(func(id uint32) *blob.Value { return c.values[id].Value })
	if per > 0 && of.Constant == 0 {
		t.perElement, t.elements = per, c.values[of.ID].slot
	}
	t.window = windowOf(n)
}

// windowOf is the window of a convolution or a pooling.
func windowOf(n *blob.Node) backend.Window {
	pair := func(h, w int) [3]int64 { return [3]int64{0, int64(h), int64(w)} }
	switch n.Type {
	case blob.Conv2d, blob.DepthwiseConv2d, blob.ConvTranspose2d:
		k := n.Conv()
		return backend.Window{Size: pair(k.KernelHeight, k.KernelWidth), Stride: pair(k.StrideHeight, k.StrideWidth),
			Dilation: pair(k.DilationHeight, k.DilationWidth), Groups: int64(k.Groups)}
	case blob.AvgPooling2d, blob.MaxPooling2d, blob.ArgMaxPooling2d:
		p := n.Pool()
		return backend.Window{Size: pair(p.Height, p.Width), Stride: pair(p.StrideHeight, p.StrideWidth), Dilation: pair(max(p.DilationHeight, 1), max(p.DilationWidth, 1))}
	}
	return backend.Window{}
}

// temp is a new slot like another, of this type.
func (c *compiler) temp(like int, dtype tensor.ScalarType) int {
	return c.newSlot(dtype, c.out.slots[like].dims)
}

// call adds a call of a portable operator.
func (c *compiler) call(name string, out operand, args ...operand) {
	c.callIn(tensor.Undefined, name, out, args...)
}

// callIn is call of the operator's kernel for this type; Undefined: for the type that its key gives.
func (c *compiler) callIn(dtype tensor.ScalarType, name string, out operand, args ...operand) {
	plan := c.prepare(dtype, name, out, args)
	switch {
	case c.inlined != nil && c.err == nil:
		c.inlined.call(c.out, int64(c.graph.Nodes[c.node].DebugHandle), name, out, args)
	case plan != nil:
		c.add(step{plan: plan, args: args, outs: []operand{out}})
	}
}

// prepare is the plan of a call; nil after an error, and where kernels or calls are asked for alone.
func (c *compiler) prepare(dtype tensor.ScalarType, name string, out operand, args []operand) *op.Plan {
	if c.err != nil {
		return nil
	}
	c.room.used = 0
	vals := c.bindValues(args)
	metas := []tensor.Meta{c.tensorOf(&out).Meta}
	if c.err != nil {
		return nil
	}
	def, sig := c.ctx.Kernels.Def(name)
	if def == nil {
		c.fail(pte.NotImplemented, "no kernel ", name)
		return nil
	}
	if dtype == tensor.Undefined {
		dtype = op.KeyOf(def, vals, metas)
	}
	k := c.ctx.Kernels.Lookup(name, dtype)
	if k == nil {
		c.fail(pte.NotImplemented, "no kernel ", name, " in ", dtype.String())
		return nil
	}
	sizes := metas[0].Sizes
	infer := &op.Infer{}
	if c.inlined != nil {
		infer = &c.room.infer
	}
	metas, err := inferred(infer, def, vals, metas)
	if err != nil {
		c.fail(pte.DelegateInvalidCompatibility, err.Error())
		return nil
	}
	if c.listed != nil {
		c.listed[k] = true
	}
	if c.inlined != nil { // in a program no value grows
		c.inlined.refused = c.inlined.refused || !slices.Equal(sizes, metas[0].Sizes)
		return nil
	}
	opts := op.Options{Pack: c.pack, Release: c.ctx.Release, Tier: c.ctx.Tier}
	if def.Tags&op.Clamps != 0 {
		opts.Bounds, c.bounds = c.bounds, nil
	}
	if c.listed != nil {
		return nil
	}
	plan, err := op.Prepare(k, sig, vals, metas, opts)
	if err != nil {
		c.fail(pte.DelegateInvalidCompatibility, err.Error())
		return nil
	}
	return plan
}

var errRank = errors.New("its result has another rank")

// inferred are outs with the sizes that follow from the largest arguments. Kernels prepare only what has been inferred.
func inferred(infer *op.Infer, def *op.Def, args []op.Value, outs []tensor.Meta) ([]tensor.Meta, error) {
	infer.Args, infer.Out = args, slices.Grow(infer.Out[:0], len(outs))[:len(outs)]
	for i := range infer.Out {
		t := &infer.Out[i]
		*t = tensor.Meta{Sizes: t.Sizes[:0], DimOrder: t.DimOrder[:0]}
	}
	if err := def.Infer(infer); err != nil {
		return nil, err
	}
	for i := range outs {
		if len(infer.Out[i].Sizes) != len(outs[i].Sizes) {
			return nil, errRank
		}
		outs[i].Sizes = infer.Out[i].Sizes
	}
	return outs, nil
}

// own adds a step that is no portable operator.
func (c *compiler) own(run func(*ownCall) error, out int, args ...int) {
	c.ownOuts(run, []int{out}, args...)
}

func (c *compiler) ownOuts(run func(*ownCall) error, outs []int, args ...int) {
	c.add(step{run: run, outs: operandsOf(outs), args: operandsOf(args)})
}

func operandsOf(slots []int) []operand {
	list := make([]operand, len(slots))
	for i, s := range slots {
		list[i] = of(s)
	}
	return list
}

func (c *compiler) add(s step) {
	s.node = c.node
	at := len(c.out.steps)
	use := func(o *operand) {
		if o.slot < 0 {
			return
		}
		t := &c.out.slots[o.slot]
		if t.first < 0 {
			t.first = at
		}
		t.last = at
	}
	for i := range s.args {
		use(&s.args[i])
		for j := range s.args[i].list {
			use(&s.args[i].list[j])
		}
	}
	for i := range s.outs {
		use(&s.outs[i])
	}
	c.out.steps = append(c.out.steps, s)
}

// bindValues are args as a kernel's Prepare sees them.
func (c *compiler) bindValues(args []operand) []op.Value {
	var vals []op.Value
	if c.inlined != nil {
		c.room.vals = slices.Grow(c.room.vals[:0], len(args))
		vals = c.room.vals[:len(args)]
	} else {
		vals = make([]op.Value, len(args))
	}
	for i := range args {
		vals[i] = args[i].value
		switch {
		case args[i].slot >= 0:
			vals[i] = op.Value{Kind: op.Tensor, Tensor: c.tensorOf(&args[i])}
		case args[i].list != nil:
			vals[i].Kind = op.Tensors
			for j := range args[i].list {
				vals[i].Tensors = append(vals[i].Tensors, c.tensorOf(&args[i].list[j]))
			}
		}
	}
	return vals
}

// tensorOf is the tensor that an operand is, of the largest sizes.
func (c *compiler) tensorOf(o *operand) *tensor.Tensor {
	s := &c.out.slots[o.slot]
	t := c.newTensor()
	*t = tensor.Tensor{Meta: s.meta(), Data: s.data}
	if v := o.view; v != nil {
		if n := len(s.dims); n < v.rank || n > v.rank && !v.collapses {
			c.fail(pte.DelegateInvalidCompatibility, "a value has rank ", strconv.Itoa(n), ", want ", strconv.Itoa(v.rank))
			return t
		}
		t.DimOrder, t.Sizes = o.view.order, o.view.sizes(nil, s.dims)
	}
	return t
}

// newTensor is a tensor, which the next call of prepare takes again where nobody keeps it.
func (c *compiler) newTensor() *tensor.Tensor {
	if c.inlined == nil {
		return new(tensor.Tensor)
	}
	if c.room.used == len(c.room.tensors) {
		c.room.tensors, c.room.used = make([]tensor.Tensor, 2*len(c.room.tensors)+moreTensors), 0
	}
	c.room.used++
	return &c.room.tensors[c.room.used-1]
}

// sharedBytes are bytes that the programs of a file share, and what writes them.
type sharedBytes struct {
	data   []byte
	packed bool // they were written when the file was loaded before
	once   sync.Once
}

// write runs fill, which packs the constant raw, unless that has been done.
func (c *compiler) write(s *sharedBytes, raw []byte, fill func(dst []byte)) {
	s.once.Do(func() {
		if !s.packed {
			fill(s.data)
			c.release(raw)
		}
	})
}

// shared are n bytes that the programs of a file share under key, for layout, which is made of the constants from.
func (c *compiler) shared(key string, n int, layout string, from ...[]byte) (*sharedBytes, error) {
	made, err := c.ctx.Share(key, func() (any, error) {
		if c.ctx.Constants == nil {
			return &sharedBytes{data: op.AlignedBytes(n)}, nil
		}
		b, packed, err := c.ctx.Constants(n, "xnnpack "+layout, from...)
		return &sharedBytes{data: b, packed: packed}, err
	})
	if err != nil {
		c.failWith(err)
		return nil, err
	}
	return made.(*sharedBytes), nil
}

// pack is op.Options.Pack: what is made of a constant is shared in the program.
func (c *compiler) pack(t *tensor.Tensor, how op.Packing) []byte {
	layout := how.Layout + " " + t.DType.String() + op.SizesText(t.Sizes) + string(t.DimOrder)
	s, err := c.shared("xnnpack packed "+address(t.Data)+" "+layout, how.Bytes, layout, t.Data)
	if err != nil {
		return make([]byte, how.Bytes)
	}
	fill := func() { c.write(s, t.Data, how.Fill) }
	switch {
	case s.packed:
	case how.Now:
		fill()
	default:
		c.jobs = append(c.jobs, backend.Packing{Bytes: how.Bytes, Into: s.data, Run: fill})
	}
	return s.data
}

// runJobs packs what was left for later.
func (c *compiler) runJobs() {
	if c.ctx.Pack != nil {
		c.ctx.Pack(c.jobs)
		return
	}
	for i := range c.jobs {
		c.jobs[i].Run()
	}
}

// release lets go of the bytes of a constant that was packed.
func (c *compiler) release(b []byte) {
	if c.ctx.Release != nil {
		c.ctx.Release(b)
	}
}

// place gives the slots that are neither constants nor arguments their places in the workspace.
func (c *compiler) place() error {
	var items []memory.Item
	var at []int
	homes := c.out.homes()
	for i := range c.out.slots {
		if s := &c.out.slots[i]; s.planned() && homes[i] == i {
			items = append(items, memory.Item{Size: int64(max(s.bytes(), 1)), First: s.first, Last: s.last, Align: 64})
			at = append(at, i)
		}
	}
	offsets, total, err := memory.Plan(items)
	if err != nil {
		return backend.Fail(pte.DelegateMemoryAllocationFailed, err.Error())
	}
	for k, i := range at {
		c.out.slots[i].offset = offsets[k]
	}
	for i, home := range homes {
		c.out.slots[i].offset = c.out.slots[home].offset
		if home != i && c.out.slots[home].external >= 0 {
			c.out.lodgers = append(c.out.lodgers, lodger{i, home})
		}
	}
	c.out.workspace = total
	return nil
}
