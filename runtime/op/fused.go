package op

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// PointwiseName is what traces call pointwise operators that run as one.
const PointwiseName = "rules_pte::pointwise.out"

// Link is one of some pointwise operators that run as one.
type Link struct {
	Plan *Plan
	Args []Value
	// From says of each tensor among Args which argument of the whole it is, from 0 on, or ^k for the result of link k. Of
	// others it says nothing.
	From []int
	// Out has the largest sizes of the result.
	Out tensor.Meta
}

// Fuses reports whether the operator can be a link: it computes in the types that its tensors have, or in one that those of its kernel's
// type are cast to, and one of them is as large as its result.
func (l *Link) Fuses() bool {
	p := l.Plan
	k := p.Kernel
	if tags := k.Def.Tags; tags&(Pointwise|Copies) == 0 || tags&(Random|DataDependent|ReadsData) != 0 || p.state != nil || p.scratch > 0 || p.consts != nil ||
		!slices.Equal(p.inPlace, []int{-1}) {
		return false
	}
	large := false
	for i := range l.Args {
		t := l.Args[i].Tensor
		if t == nil {
			continue
		}
		o := operandOf(&l.Out, &t.Meta)
		if o.odd || p.argType(i, t.DType) != t.DType && !(k.Cast && t.DType == k.DType) {
			return false
		}
		large = large || o.inner == 1 && slices.Equal(t.Sizes, l.Out.Sizes)
	}
	infer := Infer{Args: l.Args, Out: []tensor.Meta{{DType: l.Out.DType}}}
	return large && k.Def.Infer(&infer) == nil && (infer.Out[0].DType == l.Out.DType || k.Def.Tags&Copies != 0) && slices.Equal(infer.Out[0].Sizes, l.Out.Sizes)
}

// Casts reports whether the operator computes in another type than that of its kernel.
func (l *Link) Casts() bool { return l.Plan.Kernel.Cast }

// operand says where a tensor that broadcasts has the element that belongs to element i of the result: at i/inner%count, unless
// it is odd.
type operand struct {
	inner, count, size int
	odd                bool
	// spread says that a kernel wants it written out, since it has no other operand that is.
	spread bool
}

// operandOf is how m broadcasts to out: odd is what does not along some neighbouring dimensions, or lies in another order.
func operandOf(out, m *tensor.Meta) operand {
	var strides [tensor.MaxRank]int
	stridesOf(m, &strides)
	o := operand{inner: 1, count: 1, size: m.DType.Size()}
	skip := len(out.Sizes) - len(m.Sizes)
	ended := false // a dimension outside of those that m has
	for i := len(out.Sizes) - 1; i >= 0; i-- {
		d := dimAt(out, i)
		size, has := int(out.Sizes[d]), 1
		if d >= skip {
			has = int(m.Sizes[d-skip])
		}
		switch {
		case size == has && size == 1:
		case has == 1 && o.count > 1:
			ended = true
		case has == 1:
			o.inner *= size
		case ended || strides[d-skip] != o.count:
			o.odd = true
			return o
		default:
			o.count *= size
		}
	}
	return o
}

// dimAt is the dimension of m that comes at place i in memory.
func dimAt(m *tensor.Meta, i int) int {
	if len(m.DimOrder) > 0 {
		return int(m.DimOrder[i])
	}
	return i
}

// at is where m has the element that belongs to element i of out.
func at(out, m *tensor.Meta, i int) (from int) {
	var strides [tensor.MaxRank]int
	stridesOf(m, &strides)
	skip := len(out.Sizes) - len(m.Sizes)
	for k := len(out.Sizes) - 1; k >= 0; k-- {
		d := dimAt(out, k)
		if d >= skip && m.Sizes[d-skip] > 1 {
			from += i % int(out.Sizes[d]) * strides[d-skip]
		}
		i /= int(out.Sizes[d])
	}
	return from
}

// fused are pointwise operators that run as one: some elements at a time go through all of them, and stay in the cache.
type fused struct {
	links   []fusedLink
	results int // how many results of links there are at a time, but the last
	wide    int // how many arguments and results of a link that casts
}

// fusedLink is a link that is prepared.
type fusedLink struct {
	Link
	// function, unless nil, is what runs in place of the kernel, of the first one or two tensors.
	function func(t kernel.Tier, o, x, y []float32)
	room     int // of the result
}

// PrepareFused makes a plan of links that fuse, each of which reads results of links before it, and whose results are as
// large as that of the last one; that is the result of the plan, whose arguments are tensors. Nothing else reads the others,
// and no argument overlaps the result, but that it may be one that is as large and lies alike.
func PrepareFused(links []Link) *Plan {
	tier, out := links[0].Plan.tier, &links[len(links)-1].Out
	f := &fused{links: make([]fusedLink, 0, len(links))}
	for _, l := range links {
		f.links = append(f.links, fusedLink{Link: l})
		if l.Casts() {
			f.wide = max(f.wide, len(l.Args)+1)
		}
	}
	if tier != kernel.Scalar {
		f.simplify()
	}
	f.takeRooms()
	dtype, order := out.DType, out.DimOrder
	def := &Def{
		Schema: "rules_pte::pointwise.out(Tensor[] args, *, Tensor(a!) out) -> Tensor(a!)",
		Infer: func(c *Infer) error {
			c.Out[0].DType = dtype
			err := broadcastArgs(c)
			setOrder(&c.Out[0], order)
			return err
		},
	}
	return &Plan{Kernel: &Kernel{Def: def, DType: dtype, Run: runFused}, state: f, tier: tier, inPlace: []int{-1}}
}

// takeRooms gives the results of links room until their last reader has run.
func (f *fused) takeRooms() {
	last := make([]int, len(f.links))
	for k := range f.links {
		f.links[k].reads(func(r int) { last[r] = k })
	}
	var free []int
	for k := range f.links[:len(f.links)-1] {
		if len(free) == 0 {
			free = append(free, f.results)
			f.results++
		}
		f.links[k].room, free = free[0], free[1:]
		released := map[int]bool{}
		f.links[k].reads(func(r int) {
			if last[r] == k && !released[r] {
				released[r] = true
				free = append(free, f.links[r].room)
			}
		})
	}
}

// reads calls f with the links whose results l reads.
func (l *fusedLink) reads(f func(k int)) {
	for i, from := range l.From {
		if l.Args[i].Tensor != nil && from < 0 {
			f(^from)
		}
	}
}
