package kernel

import "unsafe"

// line is what a kernel of a function of float32 gets. Its layout is known to the generator.
type line struct {
	x, y, out    *float32
	blocks       uintptr
	table        *uint32 // constants
	xStep, yStep uintptr // bytes from a block of an operand to the next; 0 if all are the same
	low, high    float32
}

// maxLanes is how many float32 a vector of any tier has at most, maxBlock how many vectors a block has.
const (
	maxLanes = 16
	maxBlock = 4
)

// mapMost is how many elements one call of a kernel may take at most, so that the garbage collector need not wait for
// long; mapLeast is how many make it worth calling one.
const (
	mapMost  = 16 << 10
	mapLeast = 16
)

// mappable reports whether t has kernels that are worth it for n elements.
func mappable(t Tier, n int) bool { return t != Scalar && n >= mapLeast }

// buffers are what a function of lines keeps on its stack.
type buffers struct {
	// tail are the last elements of x, y and the result, where they are less than a vector.
	tail [3][maxLanes]float32
	// same are operands that have one element for all.
	same [2][maxLanes * maxBlock]float32
}

// lanesOf is how many float32 a vector of t has.
func lanesOf(t Tier) int {
	switch t.float() {
	case AVX512:
		return 16
	case AVX2:
		return 8
	}
	return 4
}

// cut divides n elements into calls of kernels: of blocks of vectors, then of single ones, then a last one for what is
// less than a vector.
type cut struct {
	n, lanes     int
	at           int // the first element of this call
	size, blocks int // elements of a block, and how many blocks this call takes
	single, last bool
	*buffers     // nil if whole
}

// whole reports whether operands of these lengths need no buffers: each has all elements, and vectors divide them.
func (c *cut) whole(lengths ...int) bool {
	for _, n := range lengths {
		if n != c.n {
			return false
		}
	}
	return c.n%c.lanes == 0
}

// operand is operand k, x, or copies of its only element; step is 1, or 0 then.
func (c *cut) operand(k int, x []float32) (line []float32, step int) {
	if len(x) != 1 {
		return x, 1
	}
	buf := &c.same[k]
	v := x[0]
	eight := [8]float32{v, v, v, v, v, v, v, v}
	for i := 0; i < len(buf); i += len(eight) {
		copy(buf[i:], eight[:])
	}
	return buf[:], 0
}

// next makes c the next call of a kernel with this many vectors in a block; it is false after the last.
// In its frame the garbage collector can stop a loop of calls.
//
//go:noinline
func (c *cut) next(vectors int) bool {
	c.at += c.size * c.blocks
	left := c.n - c.at
	if left <= 0 {
		return false
	}
	c.size = vectors * c.lanes
	if c.single = left < c.size; c.single {
		c.size = c.lanes
	}
	c.last = left < c.size
	c.blocks = max(1, min(left, mapMost)/c.size)
	return true
}

// from is where the elements of operand k in this call lie, and the bytes from a block to the next.
func (c *cut) from(k int, x []float32, step int) (*float32, uintptr) {
	at := c.at * step
	if c.last {
		copy(c.tail[k][:], x[at:])
		return &c.tail[k][0], 0
	}
	return &x[at], uintptr(c.size*step) * unsafe.Sizeof(x[0])
}

// to is where the results of this call go.
func (c *cut) to(o []float32) *float32 {
	if c.last {
		return &c.tail[2][0]
	}
	return &o[c.at]
}

// finish copies the results of the last call to o.
func (c *cut) finish(o []float32) {
	if c.last {
		copy(o[c.at-c.size:], c.tail[2][:])
	}
}

// TurnsF32 is the largest number that SinF32, CosF32 and TanF32 take.
const TurnsF32 = 1 << 16
