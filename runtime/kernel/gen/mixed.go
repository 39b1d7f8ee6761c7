package main

// storedTypes are the types of panels that are not float32; every machine has those of int8.
var storedTypes = []string{"F16", "BF16", "S8"}

// blockTypes are those of panels whose rows stand for numbers in blocks: int8, and 4 bits; every machine has them.
var blockTypes = []string{"Q8", "Q4"}

// Where the fields of kernel.TileMixed lie that kernel.Tile does not have.
const (
	mixedScales   = 152
	mixedZeros    = 160
	mixedScaleGap = 168
	mixedZeroGap  = 176
	mixedTable    = 184
)

// The integer registers of a tile of blocks, which has one panel and fetches nothing ahead.
const (
	blockScales = ahead
	blockZeros  = panelGap
)

// gemmMixed writes the tiles of 1 to mr rows and nv vectors whose panels are stored in another type than float32.
func gemmMixed(m machine, mr, nv int, stored ...string) {
	for _, s := range stored {
		for n := 1; n <= mr; n++ {
			(&gemm{machine: m, mr: n, nv: nv, stored: s}).write("mixed" + s)
		}
	}
}

// panelWidth is the size of a vector of the panel.
func (g *gemm) panelWidth() int {
	switch g.stored {
	case "":
		return g.width()
	case "S8":
		return g.lanes()
	}
	return g.width() / 2
}

// widen loads a vector of the panel, and makes float32 of it.
func (g *gemm) widen(v vec, off int) {
	switch g.stored {
	case "F16":
		g.machine.(halves).loadHalf(v, panel, off)
	case "BF16":
		g.loadWords(v, panel, off)
		g.shift('<', v, v, 16)
	case "S8":
		g.machine.(integers).loadBytes(v, panel, off, true)
		g.toFloat(v, v)
	}
}

// blockTile is a tile whose panel stands for (q - zero)·scale, by a scale and a zero point for each column of a segment.
type blockTile struct {
	gemm
	bytes integers
}

// gemmBlocks writes the tiles of 1 to mr rows and nv vectors whose panels lie in blocks, and what makes float32 of such.
func gemmBlocks(m integers, mr, nv int) {
	for _, s := range blockTypes {
		for n := range mr + 1 {
			g := &blockTile{gemm: gemm{machine: m, mr: n, nv: nv, stored: s}, bytes: m}
			if n == 0 {
				g.unpack("widen" + s)
			} else {
				g.write("mixed" + s)
			}
		}
	}
}

func (g *blockTile) blockScale(j int) vec { return vec((g.mr+1)*g.nv + 2 + j) }
func (g *blockTile) blockZero(j int) vec  { return vec((g.mr+2)*g.nv + 2 + j) }

func (g *blockTile) write(name string) {
	g.begin(rowsName(name, g, g.mr), "TileMixed")
	g.startSums()
	g.get(left, args, tileLeft)
	g.get(stride, args, tileStride)
	g.left = g.rows(left, stride, g.mr, free)
	g.get(panel, args, tilePanel)
	g.get(segments, args, tileSegments)
	g.get(blockScales, args, mixedScales)
	g.get(blockZeros, args, mixedZeros)
	g.getTable()
	g.label("segment")
	g.block()
	g.get(depth, args, tileDepth)
	stream(g, depth, unrolled(g), "", func(n int) {
		g.numbers(n, func(k int, row vec) {
			for r := range g.mr {
				x := g.factor(r)
				g.left.broadcast(x, r, k*float32Size)
				for j := range g.nv {
					g.fma(g.acc(r, j), row+vec(j), x)
				}
			}
		})
		g.left.advance(n * g.perByte() * float32Size)
	})
	g.skip(panel, tilePanelGap)
	g.more(segments, "segment")
	g.finish()
	g.end()
}

