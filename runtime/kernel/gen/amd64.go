package main

import "fmt"

// x86 is AVX2 with FMA, or AVX-512.
type x86 struct {
	source
	wide, vnni bool
}

// x86Ptr are the integer registers; R14 and R15 are Go's own.
var x86Ptr = [...]string{"DI", "SI", "R8", "R9", "R10", "R11", "R12", "R13", "AX", "BX", "CX", "DX"}

func (m *x86) tier() string {
	if m.vnni {
		return "AVX512VNNI"
	}
	if m.wide {
		return "AVX512"
	}
	return "AVX2"
}

func (m *x86) arch() string { return "amd64" }

func (m *x86) lanes() int {
	if m.wide {
		return 16
	}
	return 8
}

func (m *x86) vectors() int { return 2 * m.lanes() }

func (m *x86) v(v vec) string {
	name := "Y%d"
	if m.wide {
		name = "Z%d"
	}
	return fmt.Sprintf(name, within(v, m.vectors()))
}

func (m *x86) p(p ptr) string { return x86Ptr[within(p, len(x86Ptr))] }

func (m *x86) begin(name, arg string) {
	m.source.begin(name, arg)
	m.line("MOVQ a+0(FP), DI")
}

func (m *x86) end() {
	m.line("VZEROUPPER")
	m.line("RET")
}

func (m *x86) get(to, from ptr, off int)     { m.line("MOVQ %d(%s), %s", off, m.p(from), m.p(to)) }
func (m *x86) put(to ptr, off int, from ptr) { m.line("MOVQ %s, %d(%s)", m.p(from), off, m.p(to)) }

func (m *x86) set(to, from ptr, factor int) {
	switch factor {
	case 1:
		m.line("MOVQ %s, %s", m.p(from), m.p(to))
	default:
		m.line("LEAQ (%s)(%[1]s*%d), %s", m.p(from), factor-1, m.p(to))
	}
}

func (m *x86) add(p ptr, n int) { m.line("ADDQ $%d, %s", n, m.p(p)) }
func (m *x86) addPtr(p, q ptr)  { m.line("ADDQ %s, %s", m.p(q), m.p(p)) }

func (m *x86) less(p ptr, n int, label string) {
	m.line("SUBQ $%d, %s", n, m.p(p))
	m.line("JLT %s", label)
}

func (m *x86) loop(p ptr, n int, label string) {
	m.line("SUBQ $%d, %s", n, m.p(p))
	m.line("JGE %s", label)
}

func (m *x86) more(p ptr, label string) {
	m.line("SUBQ $1, %s", m.p(p))
	m.line("JNZ %s", label)
}

func (m *x86) jump(label string) { m.line("JMP %s", label) }

func (m *x86) ifZero(p ptr, label string) {
	m.line("TESTQ %s, %[1]s", m.p(p))
	m.line("JZ %s", label)
}

func (m *x86) copy(to, from vec) { m.line("VMOVAPS %s, %s", m.v(from), m.v(to)) }

func (m *x86) load(v vec, p ptr, off int)       { m.line("VMOVUPS %d(%s), %s", off, m.p(p), m.v(v)) }
func (m *x86) store(p ptr, off int, v vec)      { m.line("VMOVUPS %s, %d(%s)", m.v(v), off, m.p(p)) }
func (m *x86) storeFirst(p ptr, off int, v vec) { m.line("VMOVSS X%d, %d(%s)", v, off, m.p(p)) }

func (m *x86) prefetch(p ptr, off int) { m.line("PREFETCHT1 %d(%s)", off, m.p(p)) }

func (m *x86) broadcast(v vec, p ptr, off int) {
	m.line("VBROADCASTSS %d(%s), %s", off, m.p(p), m.v(v))
}

func (m *x86) loadAt(v vec, p, index ptr, off int) {
	m.line("VMOVUPS %d(%s)(%s*1), %s", off, m.p(p), m.p(index), m.v(v))
}

func (m *x86) storeAt(p, index ptr, off int, v vec) {
	m.line("VMOVUPS %s, %d(%s)(%s*1)", m.v(v), off, m.p(p), m.p(index))
}

func (m *x86) pickAt(v vec, p, index ptr, places vec) {
	m.line("VPERMPS (%s)(%s*1), %s, %s", m.p(p), m.p(index), m.v(places), m.v(v))
}

func (m *x86) fma(acc, x, y vec) { m.line("VFMADD231PS %s, %s, %s", m.v(x), m.v(y), m.v(acc)) }

func (m *x86) fmaColumn(acc, x vec, p, stride, triple ptr, j int, _ vec) {
	at := fmt.Sprintf("(%s)", m.p(p))
	switch j {
	case 1, 2, 4:
		at += fmt.Sprintf("(%s*%d)", m.p(stride), j)
	case 3:
		at += fmt.Sprintf("(%s*1)", m.p(triple))
	}
	m.line("VFMADD231PS %s, %s, %s", at, m.v(x), m.v(acc))
}

func (m *x86) arith(op byte, to, x, y vec) {
	name := map[byte]string{'+': "VADDPS", '-': "VSUBPS", '*': "VMULPS", '/': "VDIVPS"}[op]
	m.line("%s %s, %s, %s", name, m.v(y), m.v(x), m.v(to))
}

func (m *x86) round(to, from vec) {
	if m.wide {
		m.line("VRNDSCALEPS $8, %s, %s", m.v(from), m.v(to))
		return
	}
	m.line("VROUNDPS $8, %s, %s", m.v(from), m.v(to))
}

