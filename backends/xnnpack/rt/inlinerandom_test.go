package rt

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/memory"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// grower makes a random graph in float32 of the nodes that Inline knows.
type grower struct {
	r      *rand.Rand
	g      *blob.Graph
	live   []uint32 // values, not constant
	inline bool
	named  []pte.NamedData
	key    string
}

func (w *grower) dims(id uint32) []uint32 { return w.g.Values[id].Dims }

func (w *grower) value(dims []uint32) uint32 {
	id := uint32(len(w.g.Values))
	w.g.Values = append(w.g.Values, blob.Value{ID: id, Type: blob.FP32, Dims: slices.Clone(dims), External: blob.InvalidID})
	return id
}

func (w *grower) constant(dims []uint32) uint32 {
	id := w.value(dims)
	w.g.Values[id].Constant = uint32(len(w.g.Constants))
	x := make([]float32, numel(dims))
	for i := range x {
		x[i] = float32(w.r.NormFloat64())
	}
	c := blob.Constant{Size: uint64(4 * len(x)), Data: bytes.Clone(bytesOfFloats(x))}
	if !w.inline {
		c.Key = w.key + strconv.Itoa(len(w.g.Constants))
		w.named = append(w.named, pte.NamedData{Key: c.Key, Data: c.Data, Alignment: 16})
		c.Data = nil
	}
	w.g.Constants = append(w.g.Constants, c)
	return id
}

func (w *grower) node(n blob.Node, out []uint32, in ...uint32) uint32 {
	n.Inputs = in
	n.DebugHandle = uint32(w.r.IntN(5))
	if w.r.IntN(4) == 0 {
		n.DebugHandle = noHandle
	}
	if n.Type != blob.Clamp && !n.Bounded {
		n.Min, n.Max = float32(math.Inf(-1)), float32(math.Inf(1))
		if w.r.IntN(5) == 0 {
			n.Bounded, n.Min, n.Max = true, -0.5, float32(w.r.IntN(2))+0.25
		}
	}
	id := w.value(out)
	n.Outputs = []uint32{id}
	w.g.Nodes = append(w.g.Nodes, n)
	w.live = append(w.live, id)
	return id
}

func (w *grower) some() uint32 {
	if w.r.IntN(3) == 0 {
		return w.live[w.r.IntN(len(w.live))]
	}
	return w.live[max(0, len(w.live)-1-w.r.IntN(4))]
}

var unaries = []blob.NodeType{blob.Abs, blob.Ceiling, blob.Cos, blob.Floor, blob.Gelu, blob.Negate, blob.Sigmoid, blob.Sin, blob.Tanh, blob.Clamp, blob.ELU,
	blob.LeakyReLU, blob.Square, blob.Copy, blob.Sigmoid, blob.Tanh, blob.Clamp}

// step adds nodes that read a value.
func (w *grower) step() {
	r := w.r
	x := w.some()
	d := slices.Clone(w.dims(x))
	switch r.IntN(14) {
	case 0, 1, 2:
		w.unary(x, d)
	case 3, 4, 5:
		w.binary(x, d)
	case 6:
		w.softmax(x, d)
	case 7:
		w.concatenate(x, d)
	case 8:
		w.transpose(x, d)
	case 9, 10:
		w.reshape(x, d)
	case 11:
		w.slice(x, d)
	case 12:
		w.pad(x, d)
	case 13:
		w.product(x, d)
	}
}

// unary adds a function of x, whose sizes are d.
func (w *grower) unary(x uint32, d []uint32) {
	r := w.r
	n := blob.Node{Type: unaries[r.IntN(len(unaries))], Factor: 0.3}
	if n.Type == blob.Clamp {
		n.Bounded, n.Min, n.Max = true, -0.7, 0.9
	}
	w.node(n, d, x)
	if n.Type == blob.Sigmoid && r.IntN(2) == 0 {
		w.node(blob.Node{Type: blob.Multiply}, d, x, w.live[len(w.live)-1])
	}
}

