package main

// The integer registers of a tile; see tile in package kernel for what they hold.
const (
	args ptr = iota
	panel
	depth
	segments
	gap
	panelGap
	stride
	ahead
	left
	free

	out       = panel // once the sums are made
	outStride = depth
	start     = segments // before they are
	factors   = stride   // once the rows have addresses

	offsets = segments // where a panel is scattered
	offset  = gap
)

// Where the fields of kernel.Tile lie.
const (
	tileLeft        = 0
	tileStride      = 8
	tilePanel       = 16
	tileOut         = 24
	tileOutStride   = 32
	tileDepth       = 40
	tileSegments    = 48
	tileGap         = 56
	tileStart       = 64
	tileStartStride = 72
	tileRowStart    = 80
	tilePanelGap    = 88
	tileLow         = 96
	tileHigh        = 100
	tileOffsets     = 104
	tileAhead       = 112
	tileMore        = 120
	tileLeftAt      = 128
	tileOutAt       = 136
	tileLacks       = 144
)

// unroll is how many steps of the inner loop are written out.
const unroll = 4

// unrolled is unroll, or 1 for WebAssembly: its compilers load for all steps first, and have no registers for that (see pairs).
func unrolled(m machine) int {
	if m.arch() == "wasm" {
		return 1
	}
	return unroll
}

// cacheLine is how many bytes a prefetch fetches at least.
const cacheLine = 64

// float32Size is the size of an element in bytes.
const float32Size = 4

// gemm writes a tile of mr rows and nv vectors.
type gemm struct {
	machine
	mr, nv int
	// scattered says that each row of the panel lies where a table says.
	scattered bool
	// stored is the type of a panel that is not float32, "F16", "BF16" or "S8", or empty.
	stored string
	left   rows
}

// tileKinds are the tiles of all vectors of a panel and of the first; scattered names those whose panel lies where a
// table says.
var tileKinds = []struct {
	name, scattered string
	narrow          bool
}{{name: "gemm", scattered: "scattered"}, {name: "narrow", scattered: "scatteredNarrow", narrow: true}}

// gemmF32 writes the tiles of 1 to mr rows and nv vectors, the narrow ones of one vector, and the kernel of a row.
func gemmF32(m machine, mr, nv int) {
	for _, kind := range tileKinds {
		width := nv
		if kind.narrow {
			width = 1
		}
		for n := 1; n <= mr; n++ {
			(&gemm{machine: m, mr: n, nv: width}).write(kind.name + "F32")
			(&gemm{machine: m, mr: n, nv: width, scattered: true}).write(kind.scattered + "F32")
		}
	}
	rowF32(m, nv)
}

func (g *gemm) write(name string) {
	g.begin(rowsName(name, g, g.mr), "Tile")
	if g.partial() {
		g.masks(args, tileLacks, g.nv)
	}
	if g.blocks() {
		g.label("block")
	}
	g.sum()
	g.finish()
	g.again()
	g.end()
}

// blocks reports whether the rows that follow may be computed by the same call.
func (g *gemm) blocks() bool { return !g.scattered && g.stored == "" }

// partial reports whether a row may lack columns, on machines that can leave out lanes.
func (g *gemm) partial() bool { return g.blocks() }

// again goes to the next block of rows, if there is one.
func (g *gemm) again() {
	if !g.blocks() {
		return
	}
	const at, step, triple = panel, depth, segments
	g.get(at, args, tileMore)
	g.ifZero(at, "end")
	g.add(at, -1)
	g.put(args, tileMore, at)
	for _, place := range [][2]int{{tileLeftAt, tileStride}, {tileOutAt, tileOutStride}} {
		g.get(at, args, place[0])
		g.get(step, args, place[1])
		if g.mr >= 3 {
			g.set(triple, step, 3)
		}
		for range g.mr / 3 {
			g.addPtr(at, triple)
		}
		for range g.mr % 3 {
			g.addPtr(at, step)
		}
		g.put(args, place[0], at)
	}
	g.jump("block")
	g.label("end")
}

// at adds to p where the block of rows lies.
func (g *gemm) at(p ptr, field int, t ptr) {
	if g.blocks() {
		g.get(t, args, field)
		g.addPtr(p, t)
	}
}

func (g *gemm) width() int { return g.lanes() * float32Size }

// acc is the sum of row r and vector j; right and factor are the operands of a step.
func (g *gemm) acc(r, j int) vec    { return vec(r*g.nv + j) }
func (g *gemm) right(j int) vec     { return vec(g.mr*g.nv + j) }
func (g *gemm) factor(step int) vec { return vec(g.mr*g.nv + g.nv + step%2) }

