package main

import (
	"encoding/binary"
	"math"
)

// wasm is WebAssembly with its 128-bit vectors. Pointers are the low halves of Go's, which have 64 bits there.
type wasm struct {
	funcs []wasmFunc
}

// wasmFunc is a function of a module: its code, and where it is jumped from and to.
type wasmFunc struct {
	function
	code []wasmPiece
}

// wasmPiece is code between which nothing lies on WebAssembly's stack. A piece may end in a jump to a label, if what lies
// on the stack is not 0 unless always is set; or it is a label.
type wasmPiece struct {
	bytes       []byte
	jump, label string
	always      bool
}

// The locals of a function: integer registers, of which the first is its argument, then vectors.
const (
	wasmPtrs = 24
	wasmVecs = 32
)

// Opcodes of WebAssembly, and of its vectors, which come after the byte 0xfd.
const (
	opBlock    = 0x02
	opLoop     = 0x03
	opEnd      = 0x0b
	opBr       = 0x0c
	opBrIf     = 0x0d
	opGet      = 0x20
	opSet      = 0x21
	opTee      = 0x22
	opLoad     = 0x28
	opStore    = 0x36
	opConst    = 0x41
	opEqz      = 0x45
	opLess     = 0x48
	opGreaterE = 0x4e
	opAdd      = 0x6a
	opSub      = 0x6b
	opMul      = 0x6c
	opVec      = 0xfd
	noResult   = 0x40

	vecLoad        = 0x00
	vecLoad8x8     = 0x01
	vecLoadU16x4   = 0x04
	vecSplat32     = 0x09
	vecSplat64     = 0x0a
	vecStore       = 0x0b
	vecShuffle     = 0x0d
	vecSwizzle     = 0x0e
	vecStoreLane32 = 0x5a
	vecStoreLane64 = 0x5b
	vecLoadZero32  = 0x5c
	vecLoadZero64  = 0x5d
	vecPromote     = 0x5f
	vecAddBytes    = 0x6e
	vecSubBytes    = 0x71
	vecMinBytes    = 0x77 // of uint8
	vecWiden8      = 0x87
	vecWidenU8     = 0x89
	vecWiden16     = 0xa7
	vecWidenU16    = 0xa9
	vecAddInts     = 0xae
	vecMaxBytes    = 0x78
	vecMulInts     = 0xb5
	vecDot         = 0xba
	vecAdd         = 0xe4
	vecSub         = 0xe5
	vecMul         = 0xe6
	vecDiv         = 0xe7
	vecMax         = 0xe9
	vecSqrt        = 0xe3
	vecSelect      = 0x52
	vecPMin        = 0xea
	vecPMax        = 0xeb
	vecAddWide     = 0xf0
	vecMulWide     = 0xf2
	vecToInts      = 0xf8
	vecToFloats    = 0xfa
)

func (m *wasm) tier() string { return "WASM" }
func (m *wasm) arch() string { return "wasm" }
func (m *wasm) lanes() int   { return 4 }
func (m *wasm) vectors() int { return 16 } // those of the machines that it runs on

func (m *wasm) begin(name, arg string) {
	m.funcs = append(m.funcs, wasmFunc{function: function{name, arg}})
}
func (m *wasm) end() {}

func (m *wasm) piece(p wasmPiece) {
	f := &m.funcs[len(m.funcs)-1]
	f.code = append(f.code, p)
}

func (m *wasm) label(name string) { m.piece(wasmPiece{label: name}) }
func (m *wasm) jump(label string) { m.piece(wasmPiece{jump: label, always: true}) }

// wasmCode is code in the making.
type wasmCode []byte

func number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// signed is n in LEB128.
func signed(n int) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func (c wasmCode) op(op byte, args ...byte) wasmCode { return append(append(c, op), args...) }
func (c wasmCode) get(p ptr) wasmCode                { return c.op(opGet, byte(within(p, wasmPtrs))) }
func (c wasmCode) set(p ptr) wasmCode                { return c.op(opSet, byte(within(p, wasmPtrs))) }
func (c wasmCode) getVec(v vec) wasmCode             { return c.op(opGet, byte(wasmPtrs+within(v, wasmVecs))) }
func (c wasmCode) setVec(v vec) wasmCode             { return c.op(opSet, byte(wasmPtrs+within(v, wasmVecs))) }
func (c wasmCode) constant(n int) wasmCode           { return c.op(opConst, signed(n)...) }

// vec adds an instruction of vectors, memory one at an offset, whose address lies on the stack.
func (c wasmCode) vec(op uint64, args ...byte) wasmCode {
	return append(append(c.op(opVec), number(op)...), args...)
}
func (c wasmCode) memory(op uint64, off int) wasmCode {
	return append(c.vec(op, 0), number(uint64(off))...)
}