// binary adds an operator of x and a constant, or a value of its sizes.
func (w *grower) binary(x uint32, d []uint32) {
	r := w.r
	t := []blob.NodeType{blob.Add, blob.Multiply, blob.Subtract, blob.Maximum, blob.Minimum, blob.Add}[r.IntN(6)]
	y := x
	switch r.IntN(5) {
	case 0:
	case 4:
		for _, v := range w.live {
			if slices.Equal(w.dims(v), []uint32{1}) && len(d) > 0 {
				y = v
			}
		}
	case 1:
		e := slices.Clone(d)
		for i := range e {
			if r.IntN(3) == 0 {
				e[i] = 1
			}
		}
		y = w.constant(e[r.IntN(len(e)+1):])
	default:
		var same []uint32
		for _, v := range w.live {
			if slices.Equal(w.dims(v), d) {
				same = append(same, v)
			}
		}
		y = same[r.IntN(len(same))]
	}
	a, b := x, y
	if r.IntN(2) == 0 {
		a, b = b, a
	}
	w.node(blob.Node{Type: t}, d, a, b)
}

// softmax adds a softmax of x.
func (w *grower) softmax(x uint32, d []uint32) {
	if len(d) > 0 {
		w.node(blob.Node{Type: blob.Softmax}, d, x)
	}
}

// concatenate joins x and others.
func (w *grower) concatenate(x uint32, d []uint32) {
	r := w.r
	if len(d) == 0 {
		return
	}
	k := 2 + r.IntN(4)
	at := r.IntN(len(d))
	ins, total := []uint32{x}, d[at]
	for len(ins) < k {
		if r.IntN(3) == 0 {
			e := slices.Clone(d)
			e[at] = uint32(1 + r.IntN(3))
			ins = append(ins, w.constant(e))
		} else {
			ins = append(ins, x)
			for _, v := range w.live {
				if slices.Equal(w.dims(v), d) && r.IntN(2) == 0 {
					ins[len(ins)-1] = v
				}
			}
		}
		total += w.dims(ins[len(ins)-1])[at]
	}
	if total > 64 {
		return
	}
	d[at] = total
	t := map[int]blob.NodeType{2: blob.Concatenate2, 3: blob.Concatenate3, 4: blob.Concatenate4, 5: blob.Concatenate5}[k]
	w.node(blob.Node{Type: t, Params: []uint32{uint32(at)}}, d, ins...)
}

// transpose transposes x.
func (w *grower) transpose(x uint32, d []uint32) {
	r := w.r
	if len(d) == 0 {
		return
	}
	var perm, e []uint32
	for _, p := range r.Perm(len(d)) {
		perm, e = append(perm, uint32(p)), append(e, d[p])
	}
	w.node(listed(blob.StaticTranspose, perm), e, x)
}

// reshape reshapes x.
func (w *grower) reshape(x uint32, d []uint32) {
	r := w.r
	n := uint32(numel(d))
	var e []uint32
	rest := n
	for len(e) < 5 && rest > 1 && r.IntN(5) > 0 {
		var divs []uint32
		for f := uint32(1); f <= rest; f++ {
			if rest%f == 0 {
				divs = append(divs, f)
			}
		}
		f := divs[r.IntN(len(divs))]
		e, rest = append(e, f), rest/f
	}
	if rest > 1 || r.IntN(3) == 0 {
		e = append(e, rest)
	}
	for len(e) < 6 && r.IntN(3) == 0 {
		e = slices.Insert(e, r.IntN(len(e)+1), 1)
	}
	l := slices.Clone(e)
	if len(l) > 0 && r.IntN(2) == 0 {
		l[r.IntN(len(l))] = 0
	}
	w.node(listed(blob.StaticReshape, l), e, x)
}

// slice slices x.
func (w *grower) slice(x uint32, d []uint32) {
	r := w.r
	if len(d) == 0 {
		return
	}
	off, size, e := make([]uint32, len(d)), make([]uint32, len(d)), make([]uint32, len(d))
	for i := range d {
		size[i] = d[i]
		if d[i] > 1 && r.IntN(2) == 0 {
			off[i] = uint32(r.IntN(int(d[i])))
			size[i] = 1 + uint32(r.IntN(int(d[i]-off[i])))
		}
		e[i] = size[i]
		if off[i]+size[i] == d[i] && r.IntN(2) == 0 {
			size[i] = 0
		}
	}
	w.node(listed(blob.StaticSlice, off, size), e, x)
}

