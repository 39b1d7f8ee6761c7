package main

import (
	"fmt"
	"slices"
	"strings"
)

// flow is a function of blocks of elements: of as many as unroll vectors of loads have.
type flow struct {
	name string
	// x and out are the bytes of an element of the operand, and of the result.
	x, out int
	// short says that a vector of loads has half as many elements as lanes.
	short  bool
	unroll int
	// half says that it needs a machine with halves.
	half bool
	// long says that it needs a machine with longs.
	long bool
	// start sets registers before the first block; finish stores them after the last; nil for none.
	start, finish func(g *streamer)
	emit          func(g *streamer, j int)
}

// streams are all of them.
var streams = []flow{
	{name: "widenF16", x: 2, out: 4, unroll: 4, half: true, emit: func(g *streamer, j int) {
		g.machine.(halves).loadHalf(g.v(j), streamX, g.at(2, j))
		g.store(streamOut, g.at(4, j), g.v(j))
	}},
	{name: "narrowF16", x: 4, out: 2, unroll: 4, half: true, start: func(g *streamer) { // the sign, and what a NaN becomes
		g.broadcast(0, args, streamNumbers)
		g.broadcast(1, args, streamNumbers+float32Size)
	}, emit: func(g *streamer, j int) {
		v, t := g.v(j), g.v(j+4)
		g.load(v, streamX, g.at(4, j))
		g.bitwise('&', 2, v, 0)
		g.bitwise('|', 2, 2, 1)
		g.compare('=', t, v, v)
		g.choose(2, t, v)
		g.machine.(halves).storeHalf(streamOut, g.at(2, j), 2)
	}},
	{name: "widenBF16", x: 2, out: 4, unroll: 4, emit: func(g *streamer, j int) {
		g.loadWords(g.v(j), streamX, g.at(2, j))
		g.shift('<', g.v(j), g.v(j), 16)
		g.store(streamOut, g.at(4, j), g.v(j))
	}},
	{name: "narrowBF16", x: 4, out: 2, unroll: 2, start: func(g *streamer) {
		for k := range 3 { // 0x7fff, 1, and what a NaN becomes
			g.broadcast(vec(k), args, streamNumbers+k*float32Size)
		}
	}, emit: func(g *streamer, j int) {
		v, t, u := g.v(j), g.v(j+2), g.v(j+4)
		g.load(v, streamX, g.at(4, j))
		g.shift('>', t, v, 16)
		g.bitwise('&', t, t, 1)
		g.intArith('+', t, t, 0)
		g.intArith('+', t, t, v)
		g.shift('>', t, t, 16)
		g.compare('=', u, v, v)
		g.copy(v, 2)
		g.choose(v, u, t)
		g.storeWords(streamOut, g.at(2, j), v)
	}},
	{name: "widenS8", x: 1, out: 4, unroll: 4, emit: func(g *streamer, j int) {
		g.machine.(integers).loadBytes(g.v(j), streamX, g.at(1, j), true)
		g.toFloat(g.v(j), g.v(j))
		g.store(streamOut, g.at(4, j), g.v(j))
	}},
	{name: "widenF32", x: 4, out: 8, short: true, unroll: 4, emit: func(g *streamer, j int) {
		g.loadWide(g.v(j), streamX, g.at(4, j))
		g.store(streamOut, g.at(8, j), g.v(j))
	}},
	{name: "zeroF32", x: 4, out: 1, unroll: 4, start: func(g *streamer) { // 1 in both cases, or in neither
		g.bitwise('^', 0, 0, 0)
		g.broadcast(1, args, streamNumbers)
	}, emit: func(g *streamer, j int) {
		v, t := g.v(j), g.v(j+4)
		g.load(v, streamX, g.at(4, j))
		g.compare('=', v, v, 0)
		g.shift('>', v, v, 31)
		g.bitwise('^', v, v, 1)
		g.machine.(integers).storeBytes(streamOut, g.at(1, j), v, t)
	}},
	{name: "bytesF32", x: 4, out: 1, unroll: 4, start: func(g *streamer) { // the bits of an absolute value, and 2³¹
		g.broadcast(0, args, streamNumbers)
		g.broadcast(1, args, streamNumbers+float32Size)
	}, emit: func(g *streamer, j int) {
		v, t := g.v(j), g.v(j+4)
		g.load(v, streamX, g.at(4, j))
		g.roundTo('0', v, v)
		g.bitwise('&', t, v, 0)
		g.compare('<', t, t, 1)
		g.bitwise('&', v, v, t)
		g.toInt(v, v)
		g.machine.(integers).storeBytes(streamOut, g.at(1, j), v, t)
	}},
	{name: "wordsS64", x: 8, out: 4, short: true, unroll: 4, emit: func(g *streamer, j int) {
		g.load(g.v(j), streamX, g.at(8, j))
		g.storeLow(streamOut, g.at(4, j), g.v(j))
	}},
	{name: "longsF32", x: 4, out: 8, unroll: 2, long: true, start: func(g *streamer) { // 2⁶³ and 2⁶⁴: what lies between them wraps around
		g.broadcast(0, args, streamNumbers)
		g.broadcast(1, args, streamNumbers+float32Size)
	}, emit: func(g *streamer, j int) {
		v, t, u := g.v(j), g.v(j+2), g.v(j+4)
		g.load(v, streamX, g.at(4, j))
		g.compare('l', t, 0, v)
		g.compare('<', u, v, 1)
		g.bitwise('&', t, t, u)
		g.bitwise('&', t, t, 1)
		g.arith('-', v, v, t)
		g.machine.(longs).storeLongs(streamOut, g.at(8, j), v, t)
	}},
	{name: "floatsS64", x: 8, out: 4, short: true, unroll: 4, long: true, emit: func(g *streamer, j int) {
		g.load(g.v(j), streamX, g.at(8, j))
		g.machine.(longs).storeFloats(streamOut, g.at(4, j), g.v(j))
	}},
	{name: "sumF32", x: 4, short: true, unroll: 4, start: zeroSums, finish: storeSums, emit: func(g *streamer, j int) {
		g.loadWide(g.v(4+j), streamX, g.at(4, j))
		g.arithWide('+', g.v(j), g.v(j), g.v(4+j))
	}},
	{name: "squaresF32", x: 4, short: true, unroll: 4, start: func(g *streamer) {
		zeroSums(g)
		g.broadcastWide(0, args, streamNumbers)
	}, finish: storeSums, emit: func(g *streamer, j int) {
		g.loadWide(g.v(4+j), streamX, g.at(4, j))
		g.arithWide('-', g.v(4+j), g.v(4+j), 0)
		g.fmaWide(g.v(j), g.v(4+j), g.v(4+j))
	}},
	{name: "accumulateF64", x: 4, out: 8, short: true, unroll: 4, emit: func(g *streamer, j int) {
		g.loadWide(g.v(j), streamX, g.at(4, j))
		g.load(g.v(4+j), streamOut, g.at(8, j))
		g.arithWide('+', g.v(j), g.v(j), g.v(4+j))
		g.store(streamOut, g.at(8, j), g.v(j))
	}},
}