func (m *wasm) do(c wasmCode) { m.piece(wasmPiece{bytes: c}) }

func (m *wasm) get(to, from ptr, off int) {
	m.do(append(wasmCode{}.get(from).op(opLoad, 2), number(uint64(off))...))
	m.do(wasmCode{}.set(to))
	m.join()
}

func (m *wasm) put(to ptr, off int, from ptr) {
	m.do(append(wasmCode{}.get(to).get(from).op(opStore, 2), number(uint64(off))...))
}

// join makes one of the last two pieces.
func (m *wasm) join() {
	f := &m.funcs[len(m.funcs)-1]
	n := len(f.code)
	f.code[n-2].bytes = append(f.code[n-2].bytes, f.code[n-1].bytes...)
	f.code = f.code[:n-1]
}

func (m *wasm) set(to, from ptr, factor int) {
	m.do(wasmCode{}.get(from).constant(factor).op(opMul).set(to))
}

func (m *wasm) add(p ptr, n int)  { m.do(wasmCode{}.get(p).constant(n).op(opAdd).set(p)) }
func (m *wasm) addPtr(p, q ptr)   { m.do(wasmCode{}.get(p).get(q).op(opAdd).set(p)) }
func (m *wasm) move(to, from ptr) { m.do(wasmCode{}.get(from).set(to)) }
func (m *wasm) clear(p ptr)       { m.do(wasmCode{}.constant(0).set(p)) }
func (m *wasm) copy(to, from vec) { m.do(wasmCode{}.getVec(from).setVec(to)) }
func (m *wasm) ifZero(p ptr, l string) {
	m.piece(wasmPiece{bytes: wasmCode{}.get(p).op(opEqz), jump: l})
}

func (m *wasm) less(p ptr, n int, label string) {
	m.count(p, n, wasmCode{}.constant(0).op(opLess), label)
}
func (m *wasm) loop(p ptr, n int, label string) {
	m.count(p, n, wasmCode{}.constant(0).op(opGreaterE), label)
}
func (m *wasm) more(p ptr, label string) { m.count(p, 1, nil, label) }

// count subtracts n from p and jumps if test says so of the result.
func (m *wasm) count(p ptr, n int, test wasmCode, label string) {
	m.piece(wasmPiece{bytes: append(wasmCode{}.get(p).constant(n).op(opSub).op(opTee, byte(p)), test...), jump: label})
}

func (m *wasm) load(v vec, p ptr, off int)  { m.do(wasmCode{}.get(p).memory(vecLoad, off).setVec(v)) }
func (m *wasm) store(p ptr, off int, v vec) { m.do(wasmCode{}.get(p).getVec(v).memory(vecStore, off)) }

func (m *wasm) storeFirst(p ptr, off int, v vec) {
	m.do(append(wasmCode{}.get(p).getVec(v).memory(vecStoreLane32, off), 0))
}

func (m *wasm) prefetch(ptr, int) {}

func (m *wasm) broadcast(v vec, p ptr, off int) {
	m.do(wasmCode{}.get(p).memory(vecSplat32, off).setVec(v))
}

func (m *wasm) loadAt(v vec, p, index ptr, off int) {
	m.do(wasmCode{}.get(p).get(index).op(opAdd).memory(vecLoad, off).setVec(v))
}

func (m *wasm) storeAt(p, index ptr, off int, v vec) {
	m.do(wasmCode{}.get(p).get(index).op(opAdd).getVec(v).memory(vecStore, off))
}

func (m *wasm) pickAt(v vec, p, index ptr, places vec) {
	m.do(wasmCode{}.get(p).get(index).op(opAdd).memory(vecLoad, 0).getVec(places).vec(vecSwizzle).setVec(v))
}

// two computes to = x op y.
func (m *wasm) two(op uint64, to, x, y vec) { m.do(wasmCode{}.getVec(x).getVec(y).vec(op).setVec(to)) }

func (m *wasm) one(op uint64, to, from vec) { m.do(wasmCode{}.getVec(from).vec(op).setVec(to)) }

// fma rounds twice: WebAssembly has no other.
func (m *wasm) fma(acc, x, y vec) {
	m.do(wasmCode{}.getVec(acc).getVec(x).getVec(y).vec(vecMul).vec(vecAdd).setVec(acc))
}

func (m *wasm) fmaColumn(acc, x vec, p, stride, triple ptr, j int, t vec) {
	c := wasmCode{}.getVec(acc).getVec(x).get(p)
	switch j {
	case 3:
		c = c.get(triple).op(opAdd)
	default:
		for range j {
			c = c.get(stride).op(opAdd)
		}
	}
	m.do(c.memory(vecLoad, 0).vec(vecMul).vec(vecAdd).setVec(acc))
}