// pad pads x.
func (w *grower) pad(x uint32, d []uint32) {
	r := w.r
	if numel(d) > 300 {
		return
	}
	before, after := make([]uint32, len(d)), make([]uint32, len(d))
	for i := range d {
		before[i], after[i] = uint32(r.IntN(4)/2), uint32(r.IntN(4)/2)
		d[i] += before[i] + after[i]
	}
	w.node(blob.Node{Type: blob.StaticConstantPad, Lists: [][]uint32{before, after}, Factor: []float32{0, float32(math.Copysign(0, -1)), 1.5}[r.IntN(3)]}, d, x)
}

// product multiplies matrices, or adds a linear operator of x.
func (w *grower) product(x uint32, d []uint32) {
	if w.r.IntN(2) == 0 && len(d) >= 2 {
		w.batches(x, d)
	} else if len(d) > 0 {
		w.linear(x, d)
	}
}

// batches multiplies x by constant matrices, or by itself.
func (w *grower) batches(x uint32, d []uint32) {
	r := w.r
	k := d[len(d)-1]
	m := uint32(1 + r.IntN(4))
	e := slices.Clone(d)
	var flags uint32
	if r.IntN(2) == 0 {
		flags = blob.TransposeWeights
		e[len(e)-2], e[len(e)-1] = m, k
	} else {
		e[len(e)-2], e[len(e)-1] = k, m
	}
	var y uint32
	if r.IntN(2) == 0 {
		y = w.constant(e)
	} else {
		y = x // x·xᵀ
		flags, m = blob.TransposeWeights, d[len(d)-2]
	}
	d[len(d)-1] = m
	w.node(blob.Node{Type: blob.BatchMatrixMultiply, Flags: flags}, d, x, y)
}

// linear adds a linear operator of x, whose weights may be a value of the graph.
func (w *grower) linear(x uint32, d []uint32) {
	r := w.r
	k, m := d[len(d)-1], uint32(1+r.IntN(5))
	n := blob.Node{Type: blob.FullyConnected}
	shape := []uint32{m, k}
	if r.IntN(2) == 0 {
		n.Flags |= blob.TransposeWeights
		shape = []uint32{k, m}
	}
	e := append(slices.Clone(d[:len(d)-1]), m)
	if r.IntN(3) == 0 {
		n.Flags |= blob.Reshape2D
		e = []uint32{uint32(numel(d[:len(d)-1])), m}
	}
	bias := uint32(blob.InvalidID)
	if r.IntN(2) == 0 {
		bias = w.constant([]uint32{m})
	}
	weights := uint32(0)
	for _, v := range w.live {
		if slices.Equal(w.dims(v), shape) && r.IntN(2) == 0 {
			weights = v + 1
		}
	}
	if weights == 0 {
		for i := range w.g.Values {
			if w.g.Values[i].Constant != 0 && slices.Equal(w.g.Values[i].Dims, shape) {
				weights = uint32(i) + 1
			}
		}
	}
	if weights == 0 {
		weights = w.constant(shape) + 1
	}
	w.node(n, e, x, weights-1, bias)
}

// grown is a graph of inputs with these sizes. Its first inputs are externals 0….
func grown(r *rand.Rand, key string, inputs [][]uint32) (*blob.Graph, []pte.NamedData) {
	w := &grower{r: r, g: &blob.Graph{Identifier: blob.XN01, Version: "0", Constants: []blob.Constant{{}}}, inline: r.IntN(2) == 0, key: key}
	for i, d := range inputs {
		id := w.value(d)
		v := &w.g.Values[id]
		v.External, v.Flags = uint32(i), blob.ExternalInput
		w.g.Inputs, w.live = append(w.g.Inputs, id), append(w.live, id)
	}
	for range 1 + r.IntN(12) {
		w.step()
	}
	for len(w.g.Nodes) == 0 {
		w.step()
	}
	ext := uint32(len(inputs))
	read := map[uint32]bool{}
	for i := range w.g.Nodes {
		for _, id := range w.g.Nodes[i].Inputs {
			read[id] = true
		}
	}
	for _, id := range w.live[len(inputs):] {
		if !read[id] || r.IntN(6) == 0 {
			v := &w.g.Values[id]
			v.External, v.Flags = ext, blob.ExternalOutput
			w.g.Outputs = append(w.g.Outputs, id)
			ext++
		}
	}
	w.g.NumExterns = ext
	return w.g, w.named
}