// scale makes two powers of 2, since one cannot be as small as 2^-150 or as large as 2^129; VSCALEFPS can.
func (m *x86) scale(v, n vec, t [2]vec, bias vec) {
	if m.wide {
		m.line("VSCALEFPS %s, %s, %[2]s", m.v(n), m.v(v))
		return
	}
	m.line("VCVTPS2DQ %s, %[1]s", m.v(n))
	m.line("VPSRAD $1, %s, %s", m.v(n), m.v(t[0]))
	m.line("VPSUBD %s, %s, %s", m.v(t[0]), m.v(n), m.v(t[1]))
	for _, r := range t {
		m.line("VPADDD %s, %s, %[2]s", m.v(bias), m.v(r))
		m.line("VPSLLD $23, %s, %[1]s", m.v(r))
		m.arith('*', v, v, r)
	}
}

func (m *x86) larger(to, x, y vec) { m.line("VMAXPS %s, %s, %s", m.v(y), m.v(x), m.v(to)) }

// largerNaN takes the larger twice, since it gives its second operand if one is NaN: so NaN is in one of them.
func (m *x86) largerNaN(to, x, y, t vec) {
	m.line("VMAXPS %s, %s, %s", m.v(y), m.v(x), m.v(t))
	m.line("VMAXPS %s, %s, %s", m.v(x), m.v(y), m.v(to))
	m.line("VORPS %s, %s, %[2]s", m.v(t), m.v(to))
}

func (m *x86) largerBytes(to, x, y vec) { m.line("VPMAXSB %s, %s, %s", m.v(y), m.v(x), m.v(to)) }

// swapLanes: parts of 128 bits swap by one instruction, lanes of them by another.
func (m *x86) swapLanes(to, from vec, n int) {
	switch {
	case n < 4:
		m.line("VPERMILPS $%#x, %s, %s", map[int]int{1: 0xb1, 2: 0x4e}[n], m.v(from), m.v(to))
	case m.wide:
		m.line("VSHUFF64X2 $%#x, %s, %[2]s, %s", map[int]int{4: 0xb1, 8: 0x4e}[n], m.v(from), m.v(to))
	default:
		m.line("VPERM2F128 $1, %s, %[1]s, %s", m.v(from), m.v(to))
	}
}

// clamp: MAXPS and MINPS give their second operand, which Go writes first, if one is a NaN.
func (m *x86) clamp(acc, lo, hi vec) {
	m.line("VMAXPS %s, %s, %[1]s", m.v(acc), m.v(lo))
	m.line("VMINPS %s, %s, %[1]s", m.v(acc), m.v(hi))
}

// x86Rows has a pointer for every four rows, which the stride, once, twice and three times, tells apart.
type x86Rows struct {
	m              *x86
	stride, triple ptr
	base           []ptr
}

func (m *x86) rows(p, stride ptr, n int, free ptr) rows {
	r := &x86Rows{m: m, stride: stride, triple: free, base: []ptr{p}}
	m.line("LEAQ (%s)(%s*2), %s", m.p(stride), m.p(stride), m.p(free))
	for i := 4; i < n; i += 4 {
		free++
		m.line("LEAQ (%s)(%s*4), %s", m.p(r.base[len(r.base)-1]), m.p(stride), m.p(free))
		r.base = append(r.base, free)
	}
	return r
}

// at is the operand off bytes into a row.
func (r *x86Rows) at(row, off int) string {
	base := r.m.p(r.base[row/4])
	switch row % 4 {
	case 1, 2:
		return fmt.Sprintf("%d(%s)(%s*%d)", off, base, r.m.p(r.stride), row%4)
	case 3:
		return fmt.Sprintf("%d(%s)(%s*1)", off, base, r.m.p(r.triple))
	}
	return fmt.Sprintf("%d(%s)", off, base)
}

func (r *x86Rows) broadcast(v vec, row, off int) {
	r.m.line("VBROADCASTSS %s, %s", r.at(row, off), r.m.v(v))
}

func (r *x86Rows) fmaNumber(acc, x vec, row, off int, t vec) {
	r.m.fmaOperand(acc, x, r.at(row, off), t)
}

func (r *x86Rows) load(v vec, row, off int) { r.m.line("VMOVUPS %s, %s", r.at(row, off), r.m.v(v)) }

func (r *x86Rows) store(row, off int, v vec) { r.m.line("VMOVUPS %s, %s", r.m.v(v), r.at(row, off)) }

func (m *x86) masks(p ptr, off, n int) {
	for j := 0; m.wide && j < n; j++ {
		m.line("KMOVW %d(%s), K%d", off+2*j, m.p(p), j+1)
		m.line("KNOTW K%d, K%[1]d", j+1)
	}
}

func (r *x86Rows) loadPart(v vec, row, off, j int) {
	if !r.m.wide {
		r.load(v, row, off)
		return
	}
	r.m.line("VMOVUPS.Z %s, K%d, %s", r.at(row, off), j+1, r.m.v(v))
}

func (r *x86Rows) storePart(row, off int, v vec, j int) {
	if !r.m.wide {
		r.store(row, off, v)
		return
	}
	r.m.line("VMOVUPS %s, K%d, %s", r.m.v(v), j+1, r.at(row, off))
}

func (r *x86Rows) advance(n int) {
	for _, b := range r.base {
		r.m.add(b, n)
	}
}

func (r *x86Rows) advancePtr(p ptr) {
	for _, b := range r.base {
		r.m.addPtr(b, p)
	}
}