func (m *wasm) arith(op byte, to, x, y vec) {
	m.two(map[byte]uint64{'+': vecAdd, '-': vecSub, '*': vecMul, '/': vecDiv}[op], to, x, y)
}

// scale makes two powers of 2, since one cannot be as small as 2^-150 or as large as 2^129.
func (m *wasm) scale(v, n vec, t [2]vec, bias vec) {
	m.toInt(n, n)
	m.shift('/', t[0], n, 1)
	m.intArith('-', t[1], n, t[0])
	for _, r := range t {
		m.intArith('+', r, r, bias)
		m.shift('<', r, r, 23)
		m.arith('*', v, v, r)
	}
}

func (m *wasm) round(to, from vec) { m.roundTo('n', to, from) }

func (m *wasm) larger(to, x, y vec) { m.two(vecPMax, to, x, y) }

func (m *wasm) swapLanes(to, from vec, n int) {
	var places [16]byte
	for i := range places {
		places[i] = byte(i ^ n*float32Size)
	}
	m.do(wasmCode{}.getVec(from).getVec(from).vec(vecShuffle, places[:]...).setVec(to))
}

func (m *wasm) largerNaN(to, x, y, _ vec) { m.two(vecMax, to, x, y) }

func (m *wasm) largerBytes(to, x, y vec) { m.two(vecMaxBytes, to, x, y) }

func (m *wasm) bitwise(op byte, to, x, y vec) {
	m.two(map[byte]uint64{'&': 0x4e, '|': 0x50, '^': 0x51, '\\': 0x4f}[op], to, x, y)
}

func (m *wasm) intArith(op byte, to, x, y vec) {
	m.two(map[byte]uint64{'+': vecAddInts, '-': 0xb1}[op], to, x, y)
}

func (m *wasm) addBytes(to, x, y vec) { m.two(vecAddBytes, to, x, y) }
func (m *wasm) subBytes(to, x, y vec) { m.two(vecSubBytes, to, x, y) }

func (m *wasm) smallerBytes(to, x, y vec) { m.two(vecMinBytes, to, x, y) }

func (m *wasm) shift(op byte, to, from vec, n int) {
	code := map[byte]uint64{'<': 0xab, '/': 0xac, '>': 0xad}[op]
	m.do(wasmCode{}.getVec(from).constant(n).vec(code).setVec(to))
}

func (m *wasm) toInt(to, from vec) {
	m.roundTo('n', to, from)
	m.one(vecToInts, to, to)
}

func (m *wasm) toFloat(to, from vec) { m.one(vecToFloats, to, from) }
func (m *wasm) sqrt(to, from vec)    { m.one(vecSqrt, to, from) }

func (m *wasm) roundTo(op byte, to, from vec) {
	m.one(map[byte]uint64{'n': 0x6a, '<': 0x68, '>': 0x67, '0': 0x69}[op], to, from)
}

func (m *wasm) compare(op byte, to, x, y vec) {
	m.two(map[byte]uint64{'=': 0x41, '<': 0x43, 'l': 0x45}[op], to, x, y)
}

func (m *wasm) choose(to, mask, yes vec) {
	m.do(wasmCode{}.getVec(yes).getVec(to).getVec(mask).vec(vecSelect).setVec(to))
}

// clamp: pmin and pmax give their first operand if one is a NaN.
func (m *wasm) clamp(acc, lo, hi vec) {
	m.two(vecPMax, acc, acc, lo)
	m.two(vecPMin, acc, acc, hi)
}

func (m *wasm) group() int  { return 2 }
func (m *wasm) sums() int   { return 1 }
func (m *wasm) flips() bool { return false }
func (m *wasm) fold(vec)    {}
func (m *wasm) bound(v, lo, hi vec) {
	m.two(vecPMax, v, lo, v)
	m.two(vecPMin, v, hi, v)
}

func (m *wasm) weights(v vec, p ptr, off int) {
	m.do(wasmCode{}.get(p).memory(vecLoad8x8, off).setVec(v))
}

func (m *wasm) dot(acc, x, w, _ vec) {
	m.do(wasmCode{}.getVec(acc).getVec(x).getVec(w).vec(vecDot).vec(vecAddInts).setVec(acc))
}

func (m *wasm) mulInts(to, x, y vec) { m.two(vecMulInts, to, x, y) }

func (m *wasm) storeBytes(p ptr, off int, v, _ vec) {
	c := wasmCode{}.get(p).getVec(v).getVec(v).vec(vecShuffle, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12)
	m.do(append(c.memory(vecStoreLane32, off), 0))
}

