// Package peak has loops that do one thing as fast as the machine can: they tell what kernels can reach at most.
package peak

import (
	"runtime"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// Loops are the loops of a tier. They are safe for concurrent use.
type Loops struct {
	Tier kernel.Tier
	// FLOPs are what a step of FMA does, a product and a sum counting as two; Ops the same of int8 in a step of Dot; Bytes
	// what a step of Read reads.
	FLOPs, Ops, Bytes int

	fma, dot, read func(*loop)
}

// loop is the argument of the assembly.
type loop struct {
	data  *byte // where registers are loaded from
	steps int   // at least 1
}

// chunk is how many steps a call of assembly takes: well below the 100 µs after which the garbage collector would wait.
const chunk = 2048

// most is how many bytes a vector has at most.
const most = 64

// Of are the loops of t; those of Scalar are written in Go, and serve WebAssembly too, which has none of its own.
func Of(t kernel.Tier) *Loops {
	for i := range vectors {
		if vectors[i].Tier == t {
			return &vectors[i]
		}
	}
	return &scalar
}

// FMA adds products of float32 to independent sums.
func (l *Loops) FMA(steps int) { repeat(l.fma, steps) }

// Dot adds products of int8 to independent sums of int32.
func (l *Loops) Dot(steps int) { repeat(l.dot, steps) }

// repeat runs steps of f, all with zeros.
func repeat(f func(*loop), steps int) {
	var zeros [most]byte
	for ; steps > 0; steps -= chunk {
		call(f, &loop{&zeros[0], min(steps, chunk)})
	}
}

// Read reads data, but for what is left behind its last whole step.
func (l *Loops) Read(data []byte) {
	for len(data) >= l.Bytes {
		n := min(len(data)/l.Bytes, chunk)
		call(l.read, &loop{unsafe.SliceData(data), n})
		data = data[n*l.Bytes:]
	}
}

// call has a frame of its own, where the garbage collector can stop a loop over calls.
//
//go:noinline
func call(f func(*loop), a *loop) { f(a) }

// scalar are the loops in Go: four sums, of words of 8 bytes in Read.
var scalar = Loops{Tier: kernel.Scalar, FLOPs: 8, Ops: 8, Bytes: 32, fma: fmaGo, dot: dotGo, read: readGo}

func fmaGo(a *loop) {
	x := *(*float32)(unsafe.Pointer(a.data))
	var s [4]float32
	for range a.steps {
		s[0] += x * x
		s[1] += x * x
		s[2] += x * x
		s[3] += x * x
	}
	keep(uint64(s[0]), uint64(s[1]), uint64(s[2]), uint64(s[3]))
}

func dotGo(a *loop) {
	x := int32(*(*int8)(unsafe.Pointer(a.data)))
	var s [4]int32
	for range a.steps {
		s[0] += x * x
		s[1] += x * x
		s[2] += x * x
		s[3] += x * x
	}
	keep(uint64(s[0]), uint64(s[1]), uint64(s[2]), uint64(s[3]))
}

func readGo(a *loop) {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(a.data)), 4*a.steps)
	var s [4]uint64
	for len(words) >= 4 {
		s[0] += words[0]
		s[1] += words[1]
		s[2] += words[2]
		s[3] += words[3]
		words = words[4:]
	}
	keep(s[0], s[1], s[2], s[3])
}

// keep makes the compiler believe that the sums are used.
func keep(a, b, c, d uint64) { runtime.KeepAlive([4]uint64{a, b, c, d}) }
