package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// tracesIntermediates reports whether somebody looks at values that are no outputs.
func (p *Program) tracesIntermediates() bool { return backend.TracesIntermediates(p.tracer) }

// layout finds the values that nobody but kernels sees, and gives those the channels innermost that convolutions make.
// Pointwise operators want their tensors alike: these make a group, in which all lie as the others do.
type layout struct {
	*method
	groups
	fixed []bool // values that stay as they are
	made  []bool // values that a convolution makes which runs best with the channels innermost
	// written are the values that an instruction writes, or that are there before the first one.
	written  []bool
	accesses []access
	// casts are pairs of values that are alike but for their types. They lie alike, too, unless one of them has to stay as it is.
	casts   [][2]int32
	ordered []ordered
}

// ordered are images, all that an operator reads, and what has their order then.
type ordered struct {
	from []int32
	to   int32
}

// innerOrders are the orders with the channels innermost, by rank.
var innerOrders = [...][]uint8{3: {0, 2, 1}, 4: {0, 2, 3, 1}}

// layOut puts the channels of intermediate images innermost, before kernels are prepared. The bytes of a tensor are as
// many in either order, so the plan of the memory stays.
func (m *method) layOut() {
	if m.prog.tracesIntermediates() || !m.convolves() {
		return
	}
	n := len(m.vals)
	l := layout{method: m, groups: newGroups(n), fixed: make([]bool, n), made: make([]bool, n), written: make([]bool, n)}
	l.values()
	for _, chain := range m.plan.Chains {
		for i := range chain.Instructions {
			l.instruction(&chain.Instructions[i])
		}
	}
	for _, v := range m.plan.Outputs {
		if m.has(v) {
			l.access(v, false)
		}
	}
	l.fixAliases()
	l.apply()
}

// convolves reports whether the method has an operator that prefers an order.
func (m *method) convolves() bool {
	return slices.ContainsFunc(m.operators, func(name string) bool {
		def, _ := m.prog.table.Def(name)
		return def != nil && def.Inner != nil
	})
}

// imageTypes are the types of images, and of the places of their elements that pools give.
var imageTypes = map[tensor.ScalarType]bool{tensor.Float: true, tensor.Half: true, tensor.BFloat16: true, tensor.Char: true, tensor.Long: true}

// values fixes what is no intermediate image of imageTypes, or of the places of one's elements.
func (l *layout) values() {
	for v := range l.vals {
		t := l.vals[v].Tensor
		if t == nil {
			continue
		}
		l.written[v] = l.state(int32(v)) || l.isInput[v]
		l.fixed[v] = l.written[v] || !imageTypes[t.DType] || t.Rank() != 3 && t.Rank() != 4 || t.DimOrder != nil ||
			l.place[v] != planned && l.place[v] != owned
	}
	for _, v := range l.plan.Outputs {
		if l.has(v) {
			l.fix(v)
		}
	}
}

// fix fixes v, or the members of a list.
func (l *layout) fix(v int32) {
	l.fixed[v] = true
	if l.vals[v].Kind == op.Tensors {
		for _, item := range l.plan.Values[v].Items {
			if item >= 0 {
				l.fixed[item] = true
			}
		}
	}
}

// instruction says what an instruction means for its values. Other instructions than calls of kernels fix them.
func (l *layout) instruction(in *pte.Instruction) {
	if in.Type == pte.KernelCall && in.A >= 0 && int(in.A) < len(l.plan.Operators) {
		name := l.operators[in.A]
		if f, _ := primOp(name); f == nil {
			if def, sig := l.prog.table.Def(name); def != nil && len(in.Args) >= len(sig.Params) {
				l.call(def, sig, in.Args)
				return
			}
		}
	}
	for _, v := range append([]int32{in.A, in.B}, in.Args...) {
		if l.has(v) {
			l.fix(v)
			l.access(v, false)
		}
	}
}

func (l *layout) access(v int32, write bool) {
	if l.vals[v].Tensor != nil {
		l.accesses = append(l.accesses, access{v, write})
	}
}