// unpack writes what makes float32 of a segment of a panel.
func (g *blockTile) unpack(name string) {
	const at = left
	g.begin(name+g.tier(), "TileMixed")
	g.get(panel, args, tilePanel)
	g.get(at, args, tileOut)
	g.get(blockScales, args, mixedScales)
	g.get(blockZeros, args, mixedZeros)
	g.getTable()
	g.block()
	g.get(depth, args, tileDepth)
	stream(g, depth, unrolled(g), "", func(n int) {
		g.numbers(n, func(k int, row vec) {
			for j := range g.nv {
				g.store(at, (k*g.nv+j)*g.width(), row+vec(j))
			}
		})
		g.add(at, n*g.perByte()*g.nv*g.width())
	})
	g.end()
}

func (g *blockTile) getTable() {
	if g.tabled() {
		g.get(depth, args, mixedTable)
		g.load(g.table(), depth, 0)
	}
}

// block gets the scales and zero points of the next segment.
func (g *blockTile) block() {
	for j := range g.nv {
		g.load(g.blockScale(j), blockScales, j*g.width())
		g.load(g.blockZero(j), blockZeros, j*g.width())
	}
	g.skip(blockScales, mixedScaleGap)
	g.skip(blockZeros, mixedZeroGap)
}

// skip adds to p what a field holds.
func (g *blockTile) skip(p ptr, field int) {
	g.get(depth, args, field)
	g.addPtr(p, depth)
}

// perByte is how many rows of the panel lie in the same bytes.
func (g *blockTile) perByte() int {
	if g.stored == "Q4" {
		return 2
	}
	return 1
}

// high are registers for the upper halves of what is loaded, table is one for the numbers from 0 to 15.
func (g *blockTile) high() vec  { return g.blockZero(g.nv) }
func (g *blockTile) table() vec { return g.high() + vec(g.nv) }

// tabled reports whether there are a register for a table of 16 numbers and an instruction that looks 4 bits up in it, and twice whether there are
// registers to load two rows at a time.
func (g *blockTile) tabled() bool {
	m, ok := g.machine.(*x86)
	return ok && m.wide && g.stored == "Q4"
}

func (g *blockTile) twice() bool { return int(g.high())+g.nv <= g.vectors() }

// numbers loads the next n rows of bytes, and lets use have each row of numbers they hold, in registers from row on.
func (g *blockTile) numbers(n int, use func(k int, row vec)) {
	row := g.right(0)
	for s := range n {
		load := func(j int) { g.bytes.loadBytes(row+vec(j), panel, (s*g.nv+j)*g.lanes(), g.stored == "Q8") }
		soon(g, panel, s*g.nv*g.lanes(), g.mr)
		if g.stored == "Q8" {
			for j := range g.nv {
				load(j)
				g.toFloat(row+vec(j), row+vec(j))
			}
			g.affine(row)
			use(s, row)
			continue
		}
		high := row
		if g.twice() {
			high = g.high()
		}
		for j := range g.nv {
			load(j)
			if high != row {
				g.shift('>', high+vec(j), row+vec(j), 4)
			}
			g.low(row + vec(j))
		}
		g.affine(row)
		use(2*s, row)
		for j := range g.nv {
			if high == row {
				load(j)
				g.shift('>', row+vec(j), row+vec(j), 4)
			}
			g.number(high + vec(j))
		}
		g.affine(high)
		use(2*s+1, high)
	}
	g.add(panel, n*g.nv*g.lanes())
}

// low makes numbers of the lower 4 bits of v, number of those of which the others are 0.
func (g *blockTile) low(v vec) {
	if !g.tabled() {
		g.shift('<', v, v, 28)
		g.shift('>', v, v, 28)
	}
	g.number(v)
}

func (g *blockTile) number(v vec) {
	if g.tabled() {
		g.machine.(*x86).lookUp(v, g.table(), v)
		return
	}
	g.toFloat(v, v)
}

// affine gives numbers their zero points and scales.
func (g *blockTile) affine(row vec) {
	for j := range g.nv {
		g.arith('-', row+vec(j), row+vec(j), g.blockZero(j))
		g.arith('*', row+vec(j), row+vec(j), g.blockScale(j))
	}
}

// lookUp gives each lane the number of the table that the lower bits of the index name; AVX-512 has 16.
func (m *x86) lookUp(to, table, index vec) {
	m.line("VPERMPS %s, %s, %s", m.v(table), m.v(index), m.v(to))
}
