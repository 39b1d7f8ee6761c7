// Package avx512 runs the kernels for AVX-512 on machines without it: it interprets their assembly, some hundred times slower than
// the instructions are. tools/emulate runs tests so.
package avx512

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Program is assembly as package kernel's generator writes it: functions of one pointer that call nothing.
type Program struct {
	functions map[string]*function
}

// function is one function; it is decoded when it is called first.
type function struct {
	lines []string
	once  sync.Once
	code  []step
}

// step is an instruction that is decoded: it gives the index of the next one, or done.
type step func(c *cpu) int

const done = -1

// Parse reads the text of assembly files.
func Parse(sources ...string) *Program {
	p := &Program{make(map[string]*function)}
	for _, s := range sources {
		var f *function
		for line := range strings.Lines(s) {
			line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), " //")
			name, isText := strings.CutPrefix(line, "TEXT ·")
			switch {
			case isText:
				f = &function{}
				p.functions[name[:strings.Index(name, "(")]] = f
			case f != nil && line != "" && !strings.HasPrefix(line, "//"):
				f.lines = append(f.lines, line)
			}
		}
	}
	return p
}

// Run calls a function with its argument. It panics where an instruction is unknown.
func (p *Program) Run(name string, arg unsafe.Pointer) {
	f := p.functions[name]
	if f == nil {
		panic("avx512: no function " + name)
	}
	f.once.Do(f.decode)
	held.Store((*byte)(arg))
	c := &cpu{arg: uint64(uintptr(arg))}
	for at := 0; at != done; {
		at = f.code[at](c)
	}
	runtime.KeepAlive(arg)
}

// held lets the compiler believe that arguments are kept: so neither they nor what they point to lies on a stack, which may move.
var held atomic.Pointer[byte]

// cpu is the state of a processor.
type cpu struct {
	arg   uint64
	r     [16]uint64
	z     [32]vec
	k     [8]uint16
	last  int64 // the result that jumps look at
	spare [3]vec
}

// vec is a vector register, as 16 words.
type vec [16]uint32

func (v *vec) fill(x uint32) {
	for i := range v {
		v[i] = x
	}
}

