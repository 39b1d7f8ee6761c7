package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// word are the Go types by which elements are moved: one for each element size.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

// strided describes a move of elements between two strided arrays of the same sizes.
type strided struct {
	n              int
	size, src, dst [2 * tensor.MaxRank]int
	srcOff, dstOff int
}

// add appends a dimension inside those before.
func (v *strided) add(size, src, dst int) {
	v.size[v.n], v.src[v.n], v.dst[v.n] = size, src, dst
	v.n++
}

// empty reports whether there is nothing to move.
func (v *strided) empty() bool {
	for _, s := range v.size[:v.n] {
		if s <= 0 {
			return true
		}
	}
	return false
}

// next goes to the next of the indices at of dimensions first to end, and moves src and dst along; at the last one it goes back to the first,
// and is false.
func (v *strided) next(at *[2 * tensor.MaxRank]int, first, end int, src, dst *int) bool {
	for i := end - 1; i >= first; i-- {
		at[i]++
		*src, *dst = *src+v.src[i], *dst+v.dst[i]
		if at[i] < v.size[i] {
			return true
		}
		*src, *dst, at[i] = *src-v.src[i]*v.size[i], *dst-v.dst[i]*v.size[i], 0
	}
	return false
}

// normalize drops dimensions of size 1, orders the rest by where they write and merges neighbours.
func (v *strided) normalize() {
	v.dropOnes()
	for i := 1; i < v.n; i++ {
		for j := i; j > 0 && v.before(j, j-1); j-- {
			v.swap(j, j-1)
		}
	}
	v.merge()
}

func (v *strided) dropOnes() {
	n := v.n
	v.n = 0
	for i := range n {
		if v.size[i] != 1 {
			v.add(v.size[i], v.src[i], v.dst[i])
		}
	}
}

func (v *strided) before(i, j int) bool { return v.dst[i] > v.dst[j] }

func (v *strided) swap(i, j int) {
	v.size[i], v.size[j] = v.size[j], v.size[i]
	v.src[i], v.src[j] = v.src[j], v.src[i]
	v.dst[i], v.dst[j] = v.dst[j], v.dst[i]
}

// merge joins an outer and an inner dimension that are one in both arrays.
func (v *strided) merge() {
	n := v.n
	v.n = 0
	for i := range n {
		k := v.n - 1
		if k >= 0 && v.src[k] == v.src[i]*v.size[i] && v.dst[k] == v.dst[i]*v.size[i] {
			v.size[k], v.src[k], v.dst[k] = v.size[k]*v.size[i], v.src[i], v.dst[i]
			continue
		}
		v.add(v.size[i], v.src[i], v.dst[i])
	}
}

// moveStrided copies what v says from src to dst; v changes.
func moveStrided[T any](dst, src []T, v *strided) {
	rows := v.ready()
	moveReady(dst, src, v, rows)
}

// ready makes v a move that moveReady can run any number of times.
func (v *strided) ready() rows {
	if v.empty() {
		v.n = -1
		return rows{}
	}
	v.normalize()
	if v.n == 0 {
		return rows{}
	}
	v.readInOrder()
	return v.takeRows()
}

// runLeast is how many elements a run has at least for the order of runs to be that in which they are read. sameSet is after how
// many elements of 4 bytes lines have the same place in a cache: runs written so far apart drive each other out.
const (
	runLeast = 16
	sameSet  = 1024
)

// readInOrder orders dimensions outside of runs by where they read: a machine waits for what it reads, not for what it writes.
func (v *strided) readInOrder() {
	last := v.n - 1
	if v.dst[last] != 1 || v.src[last] != 1 || v.size[last] < runLeast {
		return
	}
	w := *v
	for i := 1; i < last; i++ {
		for j := i; j > 0 && w.src[j] > w.src[j-1] && w.src[j-1] > 0; j-- {
			w.swap(j, j-1)
		}
	}
	if last > 0 && w.dst[last-1]%sameSet != 0 {
		*v = w
	}
}

// moveReady is moveStrided for a move that is ready.
func moveReady[T any](dst, src []T, v *strided, rows rows) {
	switch {
	case v.n < 0:
		return
	case v.n == 0:
		dst[v.dstOff] = src[v.srcOff]
		return
	case v.n == 1 && rows.size == 0:
		moveRun(dst, src, v.dstOff, v.srcOff, v.size[0], v.dst[0], v.src[0])
		return
	}
	var at [2 * tensor.MaxRank]int
	last, s, d := v.n-1, v.srcOff, v.dstOff
	runs := rows.size == 0 && v.dst[last] == 1 && v.src[last] == 1 && v.size[last] <= shortRun[T]()
	for {
		i := last - 1
		switch {
		case rows.size > 0:
			kernel.Transpose(dst[d:], src[s:], rows.size, v.size[last], rows.dst, v.src[last])
		case runs:
			moveRuns(dst, src, d, s, v.size[last], v.size[i], v.dst[i], v.src[i])
			i--
		default:
			moveRun(dst, src, d, s, v.size[last], v.dst[last], v.src[last])
		}
		for ; i >= 0; i-- {
			at[i]++
			s, d = s+v.src[i], d+v.dst[i]
			if at[i] < v.size[i] {
				break
			}
			s, d, at[i] = s-v.src[i]*v.size[i], d-v.dst[i]*v.size[i], 0
		}
		if i < 0 {
			return
		}
	}
}