// anyOrder are the operators that read their argument in any order as well as contiguous.
var anyOrder = map[string]bool{"aten::mean.out": true}

// call says what a call of a kernel means for its values: operators that know nothing of orders read theirs as they are.
func (l *layout) call(def *op.Def, sig *op.Signature, list []int32) {
	var args, outs []int32
	for i, p := range sig.Params {
		switch v := list[i]; {
		case !l.has(v):
			return
		case l.vals[v].Kind == op.Tensors:
			if p.Out || !l.keepsOrder(def, sig, list) {
				l.fix(v)
			}
			for _, item := range l.plan.Values[v].Items {
				if item >= 0 {
					l.written[item] = l.written[item] || p.Out
					l.access(int32(item), p.Out)
				}
			}
			if !p.Out {
				args = append(args, v)
			}
		case p.Out:
			outs = append(outs, v)
			l.written[v] = true
			l.access(v, true)
		default:
			args = append(args, v)
			l.access(v, p.InPlace)
			l.fixed[v] = l.fixed[v] || p.InPlace
		}
	}
	switch {
	case (sig.Name == quantizeName || sig.Name == dequantizeName) && l.vals[args[0]].Tensor != nil && l.vals[outs[0]].Tensor != nil:
		l.casts = append(l.casts, [2]int32{args[0], outs[0]})
	case def.Inner != nil && len(outs) == 1:
		l.convolution(def, args, outs[0])
	case def.Tags&op.Pointwise != 0 && len(outs) == 1:
		l.pointwise(args, outs[0])
	case l.keepsOrder(def, sig, list):
		l.orderedAs(args[0], outs)
	case !anyOrder[sig.Name]:
		for _, v := range args {
			l.fixed[v] = true
		}
	}
}

// keepsOrder reports a call of an operator that is Ordered, of images that have an order.
func (l *layout) keepsOrder(def *op.Def, sig *op.Signature, list []int32) bool {
	if def.Tags&op.Ordered == 0 {
		return false
	}
	for i, p := range sig.Params {
		if p.Out {
			return l.has(list[i]) && l.vals[list[i]].Tensor != nil && l.vals[list[i]].Tensor.Rank() == 4
		}
	}
	return false
}

// orderedAs is call of an operator that is Ordered.
func (l *layout) orderedAs(from int32, outs []int32) {
	images := []int32{from}
	if l.vals[from].Kind == op.Tensors {
		images = images[:0]
		for _, v := range l.plan.Values[from].Items {
			if v >= 0 {
				images = append(images, int32(v))
			}
		}
	}
	l.ordered = append(l.ordered, ordered{images, outs[0]})
	for _, v := range outs[1:] {
		if t := l.vals[v].Tensor; t != nil && slices.Equal(t.Sizes, l.vals[outs[0]].Tensor.Sizes) {
			l.join(outs[0], v) // a kernel writes the places of elements as these lie
		}
	}
}

// convolution is call of an operator that prefers an order.
func (l *layout) convolution(def *op.Def, args []int32, out int32) {
	vals := l.args[:0]
	for i, v := range args {
		vals = append(vals, l.vals[v])
		l.fixed[v] = l.fixed[v] || i > 0
	}
	l.args = vals
	t := l.vals[out].Tensor
	switch {
	case t == nil || !inner(def, vals, t, l.prog.tier):
		l.fixed[args[0]] = true
	default:
		l.made[out] = true
		// An image that was quantized goes into integers with the channels innermost.
		l.made[args[0]] = l.made[args[0]] || slices.ContainsFunc(l.casts, func(c [2]int32) bool { return c[1] == args[0] })
	}
}

// inner is def.Inner of arguments that nobody has looked at; what panics has no preference.
func inner(def *op.Def, args []op.Value, out *tensor.Tensor, t kernel.Tier) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return def.Inner(args, &out.Meta, t)
}