// sum starts the sums and adds the products of all segments.
func (g *gemm) sum() {
	g.startSums()
	g.get(left, args, tileLeft)
	g.at(left, tileLeftAt, stride)
	g.get(stride, args, tileStride)
	g.left = g.rows(left, stride, g.mr, free)
	g.get(panel, args, tilePanel)
	if g.scattered {
		g.get(offsets, args, tileOffsets)
		g.products()
		return
	}
	g.get(segments, args, tileSegments)
	g.get(gap, args, tileGap)
	g.get(panelGap, args, tilePanelGap)
	g.get(ahead, args, tileAhead)
	g.label("segment")
	g.products()
	g.left.advancePtr(gap)
	g.addPtr(panel, panelGap)
	g.more(segments, "segment")
}

// products adds the products of a segment.
func (g *gemm) products() {
	g.get(depth, args, tileDepth)
	if unrolled(g) == 1 {
		g.pairs()
		return
	}
	stream(g, depth, unrolled(g), "", g.steps)
}

// pairs adds the products of a segment two by two. The loop may end between them, so that a compiler of WebAssembly
// cannot load for both first; addresses are computed once for two.
func (g *gemm) pairs() {
	g.less(depth, 1, "done")
	g.label("steps")
	g.step(0)
	g.less(depth, 1, "odd")
	g.step(1)
	g.advance(2)
	g.loop(depth, 1, "steps")
	g.jump("done")
	g.label("odd")
	g.advance(1)
	g.label("done")
}

// startSums gives the sums of a row one number, or a row of numbers.
func (g *gemm) startSums() {
	g.get(start, args, tileRowStart)
	g.ifZero(start, "columns")
	for r := range g.mr {
		g.broadcast(g.acc(r, 0), start, r*float32Size)
		for j := 1; j < g.nv; j++ {
			g.copy(g.acc(r, j), g.acc(r, 0))
		}
	}
	g.jump("started")
	g.label("columns")
	g.get(start, args, tileStart)
	g.get(stride, args, tileStartStride)
	rows := g.rows(start, stride, g.mr, left)
	for r := range g.mr {
		for j := range g.nv {
			if g.partial() {
				rows.loadPart(g.acc(r, j), r, j*g.width(), j)
			} else {
				rows.load(g.acc(r, j), r, j*g.width())
			}
		}
	}
	g.label("started")
}

// steps adds n products to each sum.
func (g *gemm) steps(n int) {
	for s := range n {
		g.step(s)
	}
	if n > 1 && g.nv > 1 && !g.scattered && g.stored == "" {
		g.prefetch(ahead, 0)
		g.prefetch(ahead, cacheLine)
		g.add(ahead, 2*cacheLine)
	}
	g.advance(n)
}

// step adds the products of step s from where the pointers are to each sum.
func (g *gemm) step(s int) {
	g.loadRight(s)
	for r := range g.mr {
		x := g.factor(r)
		if g.nv == 1 {
			g.left.fmaNumber(g.acc(r, 0), g.right(0), r, s*float32Size, x)
			continue
		}
		g.left.broadcast(x, r, s*float32Size)
		for j := range g.nv {
			g.fma(g.acc(r, j), g.right(j), x)
		}
	}
}

// advance moves the pointers on by n steps.
func (g *gemm) advance(n int) {
	g.left.advance(n * float32Size)
	if g.scattered {
		g.add(offsets, n*pointerSize)
	} else {
		g.add(panel, n*g.nv*g.panelWidth())
	}
}

// loadRight loads the panel's row of step s.
func (g *gemm) loadRight(s int) {
	if g.scattered {
		g.get(offset, offsets, s*pointerSize)
	}
	for j := range g.nv {
		switch at := (s*g.nv + j) * g.panelWidth(); {
		case g.scattered:
			g.loadAt(g.right(j), panel, offset, j*g.width())
		case g.stored != "":
			soon(g, panel, at, g.mr)
			g.widen(g.right(j), at)
		default:
			g.load(g.right(j), panel, at)
		}
	}
}

// finish clamps and stores the sums.
func (g *gemm) finish() {
	lo, hi := g.factor(0), g.factor(1)
	g.broadcast(lo, args, tileLow)
	g.broadcast(hi, args, tileHigh)
	g.get(out, args, tileOut)
	g.at(out, tileOutAt, outStride)
	g.get(outStride, args, tileOutStride)
	rows := g.rows(out, outStride, g.mr, segments)
	for r := range g.mr {
		for j := range g.nv {
			g.clamp(g.acc(r, j), lo, hi)
			if g.partial() {
				rows.storePart(r, j*g.width(), g.acc(r, j), j)
			} else {
				rows.store(r, j*g.width(), g.acc(r, j))
			}
		}
	}
}
