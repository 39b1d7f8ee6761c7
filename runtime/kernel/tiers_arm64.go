//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

func machineTiers() []Tier {
	if cpu.ARM64.HasASIMDDP {
		return []Tier{NEON, NEONDot}
	}
	return []Tier{NEON}
}

var neon = Gemm{Rows: 8, Cols: 8, Narrow: 4, tier: NEON}

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(t Tier) *Gemm {
	if t.float() == NEON {
		return &neon
	}
	return nil
}

// Run computes t, of 1 to Rows rows.
//
// It has a frame of its own, where the garbage collector can stop a loop over tiles; in assembly it cannot.
//
//go:noinline
func (g *Gemm) Run(t *Tile, rows int) {
	if !t.whole() {
		g.split(t, rows, false)
		return
	}
	if t.Ahead == nil {
		t.Ahead = t.Panel // it is there or about to be
	}
	gemmF32NEON(t, rows)
}

// RunNarrow is Run with a panel of Narrow columns.
//
//go:noinline
func (g *Gemm) RunNarrow(t *Tile, rows int) {
	if !t.whole() {
		g.split(t, rows, true)
		return
	}
	narrowF32NEON(t, rows)
}

// row has a frame of its own, like Run.
//
//go:noinline
func (g *Gemm) row(t *Tile) {
	rowF32NEON(t)
}

var mixedARM64 = []GemmMixed{{Rows: 8, Cols: 8, tier: NEON, Stored: StoredF16}, {Rows: 8, Cols: 8, tier: NEON, Stored: StoredBF16},
	{Rows: 8, Cols: 8, tier: NEON, Stored: StoredS8}, {Rows: 8, Cols: 8, tier: NEON, Stored: StoredQ8}, {Rows: 8, Cols: 8, tier: NEON, Stored: StoredQ4}}

// MixedOf are the tiles of t with panels that are stored so, nil where there are none.
func MixedOf(t Tier, s Stored) *GemmMixed { return mixedOf(mixedARM64, t, s) }

// run has a frame of its own, like Gemm.Run.
//
//go:noinline
func (g *GemmMixed) run(t *TileMixed, rows int) {
	switch g.Stored {
	case StoredQ8:
		mixedQ8NEON(t, rows)
	case StoredQ4:
		mixedQ4NEON(t, rows)
	case StoredS8:
		mixedS8NEON(&t.Tile, rows)
	case StoredBF16:
		mixedBF16NEON(&t.Tile, rows)
	default:
		mixedF16NEON(&t.Tile, rows)
	}
}

// widen has a frame of its own, too.
//
//go:noinline
func (g *GemmMixed) widen(t *TileMixed) {
	if g.Stored == StoredQ8 {
		widenQ8NEON(t)
		return
	}
	widenQ4NEON(t)
}

// TapsKernels are the kernels of t, nil for Scalar.
func TapsKernels(t Tier) *TapsF32 {
	if t.float() == NEON {
		return &tapsNEON
	}
	return nil
}

var tapsNEON = TapsF32{Lanes: 4, tier: NEON}

// call computes blocks of size vectors; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (f *TapsF32) call(t *Taps, size int, each bool) {
	switch large := size > 1; {
	case each && large:
		tapsEachX4NEON(t)
	case each:
		tapsEachX1NEON(t)
	case large:
		tapsLineX4NEON(t)
	default:
		tapsLineX1NEON(t)
	}
}

// run calls a kernel of size vectors a block; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (l *Largest) run(_ Tier, size int) {
	if size == 1 {
		largestX1NEON(l)
		return
	}
	largestX2NEON(l)
}

// squareSides are the sides of the squares of elements of size bytes that kernels transpose.
func squareSides(t Tier, size uintptr) []int {
	if t == Scalar || size >= uintptr(len(sidesNEON)) {
		return nil
	}
	return sidesNEON[size]
}

var sidesNEON = [...][]int{1: {16}, 2: {8}, 4: {4}}

// weaveBlocks is how many blocks the kernels of weaving do at a time.
const weaveBlocks = 1

// run does w, whose blocks have so many vectors; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (w *weaving) run(vectors int) { weaveNEON(w, vectors) }

// runSquares transposes squares; like Gemm.Run it has a frame of its own.
//
//go:noinline
func runSquares(_ int, size uintptr, a *transposition) {
	switch size {
	case 1:
		transposeBytesNEON(a)
	case 2:
		transposeHalvesNEON(a)
	default:
		transposeNEON(a)
	}
}
