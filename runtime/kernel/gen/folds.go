package main

import (
	"fmt"
	"math"
)

// fold is a function of a line that adds its elements up in some way, and may write a line beside.
type fold struct {
	name, doc string
	// registers is how many vectors an element needs at a time, the first one holds it.
	registers int
	// constants, if not 0, is the one of them that has nothing but constants where a machine shares it (see sharesNumbers).
	constants int
	// writes says that it writes what the first register holds.
	writes bool
	// start is the sum of nothing.
	start float64
	// join adds x to a sum, or sums to each other.
	join func(f *folds, sum, x vec)
	emit func(f *folds, sum vec, r []vec)
}

// foldKinds are the folds. A kernel.fold has room for the sum, in all lanes of a vector, and a number.
var foldKinds = []fold{
	{name: "Max", doc: "the larger of sum and x; one of them if one is NaN", registers: 1, start: math.Inf(-1), join: foldMax, emit: func(f *folds, sum vec, r []vec) {
		foldMax(f, sum, r[0])
	}},
	{name: "Min", doc: "the smaller of sum and x; one of them if one is NaN", registers: 1, start: math.Inf(1), join: foldMin, emit: func(f *folds, sum vec, r []vec) {
		foldMin(f, sum, r[0])
	}},
	{name: "Sum", doc: "sum + x", registers: 1, join: foldSum, emit: func(f *folds, sum vec, r []vec) {
		foldSum(f, sum, r[0])
	}},
	{name: "Squares", doc: "sum + (x-number)²", registers: 1, join: foldSum, emit: func(f *folds, sum vec, r []vec) {
		f.arith('-', r[0], r[0], f.number())
		f.fma(sum, r[0], r[0])
	}},
	{name: "Exp", doc: "sum + exp(x-number), which it writes", registers: softRegisters, constants: softConstants, writes: true, join: foldSum, emit: func(f *folds, sum vec, r []vec) {
		f.arith('-', r[0], r[0], f.number())
		(&maps{f.machine}).expNormal(r)
		foldSum(f, sum, r[0])
	}},
}

func foldMax(f *folds, sum, x vec) { f.larger(sum, sum, x) }
func foldMin(f *folds, sum, x vec) { f.machine.(extremes).least(sum, x) }
func foldSum(f *folds, sum, x vec) { f.arith('+', sum, sum, x) }

// The integer registers of a fold; constants are where functions of lines have them.
const (
	foldX     = lineX
	foldOut   = lineOut
	foldLeft  = lineBlocks
	foldTotal = lineXStep
)

// Where the fields of kernel.fold lie.
const (
	foldXAt      = 0
	foldOutAt    = 8
	foldTotalAt  = 16
	foldVectorAt = 24
	foldTableAt  = 32
	foldNumberAt = 40
)

// folds writes a fold for a machine.
type folds struct {
	machine
	*fold
}

// foldsF32 writes all folds.
func foldsF32(m machine) {
	for i := range foldKinds {
		(&folds{m, &foldKinds[i]}).write()
	}
}

// block is how many vectors are taken at a time, each with a sum of its own.
func (f *folds) block() int { return sideBySide(f, f.vectors()-1, f.registers+1, f.constants) }

func (f *folds) sum(j int) vec { return vec(j) }
func (f *folds) number() vec   { return vec(f.block()) }
func (f *folds) width() int    { return f.lanes() * float32Size }