var pointers = []string{"AX", "BX", "CX", "DX", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13"}

// operand is an operand of an instruction: a register, a constant, or a place in memory.
type operand struct {
	kind   byte // 'r' an integer register, 'z' a vector, 'y' its first eight words, 'x' its first four, 'k' a mask, '$' a number, 'm' memory, 'b' a number there for all words, 'a' the argument
	n      int  // the number of the register, or the number
	base   int  // of memory
	index  int  // of memory, or -1
	factor uint64
}

func register(name string) (operand, bool) {
	for i, p := range pointers {
		if p == name {
			return operand{kind: 'r', n: i}, true
		}
	}
	if len(name) > 1 && strings.Contains("ZYXK", name[:1]) {
		if n, err := strconv.Atoi(name[1:]); err == nil {
			return operand{kind: name[0] | 0x20, n: n}, true
		}
	}
	return operand{}, false
}

func parseOperand(s string) operand {
	if o, ok := register(s); ok {
		return o
	}
	if rest, ok := strings.CutPrefix(s, "$"); ok {
		n, err := strconv.ParseInt(rest, 0, 64)
		if err != nil {
			panic("avx512: operand " + s)
		}
		return operand{kind: '$', n: int(n)}
	}
	off, rest, ok := strings.Cut(s, "(")
	if s == "a+0(FP)" {
		return operand{kind: 'a'}
	}
	o := operand{kind: 'm', index: -1}
	if off != "" {
		n, err := strconv.Atoi(off)
		ok, o.n = ok && err == nil, n
	}
	base, rest, _ := strings.Cut(rest, ")")
	b, _ := register(base)
	if !ok || b.kind != 'r' {
		panic("avx512: operand " + s)
	}
	o.base = b.n
	if rest == "" {
		return o
	}
	name, factor, _ := strings.Cut(strings.Trim(rest, "()"), "*")
	x, _ := register(name)
	n, err := strconv.Atoi(factor)
	if x.kind != 'r' || err != nil {
		panic("avx512: operand " + s)
	}
	o.index, o.factor = x.n, uint64(n)
	return o
}

// fits reports whether operands have a form: the kind of each, or v for a vector register, a vector in memory, or a number there for all words.
func fits(form string, o []operand) bool {
	if len(o) != len(form) {
		return false
	}
	for i := range o {
		if k := o[i].kind; k != form[i] && (form[i] != 'v' || k != 'z' && k != 'm' && k != 'b') {
			return false
		}
	}
	return true
}

// address is where memory lies.
func (c *cpu) address(o *operand) uint64 {
	at := c.r[o.base] + uint64(o.n)
	if o.index >= 0 {
		at += c.r[o.index] * o.factor
	}
	return at
}

// pointerTo is an address as a pointer; whoever called Run keeps what lies there.
func pointerTo[T any](at uint64) *T {
	p := uintptr(at)
	return *(**T)(unsafe.Pointer(&p))
}

// value is the vector of an operand; where that is memory, it is read to spare i.
func (c *cpu) value(o *operand, i int) *vec {
	switch o.kind {
	case 'm':
		c.spare[i] = *pointerTo[vec](c.address(o))
	case 'b':
		c.spare[i].fill(*pointerTo[uint32](c.address(o)))
	default:
		return &c.z[o.n]
	}
	return &c.spare[i]
}

// decode makes the steps of a function.
func (f *function) decode() {
	labels := make(map[string]int)
	n := 0
	for _, line := range f.lines {
		if label, ok := strings.CutSuffix(line, ":"); ok {
			labels[label] = n
		} else {
			n++
		}
	}
	for _, line := range f.lines {
		if strings.HasSuffix(line, ":") {
			continue
		}
		op, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		next := len(f.code) + 1
		if at, ok := labels[rest]; ok {
			f.code = append(f.code, jump(op, at, next))
			continue
		}
		var o []operand
		for s := range strings.SplitSeq(rest, ", ") {
			if s != "" {
				o = append(o, parseOperand(s))
			}
		}
		do := decode(op, o, next)
		if do == nil {
			panic("avx512: instruction " + strings.TrimSpace(line) + " is unknown, or not on such operands")
		}
		f.code = append(f.code, do)
	}
}

// jump goes to another instruction if the last result is as op says.
func jump(op string, to, next int) step {
	if op == "JMP" {
		return func(*cpu) int { return to }
	}
	takes, ok := map[string]func(n int64) bool{
		"JZ": func(n int64) bool { return n == 0 }, "JNZ": func(n int64) bool { return n != 0 },
		"JLT": func(n int64) bool { return n < 0 }, "JGE": func(n int64) bool { return n >= 0 },
	}[op]
	if !ok {
		panic("avx512: instruction " + op)
	}
	return func(c *cpu) int {
		if takes(c.last) {
			return to
		}
		return next
	}
}

// decode makes a step of an instruction that is no jump; nil if it is unknown.
func decode(op string, o []operand, next int) step {
	do := integerStep(op, o)
	if do == nil {
		do = vectorStep(op, o)
	}
	switch {
	case op == "RET":
		return func(*cpu) int { return done }
	case do == nil:
		return nil
	}
	return func(c *cpu) int {
		do(c)
		return next
	}
}

// integerStep is an instruction on integer registers, or one that does nothing; nil if op is another one, or not on such operands.
func integerStep(op string, o []operand) func(c *cpu) {
	is := func(form string) bool { return fits(form, o) }
	number := is("rr") || is("$r")
	switch {
	case op == "VZEROUPPER" && is(""), (op == "PREFETCHT0" || op == "PREFETCHT1") && is("m"):
		return func(*cpu) {}
	case op == "MOVQ":
		return moveStep(o)
	case op == "LEAQ" && is("mr"):
		return func(c *cpu) { c.r[o[1].n] = c.address(&o[0]) }
	case op == "ADDQ" && number:
		return func(c *cpu) { c.r[o[1].n] += c.integer(&o[0]); c.last = int64(c.r[o[1].n]) }
	case op == "SUBQ" && number:
		return func(c *cpu) { c.r[o[1].n] -= c.integer(&o[0]); c.last = int64(c.r[o[1].n]) }
	case op == "TESTQ" && is("rr"):
		return func(c *cpu) { c.last = int64(c.r[o[0].n] & c.r[o[1].n]) }
	case op == "XORL" && is("rr"):
		return func(c *cpu) {
			x := uint32(c.r[o[0].n] ^ c.r[o[1].n])
			c.r[o[1].n], c.last = uint64(x), int64(int32(x))
		}
	}
	return nil
}

// integer is a number or an integer register.
func (c *cpu) integer(o *operand) uint64 {
	if o.kind == '$' {
		return uint64(o.n)
	}
	return c.r[o.n]
}

// moveStep is an instruction that copies a word; nil if it has other operands.
func moveStep(o []operand) func(c *cpu) {
	switch {
	case fits("ar", o):
		return func(c *cpu) { c.r[o[1].n] = c.arg }
	case fits("mr", o):
		return func(c *cpu) { c.r[o[1].n] = *pointerTo[uint64](c.address(&o[0])) }
	case fits("rm", o):
		return func(c *cpu) { *pointerTo[uint64](c.address(&o[1])) = c.r[o[0].n] }
	case fits("rr", o):
		return func(c *cpu) { c.r[o[1].n] = c.r[o[0].n] }
	}
	return nil
}