func zeroSums(g *streamer) {
	for j := range g.unroll {
		g.bitwise('^', g.v(j), g.v(j), g.v(j))
	}
}

// storeSums stores the sums of vectors that lie half of them apart, as often as that goes.
func storeSums(g *streamer) {
	for n := g.unroll / 2; n > 0; n /= 2 {
		for j := range n {
			g.arithWide('+', g.v(j), g.v(j), g.v(n+j))
		}
	}
	g.store(streamOut, 0, g.v(0))
}

// The integer registers of a stream.
const (
	streamX ptr = args + 1 + iota
	streamOut
	streamBlocks
)

// Where the fields of kernel.stream lie.
const (
	atStreamX      = 0
	atStreamOut    = 8
	atStreamBlocks = 16
	streamNumbers  = 24
)

// streamer writes a stream.
type streamer struct {
	machine
	*flow
}

// v is register j of those that are not start's.
func (g *streamer) v(j int) vec { return vec(3 + j) }

// elements is how many elements a vector of loads has.
func (g *streamer) elements() int {
	if g.short {
		return g.lanes() / 2
	}
	return g.lanes()
}

// at is where the elements of vector j lie, each of so many bytes.
func (g *streamer) at(size, j int) int { return j * g.elements() * size }

// has says whether m has a kernel of f.
func (f *flow) has(m machine) bool {
	_, half := m.(halves)
	x, ok := m.(*x86)
	return (half || !f.half) && (ok && x.wide || !f.long)
}

// streamsF32 writes the streams that m has.
func streamsF32(m machine) {
	for i := range streams {
		if streams[i].has(m) {
			(&streamer{m, &streams[i]}).write()
		}
	}
}

func (g *streamer) write() {
	g.begin(g.name+g.tier(), "stream")
	g.get(streamX, args, atStreamX)
	g.get(streamOut, args, atStreamOut)
	g.get(streamBlocks, args, atStreamBlocks)
	if g.start != nil {
		g.start(g)
	}
	g.label("block")
	for j := range g.unroll {
		g.emit(g, j)
	}
	g.add(streamX, g.at(g.x, g.unroll))
	if g.out != 0 {
		g.add(streamOut, g.at(g.out, g.unroll))
	}
	g.more(streamBlocks, "block")
	if g.finish != nil {
		g.finish(g)
	}
	g.end()
}

// streamsGo are the Go functions of an architecture that call streams, or of those that have none.
func streamsGo(arch string) []byte {
	b := goFile(arch)
	b.WriteString("\n// The streams.\nconst (\n")
	half := arch != ""
	for i := range streams {
		fmt.Fprintf(b, "stream%s = %d\n", streams[i].title(), i)
		half = half && (!streams[i].half || streams[i].has(machinesOf(arch)[0]))
	}
	fmt.Fprintf(b, ")\n\n// hasHalves says that tiers but Scalar have streams of float16.\nconst hasHalves = %v\n", half)
	b.WriteString("\n// call computes blocks of a stream.\n//\n//go:noinline\nfunc (s *stream) call(t Tier, kind int) {\n")
	if arch != "" {
		b.WriteString("switch kind {\n")
		for i := range streams {
			if s := &streams[i]; s.has(machinesOf(arch)[0]) {
				fmt.Fprintf(b, "case stream%s:\n", s.title())
				callMachines(b, slices.DeleteFunc(machinesOf(arch), func(m machine) bool { return !s.has(m) }), s.name, "s")
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return formatted(b.Bytes())
}

// title is the name with a capital.
func (f *flow) title() string { return strings.ToUpper(f.name[:1]) + f.name[1:] }
