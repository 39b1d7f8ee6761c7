package main

import "fmt"

// The integer registers of weaving; see weaving in package kernel for what they hold.
const (
	weaveSrc   = args + 1
	weaveFrom  = args + 2
	weaveApart = args + 3
	weaveOut   = args + 4
	weaveTo    = args + 5
	weaveAway  = args + 6
	weavePicks = args + 7
	weaveCount = args + 8
	weaveAt    = args + 9
)

// The smallest and the largest number of vectors of a block.
const weaveLeast, weaveMost = 2, 8

// weaver is a machine that picks bytes. A register has one block's vector of 16 bytes or, if it is longer, those of blocks one after another.
type weaver interface {
	machine
	// blocks is how many vectors a register has.
	blocks() int
	// loadApart and storeApart are of vectors apart bytes from one another.
	loadApart(v vec, p, apart ptr)
	storeApart(p, apart ptr, v vec)
	// pickBytes gives each byte of to that of from in the same vector that the number at p plus off names, or 0 if that is at least 128. There
	// are numbers for each byte of a register.
	pickBytes(to, from vec, p ptr, off int)
}

// weaves writes the kernels that make of blocks of vectors others with the same bytes in another order.
func weaves(m weaver) {
	for n := weaveLeast; n <= weaveMost; n++ {
		m.begin(fmt.Sprintf("weave%sx%d", m.tier(), n), "weaving")
		for i, p := range []ptr{weaveSrc, weaveFrom, weaveApart, weaveOut, weaveTo, weaveAway, weavePicks, weaveCount} {
			m.get(p, args, i*pointerSize)
		}
		sum, part := vec(n), vec(n+1)
		m.label("blocks")
		m.set(weaveAt, weaveSrc, 1)
		for i := range vec(n) {
			m.loadApart(i, weaveAt, weaveApart)
			if int(i) < n-1 {
				m.addPtr(weaveAt, weaveFrom)
			}
		}
		m.set(weaveAt, weaveOut, 1)
		for j := range n {
			for i := range n {
				to := part
				if i == 0 {
					to = sum
				}
				m.pickBytes(to, vec(i), weavePicks, (j*n+i)*m.lanes()*float32Size)
				if i > 0 {
					m.bitwise('|', sum, sum, part)
				}
			}
			m.storeApart(weaveAt, weaveAway, sum)
			if j < n-1 {
				m.addPtr(weaveAt, weaveTo)
			}
		}
		for range m.blocks() {
			m.addPtr(weaveSrc, weaveApart)
			m.addPtr(weaveOut, weaveAway)
		}
		m.more(weaveCount, "blocks")
		m.end()
	}
}

func (m *x86) blocks() int { return 2 }

func (m *x86) loadApart(v vec, p, apart ptr) {
	m.line("VMOVUPS (%s), X%d", m.p(p), v)
	m.line("VINSERTF128 $1, (%s)(%s*1), %s, %[3]s", m.p(p), m.p(apart), m.v(v))
}

func (m *x86) storeApart(p, apart ptr, v vec) {
	m.line("VMOVUPS X%d, (%s)", v, m.p(p))
	m.line("VEXTRACTF128 $1, %s, (%s)(%s*1)", m.v(v), m.p(p), m.p(apart))
}

func (m *x86) pickBytes(to, from vec, p ptr, off int) {
	m.line("VPSHUFB %d(%s), %s, %s", off, m.p(p), m.v(from), m.v(to))
}

func (m *neon) blocks() int                { return 1 }
func (m *neon) loadApart(v vec, p, _ ptr)  { m.load(v, p, 0) }
func (m *neon) storeApart(p, _ ptr, v vec) { m.store(p, 0, v) }
func (m *neon) pickBytes(to, from vec, p ptr, off int) {
	m.load(to, p, off)
	m.line("VTBL %s.B16, [%s.B16], %[1]s.B16", m.v(to), m.v(from))
}

func (m *wasm) blocks() int                { return 1 }
func (m *wasm) loadApart(v vec, p, _ ptr)  { m.load(v, p, 0) }
func (m *wasm) storeApart(p, _ ptr, v vec) { m.store(p, 0, v) }
func (m *wasm) pickBytes(to, from vec, p ptr, off int) {
	m.do(wasmCode{}.getVec(from).get(p).memory(vecLoad, off).vec(vecSwizzle).setVec(to))
}