// orchard is a program of kernels and delegates.
type orchard struct {
	r           *rand.Rand
	plan        *pte.ExecutionPlan
	calls       []pte.Instruction
	first, last map[int32]int
	live        []int32
	dyn         pte.Dynamism
	ops         map[string]int32
	owned       bool
}

func (o *orchard) tensor(dims []uint32) int32 {
	x := &pte.Tensor{ScalarType: tensor.Float, Dynamism: o.dyn}
	for d, n := range dims {
		x.Sizes, x.DimOrder = append(x.Sizes, int32(n)), append(x.DimOrder, uint8(d))
	}
	o.plan.Values = append(o.plan.Values, pte.EValue{Type: pte.TensorValue, Tensor: x})
	v := int32(len(o.plan.Values) - 1)
	o.first[v] = len(o.calls)
	o.last[v] = len(o.calls)
	return v
}

func (o *orchard) add(e pte.EValue) int32 {
	o.plan.Values = append(o.plan.Values, e)
	return int32(len(o.plan.Values) - 1)
}

func (o *orchard) use(list ...int32) {
	for _, v := range list {
		if o.plan.Values[v].Tensor != nil {
			o.last[v] = len(o.calls)
		}
	}
}

func (o *orchard) kernel(name string, out int32, args ...int32) {
	at, ok := o.ops[name]
	if !ok {
		at = int32(len(o.plan.Operators))
		i := bytes.IndexByte([]byte(name), '.')
		o.plan.Operators = append(o.plan.Operators, pte.Operator{Name: name[:i], Overload: name[i+1:]})
		o.ops[name] = at
	}
	o.use(args...)
	o.use(out)
	o.calls = append(o.calls, pte.Instruction{Type: pte.KernelCall, A: at, Args: append(slices.Clone(args), out, out)})
	o.live = append(o.live, out)
}

func (o *orchard) sizes(v int32) (d []uint32) {
	for _, n := range o.plan.Values[v].Tensor.Sizes {
		d = append(d, uint32(n))
	}
	return d
}

func (o *orchard) some() int32 { return o.live[max(0, len(o.live)-1-o.r.IntN(5))] }

func (o *orchard) around() {
	x := o.some()
	d := o.sizes(x)
	switch o.r.IntN(4) {
	case 0:
		o.kernel("aten::sigmoid.out", o.tensor(d), x)
	case 1:
		o.kernel("aten::neg.out", o.tensor(d), x)
	case 2:
		o.kernel("aten::mul.out", o.tensor(d), x, x)
	case 3:
		v := o.add(pte.EValue{Type: pte.Int, Int: -1})
		l := o.add(pte.EValue{Type: pte.IntList, Items: []int64{int64(v)}})
		to := o.tensor([]uint32{uint32(numel(d))})
		o.kernel("aten::view_copy.out", to, x, l)
	}
}

