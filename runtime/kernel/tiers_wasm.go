//go:build wasm && wasmsimd && !purego

package kernel

//go:wasmimport pte available
func available() int32

func machineTiers() []Tier {
	if available() != 0 {
		return []Tier{WASM}
	}
	return nil
}

var (
	gemmWASM = Gemm{Rows: 4, Cols: 8, Narrow: 4, tier: WASM}
	tapsWASM = TapsF32{Lanes: 4, tier: WASM}
)

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(t Tier) *Gemm {
	if t == WASM {
		return &gemmWASM
	}
	return nil
}

// Run computes t, of 1 to Rows rows.
func (g *Gemm) Run(t *Tile, rows int) {
	if !t.whole() {
		g.split(t, rows, false)
		return
	}
	gemmF32WASM(t, rows)
}

// RunNarrow computes t, of 1 to Rows rows, with a panel of Narrow columns.
func (g *Gemm) RunNarrow(t *Tile, rows int) {
	if !t.whole() {
		g.split(t, rows, true)
		return
	}
	narrowF32WASM(t, rows)
}

func (g *Gemm) row(t *Tile) { rowF32WASM(t) }

var mixedWASM = []GemmMixed{{Rows: 4, Cols: 8, tier: WASM, Stored: StoredS8}, {Rows: 4, Cols: 8, tier: WASM, Stored: StoredQ8},
	{Rows: 4, Cols: 8, tier: WASM, Stored: StoredQ4}}

// MixedOf are the tiles of t with panels that are stored so, nil where there are none.
func MixedOf(t Tier, s Stored) *GemmMixed { return mixedOf(mixedWASM, t, s) }

func (g *GemmMixed) run(t *TileMixed, rows int) {
	switch g.Stored {
	case StoredQ8:
		mixedQ8WASM(t, rows)
	case StoredQ4:
		mixedQ4WASM(t, rows)
	default:
		mixedS8WASM(&t.Tile, rows)
	}
}

func (g *GemmMixed) widen(t *TileMixed) {
	if g.Stored == StoredQ8 {
		widenQ8WASM(t)
		return
	}
	widenQ4WASM(t)
}

// TapsKernels are the kernels of t, nil for Scalar.
func TapsKernels(t Tier) *TapsF32 {
	if t == WASM {
		return &tapsWASM
	}
	return nil
}

// call computes blocks of size vectors.
func (f *TapsF32) call(t *Taps, size int, each bool) {
	switch large := size > 1; {
	case each && large:
		tapsEachX4WASM(t)
	case each:
		tapsEachX1WASM(t)
	case large:
		tapsLineX4WASM(t)
	default:
		tapsLineX1WASM(t)
	}
}

func (l *Largest) run(_ Tier, size int) {
	if size == 1 {
		largestX1WASM(l)
		return
	}
	largestX2WASM(l)
}

// squareSides are the sides of the squares of elements of size bytes that kernels transpose.
func squareSides(t Tier, size uintptr) []int {
	if t == Scalar || size >= uintptr(len(sidesWASM)) {
		return nil
	}
	return sidesWASM[size]
}

var sidesWASM = [...][]int{1: {16}, 2: {8}, 4: {4}}

func runSquares(_ int, size uintptr, a *transposition) {
	switch size {
	case 1:
		transposeBytesWASM(a)
	case 2:
		transposeHalvesWASM(a)
	default:
		transposeWASM(a)
	}
}

// weaveBlocks is how many blocks the kernels of weaving do at a time.
const weaveBlocks = 1

// run does w, whose blocks have so many vectors.
func (w *weaving) run(vectors int) { weaveWASM(w, vectors) }
