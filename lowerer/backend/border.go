package backend

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// crossing is a value that crosses the border of a partition if its maker or one of its readers is elsewhere.
type crossing struct {
	bytes   int64
	maker   int32   // the supported unit that makes it, -1 for none
	readers []int32 // the supported units that read it, once for each time; not its maker
	kept    bool    // it is used outside of supported units
}

// crossings are the values between units, constants aside.
func (c *contraction) crossings() []crossing {
	list := []crossing{}
	index := map[*exir.Value]int{}
	for i, n := range c.graph.Nodes {
		EachInput(n, func(v *exir.Value) {
			if v == nil || v.Kind != exir.TensorValue || c.program.IsConstant(v) && !c.program.outside[v] {
				return
			}
			at, ok := index[v]
			if !ok {
				at = len(list)
				index[v], list = at, append(list, crossing{bytes: c.program.bytes(v), maker: -1})
			}
			if unit := c.place[i]; c.supported[unit] {
				list[at].readers = append(list[at].readers, unit)
			} else {
				list[at].kept = true
			}
		})
	}
	for i := range c.graph.Outputs {
		c.graph.Outputs[i].EachValue(func(v **exir.Value) {
			if at, ok := index[*v]; ok {
				list[at].kept = true
			}
		})
	}
	for i, n := range c.graph.Nodes {
		for _, v := range n.Outs {
			if at, ok := index[v]; ok && c.supported[c.place[i]] {
				list[at].madeBy(c.place[i])
			}
		}
	}
	return list
}

// madeBy notes the maker, which is no reader then.
func (x *crossing) madeBy(unit int32) {
	x.maker = unit
	x.readers = slices.DeleteFunc(x.readers, func(r int32) bool { return r == unit })
}

// bytes is the size of v at its largest.
func (t *TaggedProgram) bytes(v *exir.Value) int64 {
	n := int64(v.Spec.DType.Size())
	for _, d := range v.Spec.Sizes {
		n *= t.largest(d)
	}
	return n
}

// largest is the upper bound of a size, or the lower one where there is none.
func (t *TaggedProgram) largest(d tensor.Dim) int64 {
	if !tensor.IsSymbol(d) {
		return d
	}
	if t.scope.Bounds == nil {
		return 1
	}
	lo, hi := t.scope.Bounds(d)
	if hi < 1<<31 {
		lo = hi
	}
	return max(lo, 0)
}

// border counts the bytes that cross between partitions, each of which has the nodes of a level.
type border struct {
	*clusters
	values []crossing
	// touched are, by node, the values that it makes or reads, and readers, by value, how many nodes of a level read it.
	touched [][]int32
	readers []map[int32]int32
	// seen has, by value, the last part that looked at it.
	seen []int32
}

// delay moves parts to the latest level that there is for them if no more bytes cross the border then. If that saves
// nothing in all, levels stay as they are.
func (c *clusters) delay(values []crossing) {
	if len(values) == 0 {
		return
	}
	b := &border{clusters: c, values: values, touched: make([][]int32, len(c.preds)),
		readers: make([]map[int32]int32, len(values)), seen: make([]int32, len(values))}
	for at := range values {
		b.note(int32(at))
	}
	c.settle()
	c.connect()
	before := slices.Clone(c.level)
	top, saved := slices.Max(before), int64(0)
	c.descend(func(members, behind []int32) {
		users, beyond := c.above(members, behind)
		saved += b.try(members, min(users, beyond-1, top))
	})
	if saved == 0 {
		c.level = before
	}
}

// note fills what b knows of a value.
func (b *border) note(at int32) {
	x := &b.values[at]
	b.count(1 + len(x.readers))
	b.readers[at], b.seen[at] = map[int32]int32{}, -1
	if x.maker >= 0 {
		b.touched[x.maker] = append(b.touched[x.maker], at)
	}
	for _, i := range x.readers {
		b.touched[i] = append(b.touched[i], at)
		b.readers[at][b.level[i]]++
	}
}

// settle gives unsupported nodes the levels that they have after parts were lifted.
func (c *clusters) settle() {
	for i, preds := range c.preds {
		c.count(1 + len(preds))
		for _, p := range preds {
			if !c.supported[i] {
				c.level[i] = max(c.level[i], c.level[p])
			}
		}
	}
}

// try moves a part to a later level and gives the bytes that this saves, or leaves it where it is.
func (b *border) try(members []int32, to int32) int64 {
	from := b.level[members[0]]
	if to <= from {
		return 0
	}
	var values []int32
	for _, i := range members {
		b.count(1 + len(b.touched[i]))
		for _, at := range b.touched[i] {
			if b.seen[at] != members[0] {
				b.seen[at], values = members[0], append(values, at)
			}
		}
	}
	before := b.cost(values)
	b.shift(members, to)
	after := b.cost(values)
	if after > before {
		b.shift(members, from)
		return 0
	}
	return before - after
}

// shift moves members and counts them as readers at the level to.
func (b *border) shift(members []int32, to int32) {
	for _, i := range members {
		b.count(1 + len(b.touched[i]))
		for _, at := range b.touched[i] {
			if b.values[at].maker == i {
				continue
			}
			levels := b.readers[at]
			if levels[b.level[i]]--; levels[b.level[i]] == 0 {
				delete(levels, b.level[i])
			}
			levels[to]++
		}
	}
	b.move(members, to)
}

// cost is the bytes of values that go into partitions and out of them.
func (b *border) cost(values []int32) (bytes int64) {
	b.count(len(values))
	for _, at := range values {
		x := &b.values[at]
		times := len(b.readers[at])
		if x.maker >= 0 {
			if b.readers[at][b.level[x.maker]] > 0 {
				times--
			}
			if x.kept || times > 0 {
				times++
			}
		}
		bytes += int64(times) * x.bytes
	}
	return bytes
}
