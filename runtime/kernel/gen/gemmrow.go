package main

// rowPanels is how many panels a row is multiplied with side by side: one alone has too few sums to keep a machine busy, which wait
// for the one before.
const rowPanels = 4

// The integer registers of a row.
const (
	rowLeft   = args + 1
	rowDepth  = args + 2
	rowStep   = args + 3
	rowPanel  = args + 4 // and those of the other panels
	rowOthers = rowDepth // before and after the sums are made
)

// gemmRow writes the product of one row with some panels of nv vectors each.
type gemmRow struct {
	machine
	nv int
}

func (g *gemmRow) width() int       { return g.lanes() * float32Size }
func (g *gemmRow) sums() int        { return rowPanels * g.nv }
func (g *gemmRow) factor(s int) vec { return vec(g.sums() + s) }
func (g *gemmRow) right(i int) vec  { return g.factor(unroll) + vec(i%4) }
func (g *gemmRow) panel(i int) ptr  { return rowPanel + ptr(i) }

// rowF32 writes the kernel of a row.
func rowF32(m machine, nv int) {
	g := &gemmRow{m, nv}
	g.begin("rowF32"+g.tier(), "Tile")
	g.get(rowOthers, args, tileStart)
	for i := range g.sums() {
		g.load(vec(i), rowOthers, i*g.width())
	}
	g.get(rowStep, args, tilePanelGap)
	g.get(g.panel(0), args, tilePanel)
	for p := 1; p < rowPanels; p++ {
		g.set(g.panel(p), g.panel(p-1), 1)
		g.addPtr(g.panel(p), rowStep)
	}
	g.get(rowLeft, args, tileLeft)
	g.get(rowDepth, args, tileDepth)
	stream(g, rowDepth, unrolled(g), "", g.steps)
	lo, hi := g.factor(0), g.right(0)
	g.broadcast(lo, args, tileLow)
	g.broadcast(hi, args, tileHigh)
	g.get(rowOthers, args, tileOut)
	for i := range g.sums() {
		g.clamp(vec(i), lo, hi)
		g.store(rowOthers, i*g.width(), vec(i))
	}
	g.end()
}

// steps adds n products to each sum.
func (g *gemmRow) steps(n int) {
	for s := range n {
		g.broadcast(g.factor(s), rowLeft, s*float32Size)
	}
	for p := range rowPanels {
		for s := range n {
			for j := range g.nv {
				g.load(g.right(s*g.nv+j), g.panel(p), (s*g.nv+j)*g.width())
				g.fma(vec(p*g.nv+j), g.right(s*g.nv+j), g.factor(s))
			}
		}
	}
	g.add(rowLeft, n*float32Size)
	for p := range rowPanels {
		g.add(g.panel(p), n*g.nv*g.width())
	}
}
