package main

// widths are a machine's instructions between float32, float64 and words of 16 bits.
type widths interface {
	// loadWide makes float64 of the float32 at p, half as many as lanes. arithWide is arith of them, and fmaWide fma.
	loadWide(v vec, p ptr, off int)
	arithWide(op byte, to, x, y vec)
	fmaWide(acc, x, y vec)
	broadcastWide(v vec, p ptr, off int)
	// loadWords makes int32 of the uint16 at p; storeWords stores the low halves of int32, and may change v.
	loadWords(v vec, p ptr, off int)
	storeWords(p ptr, off int, v vec)
	// storeLow stores the low halves of elements of 64 bits, and may change v.
	storeLow(p ptr, off int, v vec)
}

// halves are machines that know float16.
type halves interface {
	// loadHalf makes float32 of the float16 at p; storeHalf is its inverse, ties to even, and may change v.
	loadHalf(v vec, p ptr, off int)
	storeHalf(p ptr, off int, v vec)
}

// longs are machines with instructions between float32 and int64, as AVX-512 is.
type longs interface {
	// storeLongs stores int64 of float32 without what is behind the point, the least one for what does not fit; it changes v and t.
	storeLongs(p ptr, off int, v, t vec)
	// storeFloats stores float32 of int64, and may change v.
	storeFloats(p ptr, off int, v vec)
}

func (m *x86) half(v vec) string {
	if m.wide {
		return "Y" + m.v(v)[1:]
	}
	return "X" + m.v(v)[1:]
}

func (m *x86) loadWide(v vec, p ptr, off int) { m.line("VCVTPS2PD %d(%s), %s", off, m.p(p), m.v(v)) }