func (m *wasm) loadBytes(v vec, p ptr, off int, signed bool) {
	c := wasmCode{}.get(p).memory(vecLoadZero32, off)
	if signed {
		c = c.vec(vecWiden8).vec(vecWiden16)
	} else {
		c = c.vec(vecWidenU8).vec(vecWidenU16)
	}
	m.do(c.setVec(v))
}

func (m *wasm) tap(acc, x, w, _ vec) {
	m.do(wasmCode{}.getVec(acc).getVec(x).getVec(w).vec(vecMulInts).vec(vecAddInts).setVec(acc))
}

// wasmRows has a pointer for every row.
type wasmRows struct {
	*wasm
	base []ptr
}

func (m *wasm) rows(p, stride ptr, n int, free ptr) rows {
	r := &wasmRows{m, []ptr{p}}
	for range n - 1 {
		m.do(wasmCode{}.get(r.base[len(r.base)-1]).get(stride).op(opAdd).set(free))
		r.base = append(r.base, free)
		free++
	}
	return r
}

func (r *wasmRows) broadcast(v vec, row, off int) { r.wasm.broadcast(v, r.base[row], off) }
func (r *wasmRows) fmaNumber(acc, x vec, row, off int, t vec) {
	r.wasm.fmaNumber(acc, x, r.base[row], off, t)
}
func (r *wasmRows) load(v vec, row, off int)  { r.wasm.load(v, r.base[row], off) }
func (r *wasmRows) store(row, off int, v vec) { r.wasm.store(r.base[row], off, v) }

func (m *wasm) masks(ptr, int, int)                      {}
func (r *wasmRows) loadPart(v vec, row, off, _ int)      { r.load(v, row, off) }
func (r *wasmRows) storePart(row, off int, v vec, _ int) { r.store(row, off, v) }

func (r *wasmRows) advance(n int) {
	for _, b := range r.base {
		r.add(b, n)
	}
}

func (r *wasmRows) advancePtr(p ptr) {
	for _, b := range r.base {
		r.addPtr(b, p)
	}
}

// region is code that jumps to its start, if it is a loop, or to its end.
type region struct {
	label      string
	loop       bool
	start, end int // pieces
}

// regions finds what a function's jumps need. They nest: a block begins as early as it has to for that.
func (f *wasmFunc) regions() []region {
	var list []region
	for i, l := range f.code {
		if l.label == "" {
			continue
		}
		block, loop := region{label: l.label, start: math.MaxInt, end: i}, region{label: l.label, loop: true, start: i}
		for j, p := range f.code {
			switch {
			case p.jump != l.label:
			case j < i:
				block.start = min(block.start, j)
			default:
				loop.end = j + 1
			}
		}
		if block.start < i {
			list = append(list, block)
		}
		if loop.end > 0 {
			list = append(list, loop)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range list {
			for _, outer := range list {
				if b := &list[i]; !b.loop && outer.start < b.start && b.start < outer.end && outer.end < b.end {
					b.start, changed = outer.start, true
				}
			}
		}
	}
	return list
}

// body is the function's code as WebAssembly has it, with its locals.
func (f *wasmFunc) body() []byte {
	b := wasmCode{2, wasmPtrs - 1, 0x7f, wasmVecs, 0x7b}
	list := f.regions()
	var open []region
	for i := 0; i <= len(f.code); i++ {
		for len(open) > 0 && open[len(open)-1].end == i {
			open = open[:len(open)-1]
			b = b.op(opEnd)
		}
		for r := outermost(list, i, open); r != nil; r = outermost(list, i, open) {
			open = append(open, *r)
			b = b.op(map[bool]byte{true: opLoop, false: opBlock}[r.loop], noResult)
		}
		if i == len(f.code) {
			break
		}
		p := &f.code[i]
		b = append(b, p.bytes...)
		if p.jump != "" {
			b = b.op(map[bool]byte{true: opBr, false: opBrIf}[p.always], byte(depthOf(open, p.jump)))
		}
	}
	return b.op(opEnd)
}

// outermost is the longest region that starts at piece i and is not open, or nil.
func outermost(list []region, i int, open []region) *region {
	var best *region
	for k := range list {
		r := &list[k]
		if r.start == i && depthOf(open, r.label) < 0 && (best == nil || r.end > best.end) {
			best = r
		}
	}
	return best
}

// depthOf is how many open regions lie within that of the label; -1 if it is not open.
func depthOf(open []region, label string) int {
	for i := range open {
		if r := &open[len(open)-1-i]; r.label == label {
			return i
		}
	}
	return -1
}

func (m *wasm) beside(n int, emit func(i int)) {
	for i := range n {
		emit(i)
	}
}
