package op

import (
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// simplify lets functions run in place of links that compute them one after another.
func (f *fused) simplify() {
	for k := 0; k < len(f.links); k++ {
		parts := f.hardswish(k)
		if parts == nil {
			parts = f.prelu(k)
		}
		if parts == nil {
			parts = f.silu(k)
		}
		f.drop(parts)
		k -= len(parts)
	}
}

// hardswish makes link k x·clamp(x+3, 0, 6)/6, if it ends that. It gives the links that nobody needs any more.
func (f *fused) hardswish(k int) (parts []int) {
	m := f.maker(k, 0, "aten::mul.Tensor")
	if !f.is(k, "aten::div.Scalar") || f.number(k, 1) != 6 || m < 0 {
		return nil
	}
	for i := range 2 {
		c := f.maker(m, 1-i, "aten::clamp", "aten::hardtanh")
		if c < 0 || f.number(c, 1) != 0 || f.number(c, 2) != 6 {
			continue
		}
		a := f.maker(c, 0, "aten::add.Scalar")
		if a >= 0 && f.number(a, 1) == 3 && f.number(a, 2) == 1 && f.links[a].From[0] == f.links[m].From[i] {
			f.become(k, hardswishTo, &f.links[a].Link, 0, &f.links[a].Link, 0)
			return []int{a, c, m}
		}
	}
	return nil
}

// prelu makes link k x if x > 0, else slope·x, if it ends that. It gives the links that nobody needs any more.
func (f *fused) prelu(k int) (parts []int) {
	g, m := f.maker(k, 0, "aten::gt.Scalar"), f.maker(k, 2, "aten::mul.Tensor")
	if !f.is(k, "aten::where.self") || g < 0 || m < 0 || f.number(g, 1) != 0 || f.links[g].From[0] != f.links[k].From[1] {
		return nil
	}
	for i := range 2 {
		if f.links[m].From[i] == f.links[g].From[0] {
			f.become(k, preluTo, &f.links[g].Link, 0, &f.links[m].Link, 1-i)
			return []int{min(g, m), max(g, m)}
		}
	}
	return nil
}

// silu makes link k x·sigmoid(x), if it ends that. It gives the link that nobody needs any more.
func (f *fused) silu(k int) (parts []int) {
	for i := range 2 {
		s := f.maker(k, i, "aten::sigmoid")
		if s >= 0 && f.is(k, "aten::mul.Tensor") && f.links[s].From[0] == f.links[k].From[1-i] {
			f.become(k, siluTo, &f.links[s].Link, 0, &f.links[s].Link, 0)
			return []int{s}
		}
	}
	return nil
}

// is reports whether link k is the operator of this functional name, in Float. To name its Def would link the row of it.
func (f *fused) is(k int, name string) bool {
	l := &f.links[k]
	return l.function == nil && l.Plan.Kernel.Def.Functional == name && l.Out.DType == tensor.Float
}

// maker is the link whose result link k alone reads as argument i, if it is one of these operators in Float; else -1.
func (f *fused) maker(k, i int, names ...string) int {
	l := &f.links[k]
	if i >= len(l.From) || l.Args[i].Tensor == nil || l.From[i] >= 0 {
		return -1
	}
	made := ^l.From[i]
	reads := 0
	for k := range f.links {
		f.links[k].reads(func(r int) {
			if r == made {
				reads++
			}
		})
	}
	m := &f.links[made]
	if reads != 1 || m.function != nil || m.Plan.Kernel.DType != tensor.Float || !slices.Contains(names, m.Plan.Kernel.Def.Functional) {
		return -1
	}
	return made
}

// number is number i of link k; NaN if that is none.
func (f *fused) number(k, i int) float64 {
	v := &f.links[k].Args[i]
	if v.Kind != Int && v.Kind != Float {
		return math.NaN()
	}
	return v.Scalar()
}

// become makes link k a function of an argument of a and one of b.
func (f *fused) become(k int, function func(t kernel.Tier, o, x, y []float32), a *Link, i int, b *Link, j int) {
	l := &f.links[k]
	l.function = function
	l.Args, l.From = []Value{a.Args[i], b.Args[j]}, []int{a.From[i], b.From[j]}
}

// drop removes links whose results nobody reads.
func (f *fused) drop(parts []int) {
	for i := len(parts) - 1; i >= 0; i-- {
		gone := parts[i]
		f.links = slices.Delete(f.links, gone, gone+1)
		for k := range f.links {
			l := &f.links[k]
			for i, from := range l.From {
				if l.Args[i].Tensor != nil && from < ^gone {
					l.From[i]++
				}
			}
		}
	}
}

func hardswishTo(t kernel.Tier, o, x, _ []float32) { Hardswish(t, o, x) }

// Hardswish computes o = x·clamp(x+3, 0, 6)/6; o may be x.
func Hardswish(t kernel.Tier, o, x []float32) {
	if kernel.HardswishF32(t, o, x) {
		return
	}
	for i, v := range x {
		o[i] = v * min(max(v+3, 0), 6) / 6
	}
}

// preluTo computes o = x where x > 0, else y·x; y may have one element for all.
func preluTo(t kernel.Tier, o, x, y []float32) {
	if kernel.PReluF32(t, o, x, y) {
		return
	}
	step := stepOf(len(y))
	for i, v := range x {
		if !(v > 0) {
			v *= y[i*step]
		}
		o[i] = v
	}
}

func siluTo(t kernel.Tier, o, x, _ []float32) { Silu(t, o, x) }

// Silu computes o = x·sigmoid(x); o may be x.
func Silu(t kernel.Tier, o, x []float32) {
	if kernel.SiluF32(t, o, x) {
		return
	}
	for i, v := range x {
		o[i] = v * scalarmath.Sigmoid(v)
	}
}
