package main

// storedTypes are the types of panels that are not float32; every machine has int8 of them.
var storedTypes = []string{"F16", "BF16", "S8"}

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