// rows is a dimension whose elements lie side by side in src, and dst apart in dst.
type rows struct{ size, dst int }

// takeRows takes out of a normalized move the dimension that is contiguous in src, if the last is in dst alone.
func (v *strided) takeRows() rows {
	last := v.n - 1
	if v.dst[last] != 1 || v.src[last] <= 1 {
		return rows{}
	}
	for i := range last {
		if v.src[i] == 1 {
			r := rows{v.size[i], v.dst[i]}
			for ; i < last; i++ {
				v.size[i], v.src[i], v.dst[i] = v.size[i+1], v.src[i+1], v.dst[i+1]
			}
			v.n--
			return r
		}
	}
	return rows{}
}

// shortRun is how many elements a run has at most for moveRuns to copy it sooner than the built-in copy, which is a call: as measured
// with AVX-512 on a Zen 4 (go test -bench MoveRuns ./runtime/op).
func shortRun[T any]() int {
	if unsafe.Sizeof(*new(T)) > 4 {
		return 4
	}
	return 12
}

// moveRuns copies count runs of n elements, the first from src[s] to dst[d]; the others lie dstStep and srcStep apart, either way.
func moveRuns[T any](dst, src []T, d, s, n, count, dstStep, srcStep int) {
	for range count {
		from, to := src[s:s+n], dst[d:d+n]
		if n < 4 {
			to[0], to[n/2], to[n-1] = from[0], from[n/2], from[n-1]
		} else {
			last := n - 4
			for j := 0; j < last; j += 4 {
				*(*[4]T)(to[j:]) = *(*[4]T)(from[j:])
			}
			*(*[4]T)(to[last:]) = *(*[4]T)(from[last:])
		}
		d, s = d+dstStep, s+srcStep
	}
}

// moveRun copies n elements of one dimension.
func moveRun[T any](dst, src []T, d, s, n, dstStep, srcStep int) {
	switch {
	case dstStep == 1 && srcStep == 1:
		tensor.Copy(dst[d:d+n], src[s:s+n])
	case dstStep == 1 && srcStep == 0:
		fillRun(dst[d:d+n], src[s])
	default:
		for range n {
			dst[d] = src[s]
			d, s = d+dstStep, s+srcStep
		}
	}
}

// sameMove is the move from in to out, which have the same sizes.
func sameMove(in, out *tensor.Meta) (v strided) {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	for i, n := range out.Sizes {
		v.add(int(n), si[i], so[i])
	}
	return v
}

// contiguousOf is t's elements in row-major order: t's own, or a temporary copy.
func contiguousOf[T any](c *Call, t *tensor.Tensor) ([]T, error) {
	return orderedOf[T](c, t, &tensor.Meta{DType: t.DType, Sizes: t.Sizes})
}

// orderedOf is t's elements as they lie in want, which has t's sizes: t's own, or a temporary copy.
func orderedOf[T any](c *Call, t *tensor.Tensor, want *tensor.Meta) ([]T, error) {
	if sameOrder(t, want.DimOrder) {
		return elems[T](t), nil
	}
	tmp, err := tempOf[T](c, t.Numel())
	if err != nil {
		return nil, err
	}
	reorder(c, tmp, elems[T](t), sameMove(&t.Meta, want))
	return tmp, nil
}

// reorder is moveStrided by the threads of c, if elements are as large as float32 and many.
func reorder[T any](c *Call, dst, src []T, v strided) {
	if unsafe.Sizeof(*new(T)) != f32Size || sharers(c, len(dst)) == 1 {
		moveStrided(dst, src, &v)
		return
	}
	if c.mover == nil {
		c.mover = newKept[moved[uint32]]()
	}
	c.mover.job.layOut(v, c.Threads)
	runMoved(c, c.mover, elementsAs[uint32](dst), elementsAs[uint32](src))
}

// copyOrdered copies src, which is in row-major order, to out in out's order.
func copyOrdered[T any](out *tensor.Tensor, src []T) {
	if out.Contiguous() {
		if o := elems[T](out); unsafe.SliceData(o) != unsafe.SliceData(src) {
			tensor.Copy(o, src)
		}
		return
	}
	plain := tensor.Meta{DType: out.DType, Sizes: out.Sizes}
	v := sameMove(&plain, &out.Meta)
	moveStrided(elems[T](out), src, &v)
}