// pointwise puts the tensors of a call that are as large as its result into one group.
func (l *layout) pointwise(args []int32, out int32) {
	t := l.vals[out].Tensor
	for _, v := range args {
		if a := l.vals[v].Tensor; a != nil && t != nil && slices.Equal(a.Sizes, t.Sizes) {
			l.join(v, out)
		} else {
			l.fixed[v] = true
		}
	}
}

// access says that an instruction reads or writes a tensor.
type access struct {
	v     int32
	write bool
}

// fixAliases fixes what is read under another name, and who writes it: a tensor that nobody writes, such as a view, has the bytes of those
// that lie there, and state those of all that do.
func (l *layout) fixAliases() {
	straight := len(l.plan.Chains) == 1 && !slices.ContainsFunc(l.plan.Chains[0].Instructions, func(in pte.Instruction) bool {
		return in.Type == pte.JumpFalseCall
	})
	for i, a := range l.accesses {
		if a.write || l.place[a.v] != planned || l.isInput[a.v] || l.written[a.v] && !l.state(a.v) {
			continue
		}
		l.fixed[a.v] = true
		if l.state(a.v) || !straight {
			l.fixThose(a.v, l.accesses, false)
		} else {
			l.fixThose(a.v, l.accesses[:i], true)
		}
	}
}

// fixThose fixes what writes where v lies; if last is set, up to the last one that writes all of it.
func (l *layout) fixThose(v int32, before []access, last bool) {
	for k := len(before) - 1; k >= 0; k-- {
		w := before[k].v
		if !before[k].write || !l.shares(v, w) {
			continue
		}
		l.fixed[w] = true
		if last && l.offset(w) == l.offset(v) && l.vals[w].Tensor.Nbytes() >= l.vals[v].Tensor.Nbytes() {
			return
		}
	}
}

// state reports whether v is there before the first instruction.
func (m *method) state(v int32) bool {
	d := m.plan.Values[v].Tensor
	return d.DataBufferIdx > 0 || d.Extra != nil && d.Extra.Location == pte.LocationExternal
}

// offset is where planned value v lies in its arena.
func (m *method) offset(v int32) uint64 {
	if m.offsets != nil {
		return m.offsets[v]
	}
	return m.plan.Values[v].Tensor.Allocation.Offset
}

// areaOf is where planned value v lies.
func (m *method) areaOf(v int32) area {
	from := m.offset(v)
	return area{int32(m.plan.Values[v].Tensor.Allocation.MemoryID), from, from + uint64(m.vals[v].Tensor.Nbytes())}
}

// shares reports whether two tensors have bytes of an arena in common.
func (m *method) shares(v, w int32) bool {
	if m.place[v] != planned || m.place[w] != planned {
		return false
	}
	a, b := m.areaOf(v), m.areaOf(w)
	return a.overlaps(&b)
}

// stays reports whether v lies as it is, as far as roots know.
func (l *layout) stays(v int32) bool {
	root := l.root(v)
	return !l.made[root] || l.fixed[root]
}

// tell lets root know what is known of v.
func (l *layout) tell(root, v int32) {
	l.fixed[root] = l.fixed[root] || l.fixed[v]
	l.made[root] = l.made[root] || l.made[v]
}

// apply changes the order of groups that a convolution makes a member of, or an operator that gives the order of such an image, and of
// which nobody sees one.
func (l *layout) apply() {
	for v := range l.vals {
		l.tell(l.root(int32(v)), int32(v))
	}
	for _, c := range l.casts {
		if v, w := l.root(c[0]), l.root(c[1]); !l.fixed[v] && !l.fixed[w] {
			l.join(v, w)
			l.tell(w, v)
		}
	}
	for _, o := range l.ordered {
		if to := l.root(o.to); !slices.ContainsFunc(o.from, l.stays) {
			l.made[to] = true
		} else if len(o.from) > 1 { // all lie in one order
			for _, v := range o.from {
				l.fixed[l.root(v)] = true
			}
		}
	}
	for v := range l.vals {
		if root := l.root(int32(v)); l.made[root] && !l.fixed[root] {
			t := l.vals[v].Tensor
			t.DimOrder = innerOrders[t.Rank()]
		}
	}
}
