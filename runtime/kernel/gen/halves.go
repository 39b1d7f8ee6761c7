package main

// halfTypes are the types of panels of 16 bits.
var halfTypes = []string{"F16", "BF16"}

// gemmHalves writes the tiles of 1 to mr rows and nv vectors whose panels have 16 bits.
func gemmHalves(m machine, mr, nv int) {
	for _, half := range halfTypes {
		for n := 1; n <= mr; n++ {
			(&gemm{machine: m, mr: n, nv: nv, half: half}).write("gemm" + half)
		}
	}
}

// panelWidth is the size of a vector of the panel.
func (g *gemm) panelWidth() int {
	if g.half != "" {
		return g.width() / 2
	}
	return g.width()
}

// widen loads a vector of the panel of 16 bits.
func (g *gemm) widen(v vec, off int) {
	if g.half == "F16" {
		g.machine.(halves).loadHalf(v, panel, off)
		return
	}
	g.loadWords(v, panel, off)
	g.shift('<', v, v, 16)
}
