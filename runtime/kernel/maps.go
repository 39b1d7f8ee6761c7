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

// mapping cuts an operation on lines into calls of kernels. Elements behind the last whole vector go through tail.
type mapping struct {
	line
	o, x, y []float32
	lanes   int
	at      int // elements done
	single  bool
	ends    bool
	// tail are the last elements of x, y and o; same are operands that have one element for all.
	tail [3][maxLanes]float32
	same [2][maxLanes * maxBlock]float32
}

// lanesOf is how many float32 a vector of t has.
func lanesOf(t Tier) int {
	switch t {
	case AVX512:
		return 16
	case AVX2:
		return 8
	}
	return 4
}

// start begins o = f(x), where x is as long as o or has one element.
func (m *mapping) start(t Tier, o, x []float32) {
	m.o, m.x, m.lanes, m.table = o, m.operand(x, 0, len(o)), lanesOf(t), &constants[0]
}

// second makes it o = f(x, y).
func (m *mapping) second(y []float32) { m.y = m.operand(y, 1, len(m.o)) }

func (m *mapping) operand(x []float32, i, n int) []float32 {
	if len(x) != 1 {
		return x[:n]
	}
	for j := range m.same[i] {
		m.same[i][j] = x[0]
	}
	return m.same[i][:]
}

// next prepares the next call of a kernel with blocks of this many vectors, or of one if m.single is set then; it
// is false after the last.
func (m *mapping) next(block int) bool {
	if m.ends {
		copy(m.o[m.at:], m.tail[2][:])
		return false
	}
	left := len(m.o) - m.at
	if left == 0 {
		return false
	}
	size := block * m.lanes
	if m.single = left < size; m.single {
		size = m.lanes
	}
	if left < size {
		m.last()
		return true
	}
	m.blocks = uintptr(min(left, mapMost) / size)
	m.line.x, m.xStep = m.place(m.x, 0, size)
	m.line.y, m.yStep = m.place(m.y, 1, size)
	m.out = &m.o[m.at]
	m.at += int(m.blocks) * size
	return true
}

// place is where operand i is now, and its step for blocks of size elements.
func (m *mapping) place(x []float32, i, size int) (*float32, uintptr) {
	switch {
	case len(x) == 0:
		return nil, 0
	case &x[0] == &m.same[i][0]:
		return &x[0], 0
	}
	return &x[m.at], uintptr(size) * unsafe.Sizeof(x[0])
}

// last prepares the call for what is less than a vector.
func (m *mapping) last() {
	m.ends, m.blocks = true, 1
	for i, x := range [][]float32{m.x, m.y} {
		switch {
		case len(x) == 0:
		case &x[0] == &m.same[i][0]:
			copy(m.tail[i][:], x)
		default:
			copy(m.tail[i][:], x[m.at:])
		}
	}
	m.line.x, m.line.y, m.out = &m.tail[0][0], &m.tail[1][0], &m.tail[2][0]
}