// orchardOf is a random program, and its plan.
func orchardOf(t testing.TB, r *rand.Rand) (file []byte, plan *pte.ExecutionPlan) {
	o := &orchard{r: r, plan: &pte.ExecutionPlan{Name: "forward", NonConstBufferSizes: []int64{0, 0}}, first: map[int32]int{}, last: map[int32]int{}, ops: map[string]int32{}}
	if r.IntN(2) == 0 {
		o.dyn = pte.DynamicBound
	}
	o.owned = r.IntN(4) == 0
	for range 1 + r.IntN(3) {
		var d []uint32
		for range r.IntN(5) {
			d = append(d, uint32(1+r.IntN(5)))
		}
		v := o.tensor(d)
		o.plan.Inputs, o.live = append(o.plan.Inputs, v), append(o.live, v)
	}
	if r.IntN(3) == 0 {
		v := o.tensor(nil)
		o.plan.Inputs, o.live = append(o.plan.Inputs, v), append(o.live, v)
	}
	p := &pte.Program{Plans: []*pte.ExecutionPlan{o.plan}, ConstantBuffers: [][]byte{nil}}
	for k := range 1 + r.IntN(3) {
		for range r.IntN(3) {
			o.around()
		}
		var ins []int32
		var dims [][]uint32
		for range 1 + r.IntN(3) {
			v := o.some()
			if slices.Contains(ins, v) && r.IntN(4) > 0 {
				continue
			}
			d := o.sizes(v)
			if len(d) == 0 && r.IntN(2) == 0 {
				d = []uint32{1} // as the official exporter says it
			}
			ins, dims = append(ins, v), append(dims, d)
		}
		g, named := grown(r, "k"+strconv.Itoa(k)+"_", dims)
		payload, err := blob.Write(g)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := blob.Read(payload); err != nil {
			t.Fatal("generator: ", err)
		}
		args := slices.Clone(ins)
		for _, id := range g.Outputs {
			v := o.tensor(g.Values[id].Dims)
			args = append(args, v)
			o.live = append(o.live, v)
		}
		o.use(args...)
		o.calls = append(o.calls, pte.Instruction{Type: pte.DelegateCall, A: int32(len(o.plan.Delegates)), Args: args})
		o.plan.Delegates = append(o.plan.Delegates, pte.BackendDelegate{ID: ID, Processed: len(p.DelegateData)})
		p.DelegateData, p.NamedData = append(p.DelegateData, payload), append(p.NamedData, named...)
	}
	for range r.IntN(3) {
		o.around()
	}
	for k, v := range o.live {
		if slices.Contains(o.plan.Inputs, v) {
			continue
		}
		if o.last[v] == o.first[v] || r.IntN(8) == 0 || k == len(o.live)-1 {
			o.plan.Outputs = append(o.plan.Outputs, v)
			o.last[v] = len(o.calls)
		}
	}
	if r.IntN(10) == 0 {
		o.plan.Outputs = append(o.plan.Outputs, o.plan.Outputs[0])
	}
	// Place.
	var items []memory.Item
	var of []int32
	for v := range o.plan.Values {
		x := o.plan.Values[v].Tensor
		if x == nil {
			continue
		}
		if o.owned && r.IntN(2) == 0 || slices.Contains(o.plan.Inputs, int32(v)) && r.IntN(2) == 0 {
			continue
		}
		n := int64(4)
		for _, s := range x.Sizes {
			n *= int64(s)
		}
		of = append(of, int32(v))
		first := o.first[int32(v)]
		if slices.Contains(o.plan.Inputs, int32(v)) {
			first = -1
		}
		items = append(items, memory.Item{Size: n, First: first + 1, Last: o.last[int32(v)] + 1, Align: 16})
	}
	offsets, total, err := memory.PlanWithin(items, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range of {
		o.plan.Values[v].Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(offsets[i])}
	}
	o.plan.NonConstBufferSizes[1] = total + int64(r.IntN(2)*64)
	o.plan.Chains = []pte.Chain{{Instructions: o.calls}}
	var b bytes.Buffer
	if err := pte.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), o.plan
}

// forSizes are inputs of a call: smaller than the largest ones in most calls, where the plan says that they may be.
func forSizes(r *rand.Rand, plan *pte.ExecutionPlan, call int) []executor.Value {
	var ins []executor.Value
	for _, v := range plan.Inputs {
		x := plan.Values[v].Tensor
		var d []uint32
		for _, n := range x.Sizes {
			m := uint32(n)
			if x.Dynamism != pte.Static && call%3 > 0 && r.IntN(3) == 0 {
				m = uint32(r.IntN(int(n) + 1))
			}
			d = append(d, m)
		}
		f := make([]float32, numel(d))
		for i := range f {
			f[i] = float32(r.NormFloat64())
		}
		ins = append(ins, executor.TensorOf(floatsTensor(tensor.Float, d, f)))
	}
	return ins
}

