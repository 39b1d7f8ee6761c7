package main

import "bytes"

// The integer registers of distances, the first ones in the order of the fields of kernel.distances.
const (
	distanceX = args + 1 + iota
	distanceOut
	distanceY
	distanceStep
	distanceCount
	distanceBlocks
	distanceLine   // of y
	distanceNumber // of x
)

// Where the fields of kernel.distances lie that are read more than once, or into no integer register.
const (
	distanceCountAt = 32
	distanceSignsAt = 48
)

const (
	// distanceVectors is how many vectors of float64 a block has, and doubleSize the bytes of one of those.
	distanceVectors = 4
	doubleSize      = 8
)

// distancesF32 writes sums of squares, and of absolute values.
func distancesF32(m machine) {
	writeDistances(m, "squaresOf", true)
	writeDistances(m, "magnitudes", false)
}

func writeDistances(m machine, name string, squares bool) {
	const number, signs, first = 2 * distanceVectors, 2*distanceVectors + 1, distanceVectors
	width := m.lanes() * float32Size
	m.begin(name+"F32"+m.tier(), "distances")
	for p := distanceX; p <= distanceBlocks; p++ {
		m.get(p, args, int(p-distanceX)*pointerSize)
	}
	if !squares {
		m.broadcastWide(signs, args, distanceSignsAt)
	}
	m.label("block")
	for j := range vec(distanceVectors) {
		m.load(j, distanceOut, int(j)*width)
	}
	m.set(distanceLine, distanceY, 1)
	m.set(distanceNumber, distanceX, 1)
	m.get(distanceCount, args, distanceCountAt)
	m.label("number")
	m.broadcastWide(number, distanceNumber, 0)
	for j := range vec(distanceVectors) {
		v := first + j
		m.loadWide(v, distanceLine, int(j)*width/2)
		m.arithWide('-', v, v, number)
		if squares {
			m.fmaWide(j, v, v)
		} else {
			m.bitwise('&', v, v, signs)
			m.arithWide('+', j, j, v)
		}
	}
	m.addPtr(distanceLine, distanceStep)
	m.add(distanceNumber, doubleSize)
	m.more(distanceCount, "number")
	for j := range vec(distanceVectors) {
		m.store(distanceOut, int(j)*width, j)
	}
	m.add(distanceOut, distanceVectors*width)
	m.add(distanceY, distanceVectors*width/2)
	m.more(distanceBlocks, "block")
	m.end()
}

// distancesGo adds the function that calls the distances of an architecture.
func distancesGo(b *bytes.Buffer, arch string) {
	b.WriteString("\n// run adds squares, or magnitudes.\n//\n//go:noinline\nfunc (d *distances) run(t Tier, squares bool) {\n")
	if arch != "" {
		b.WriteString("if !squares {\n")
		callTier(b, arch, "magnitudesF32", "d")
		b.WriteString("return\n}\n")
		callTier(b, arch, "squaresOfF32", "d")
	}
	b.WriteString("}\n")
}