func (m *x86) arithWide(op byte, to, x, y vec) {
	name := map[byte]string{'+': "VADDPD", '-': "VSUBPD", '*': "VMULPD", '/': "VDIVPD"}[op]
	m.line("%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to))
}

func (m *x86) fmaWide(acc, x, y vec) { m.line("VFMADD231PD %s, %s, %s", m.v(x), m.v(y), m.v(acc)) }

func (m *x86) broadcastWide(v vec, p ptr, off int) {
	m.line("VBROADCASTSD %d(%s), %s", off, m.p(p), m.v(v))
}

func (m *x86) loadHalf(v vec, p ptr, off int) { m.line("VCVTPH2PS %d(%s), %s", off, m.p(p), m.v(v)) }

func (m *x86) storeHalf(p ptr, off int, v vec) {
	m.line("VCVTPS2PH $0, %s, %d(%s)", m.v(v), off, m.p(p))
}

func (m *x86) loadWords(v vec, p ptr, off int) { m.line("VPMOVZXWD %d(%s), %s", off, m.p(p), m.v(v)) }

func (m *x86) storeWords(p ptr, off int, v vec) {
	m.storeNarrowed(p, off, v, "VPMOVDW", "VPACKUSDW %s, %[1]s, %[1]s")
}

func (m *x86) storeLow(p ptr, off int, v vec) {
	m.storeNarrowed(p, off, v, "VPMOVQD", "VSHUFPS $0x88, %s, %[1]s, %[1]s")
}

// storeNarrowed stores v by an instruction that narrows its elements, or what another one packs into the halves of its parts of 128 bits.
func (m *x86) storeNarrowed(p ptr, off int, v vec, narrow, pack string) {
	if m.wide {
		m.line(narrow+" %s, %d(%s)", m.v(v), off, m.p(p))
		return
	}
	m.line(pack, m.v(v))
	m.line("VPERMQ $0x08, %s, %[1]s", m.v(v))
	m.line("VMOVUPS %s, %d(%s)", m.half(v), off, m.p(p))
}

func (m *x86) storeLongs(p ptr, off int, v, t vec) {
	m.line("VCVTTPS2QQ %s, %s", m.half(v), m.v(t))
	m.store(p, off, t)
	m.line("VSHUFF64X2 $0x4e, %s, %[1]s, %[1]s", m.v(v))
	m.line("VCVTTPS2QQ %s, %s", m.half(v), m.v(t))
	m.store(p, off+m.lanes()*float32Size, t)
}

func (m *x86) storeFloats(p ptr, off int, v vec) {
	m.line("VCVTQQ2PS %s, %s", m.v(v), m.half(v))
	m.line("VMOVUPS %s, %d(%s)", m.half(v), off, m.p(p))
}

// loadShort loads 8 bytes.
func (m *neon) loadShort(v vec, p ptr, off int) { m.line("FMOVD %d(%s), F%d", off, m.p(p), v) }

func (m *neon) storeShort(p ptr, off int, v vec) { m.line("FMOVD F%d, %d(%s)", v, off, m.p(p)) }

func (m *neon) loadWide(v vec, p ptr, off int) {
	m.loadShort(v, p, off)
	m.convert("FCVTL 2D of", 0x0e617800, v, v)
}

func (m *neon) arithWide(op byte, to, x, y vec) {
	switch op {
	case '+':
		m.word("FADD 2D of", 0x4e60d400, to, x, y)
	case '-':
		m.word("FSUB 2D of", 0x4ee0d400, to, x, y)
	case '*':
		m.word("FMUL 2D of", 0x6e60dc00, to, x, y)
	case '/':
		m.word("FDIV 2D of", 0x6e60fc00, to, x, y)
	}
}

func (m *neon) fmaWide(acc, x, y vec) { m.line("VFMLA %s.D2, %s.D2, %s.D2", m.v(x), m.v(y), m.v(acc)) }

func (m *neon) broadcastWide(v vec, p ptr, off int) {
	m.line("ADD $%d, %s, %s", off, m.p(p), scratch)
	m.line("VLD1R (%s), [%s.D2]", scratch, m.v(v))
}

func (m *neon) loadHalf(v vec, p ptr, off int) {
	m.loadShort(v, p, off)
	m.convert("FCVTL", 0x0e217800, v, v)
}

func (m *neon) storeHalf(p ptr, off int, v vec) {
	m.convert("FCVTN 4H of", 0x0e216800, v, v)
	m.storeShort(p, off, v)
}

func (m *neon) loadWords(v vec, p ptr, off int) {
	m.loadShort(v, p, off)
	m.convert("UXTL", 0x2f10a400, v, v)
}

func (m *neon) storeWords(p ptr, off int, v vec) {
	m.convert("XTN 4H of", 0x0e612800, v, v)
	m.storeShort(p, off, v)
}

func (m *neon) storeLow(p ptr, off int, v vec) {
	m.convert("XTN 2S of", 0x0ea12800, v, v)
	m.storeShort(p, off, v)
}

// loadWide reads 8 bytes.
func (m *wasm) loadWide(v vec, p ptr, off int) {
	m.do(wasmCode{}.get(p).memory(vecLoadZero64, off).vec(vecPromote).setVec(v))
}

func (m *wasm) arithWide(op byte, to, x, y vec) {
	m.two(map[byte]uint64{'+': vecAddWide, '-': vecAddWide + 1, '*': vecMulWide, '/': vecMulWide + 1}[op], to, x, y)
}

// fmaWide rounds twice.
func (m *wasm) fmaWide(acc, x, y vec) {
	m.do(wasmCode{}.getVec(acc).getVec(x).getVec(y).vec(vecMulWide).vec(vecAddWide).setVec(acc))
}

func (m *wasm) broadcastWide(v vec, p ptr, off int) {
	m.do(wasmCode{}.get(p).memory(vecSplat64, off).setVec(v))
}

func (m *wasm) loadWords(v vec, p ptr, off int) {
	m.do(wasmCode{}.get(p).memory(vecLoadU16x4, off).setVec(v))
}

func (m *wasm) storeWords(p ptr, off int, v vec) {
	c := wasmCode{}.get(p).getVec(v).getVec(v).vec(vecShuffle, 0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13)
	m.do(append(c.memory(vecStoreLane64, off), 0))
}

func (m *wasm) storeLow(p ptr, off int, v vec) {
	c := wasmCode{}.get(p).getVec(v).getVec(v).vec(vecShuffle, 0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11)
	m.do(append(c.memory(vecStoreLane64, off), 0))
}