// TestRandomOrchards runs random programs of kernels and delegates, whose graphs have the nodes that Inline knows, both ways: as delegates and as
// calls of operators. PTE_ORCHARDS=FROM:COUNT runs others.
func TestRandomOrchards(t *testing.T) {
	n, from := 300, 0
	if s := os.Getenv("PTE_ORCHARDS"); s != "" {
		fmt.Sscanf(s, "%d:%d", &from, &n)
	}
	inlined, ran, failedBoth, delegates := 0, 0, 0, 0
	for seed := from; seed < from+n; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		file, plan := orchardOf(t, r)
		kernels := append(kernelsOf(t, file), aroundKernels()...)
		if r.IntN(2) == 0 {
			kernels = op.Kernels
		}
		count := &counter{Backend: New()}
		type side struct {
			p  *executor.Program
			in *executor.Instance
		}
		var sides [2]side
		bad := false
		var errs [2]error
		for k, b := range []backend.Backend{delegated{New()}, count} {
			p, err := executor.Load(file, executor.LoadOptions{Kernels: kernels, Backends: []backend.Backend{b}, Threads: 1 + seed%2})
			if err == nil {
				sides[k].p = p
				sides[k].in, err = p.NewInstance()
			}
			errs[k] = err
		}
		delegates += len(plan.Delegates)
		inlined += count.inlined
		if (errs[0] == nil) != (errs[1] == nil) {
			t.Errorf("seed %d: load: delegated %v, inlined %v", seed, errs[0], errs[1])
			bad = true
		}
		if errs[0] != nil {
			bad = true
			failedBoth++
		}
		for call := 0; call < 6 && !bad; call++ {
			var outs [2][]executor.Value
			cr := r.Uint64()
			for k := range sides {
				rr := rand.New(rand.NewPCG(cr, 3))
				out, err := sides[k].in.Method("forward").Run(context.Background(), forSizes(rr, plan, call))
				errs[k] = err
				for i := range out {
					c := *out[i].Tensor
					c.Data = bytes.Clone(c.Data)
					c.Sizes = slices.Clone(c.Sizes)
					out[i].Tensor = &c
				}
				outs[k] = slices.Clone(out)
			}
			if (errs[0] == nil) != (errs[1] == nil) {
				t.Errorf("seed %d call %d: delegated %v, inlined %v", seed, call, errs[0], errs[1])
				break
			}
			if errs[0] != nil {
				continue
			}
			ran++
			if msg := differ(outs); msg != "" {
				t.Errorf("seed %d call %d: %s", seed, call, msg)
				break
			}
		}
		for k := range sides {
			if sides[k].in != nil {
				sides[k].in.Close()
			}
			if sides[k].p != nil {
				sides[k].p.Close()
			}
		}
	}
	if inlined < delegates/2 || ran < 2*n {
		t.Errorf("%d of %d delegates were inlined, %d runs, %d programs did not load", inlined, delegates, ran, failedBoth)
	}
}

// differ says how the results of both ways differ, or "".
func differ(outs [2][]executor.Value) string {
	for i := range outs[0] {
		a, b := outs[0][i].Tensor, outs[1][i].Tensor
		if !slices.Equal(a.Sizes, b.Sizes) {
			return fmt.Sprintf("output %d: sizes %v, inlined %v", i, a.Sizes, b.Sizes)
		}
		x, y := sliceOf[float32](a.Data, a.Numel()), sliceOf[float32](b.Data, b.Numel())
		for k := range x {
			xn, yn := x[k] != x[k], y[k] != y[k]
			if xn && yn || x[k] == y[k] {
				continue
			}
			if xn != yn || !(math.Abs(float64(x[k]-y[k])) <= 1e-3*max(1, math.Abs(float64(x[k])))) {
				return fmt.Sprintf("output %d element %d of %v: %v, inlined %v", i, k, a.Sizes, x[k], y[k])
			}
		}
	}
	return ""
}

// aroundKernels are those that the instructions around delegates call.
func aroundKernels() (list []*op.Kernel) {
	all := op.TableOf(op.Kernels)
	for _, name := range []string{"aten::sigmoid.out", "aten::neg.out", "aten::mul.out", "aten::view_copy.out"} {
		for _, k := range op.Kernels {
			if d, _ := all.Def(name); d == k.Def {
				list = append(list, k)
			}
		}
	}
	return list
}

// counter counts what is inlined.
type counter struct {
	*Backend
	inlined int
}

func (c *counter) Inline(ctx *backend.InitContext, processed []byte, specs []backend.CompileSpec) *backend.Inlined {
	g := c.Backend.Inline(ctx, processed, specs)
	if g != nil {
		c.inlined++
	}
	return g
}