func (f *folds) write() {
	f.begin(fmt.Sprintf("fold%sF32%s", f.name, f.tier()), "fold")
	f.get(foldX, args, foldXAt)
	f.get(foldOut, args, foldOutAt)
	f.get(foldTotal, args, foldTotalAt)
	f.get(foldLeft, args, foldVectorAt)
	f.get(lineTable, args, foldTableAt)
	f.broadcast(f.number(), args, foldNumberAt)
	for j := range f.block() {
		(&maps{f.machine}).constant(f.sum(j), f.start)
	}
	f.less(foldLeft, f.block(), "rest")
	f.label("block")
	f.vectorsOf(f.block())
	f.loop(foldLeft, f.block(), "block")
	f.label("rest")
	f.add(foldLeft, f.block())
	f.less(foldLeft, 1, "end")
	f.label("one")
	f.vectorsOf(1)
	f.loop(foldLeft, 1, "one")
	f.label("end")
	for j := 1; j < f.block(); j++ {
		f.join(f, f.sum(0), f.sum(j))
	}
	t := vec(f.block() + 1)
	for n := f.lanes() / 2; n > 0; n /= 2 {
		f.swapLanes(t, f.sum(0), n)
		f.join(f, f.sum(0), t)
	}
	f.store(foldTotal, 0, f.sum(0))
	f.end()
}

// vectorsOf takes n vectors.
func (f *folds) vectorsOf(n int) {
	f.beside(n, func(j int) {
		r := registersOf(f, vec(f.block()+1), j, f.registers, f.constants)
		f.load(r[0], foldX, j*f.width())
		f.emit(f, f.sum(j), r)
		if f.writes {
			f.store(foldOut, j*f.width(), r[0])
		}
	})
	f.add(foldX, n*f.width())
	if f.writes {
		f.add(foldOut, n*f.width())
	}
}

// affine writes out = (x - shift)·scale·a + b.
func affineF32(m machine) {
	const (
		x = args + 1 + iota
		a
		b
		out
		left
		aStep
		bStep
	)
	const shift, scale, low = 0, 1, 2
	m.begin("affineF32"+m.tier(), "affine")
	for i, p := range []ptr{x, a, b, out, left, aStep, bStep} {
		m.get(p, args, i*pointerSize)
	}
	m.broadcast(shift, args, affineShiftAt)
	m.broadcast(scale, args, affineScaleAt)
	m.label("vector")
	m.load(low, x, 0)
	m.load(low+1, a, 0)
	m.load(low+2, b, 0)
	m.arith('-', low, low, shift)
	m.arith('*', low, low, scale)
	m.fma(low+2, low, low+1)
	m.store(out, 0, low+2)
	width := m.lanes() * float32Size
	m.add(x, width)
	m.addPtr(a, aStep)
	m.addPtr(b, bStep)
	m.add(out, width)
	m.more(left, "vector")
	m.end()
}

// Where the numbers of kernel.affine lie.
const (
	affineShiftAt = 56
	affineScaleAt = 60
)

// rowsGo are the functions that call the folds and affine kernels of an architecture.
func rowsGo(arch string) []byte {
	b := goFile(arch)
	b.WriteString("\n// The folds.\nconst (\n")
	for i := range foldKinds {
		fmt.Fprintf(b, "fold%s = %d // %s\n", foldKinds[i].name, i, foldKinds[i].doc)
	}
	b.WriteString(")\n\n// run computes a fold.\n//\n//go:noinline\nfunc (f *fold) run(t Tier, kind int) {\n")
	if arch != "" {
		b.WriteString("switch kind {\n")
		for i := range foldKinds {
			fmt.Fprintf(b, "case fold%s:\n", foldKinds[i].name)
			callTier(b, arch, "fold"+foldKinds[i].name+"F32", "f")
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	runsGo(b, arch, "affine", "run", "computes vectors of an affine function of a row", "affineF32")
	picksGo(b, arch)
	blendsGo(b, arch)
	poolsGo(b, arch)
	runsGo(b, arch, "fillRows", "run", "writes rows", "fillRowsF32")
	gemvGo(b, arch)
	runsGo(b, arch, "where", "run", "chooses", "whereF32")
	winogradGo(b, arch)
	runsGo(b, arch, "norm", "run", "normalizes rows", "normF32")
	cellsGo(b, arch)
	distancesGo(b, arch)
	return formatted(b.Bytes())
}
