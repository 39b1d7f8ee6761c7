//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

func machineTiers() []Tier {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C:
		return nil
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return []Tier{AVX2}
	case !x.HasAVX512VNNI:
		return []Tier{AVX2, AVX512}
	}
	return []Tier{AVX2, AVX512, AVX512VNNI}
}

var (
	avx2   = Gemm{Rows: 6, Cols: 16, Narrow: 8, tier: AVX2}
	avx512 = Gemm{Rows: 12, Cols: 32, Narrow: 16, tier: AVX512}
)

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(t Tier) *Gemm {
	switch t.float() {
	case AVX512:
		return &avx512
	case AVX2:
		return &avx2
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
	if g.tier == AVX512 {
		gemmF32AVX512(t, rows)
		return
	}
	gemmF32AVX2(t, rows)
}

// RunNarrow is Run with a panel of Narrow columns.
//
//go:noinline
func (g *Gemm) RunNarrow(t *Tile, rows int) {
	if !t.whole() {
		g.split(t, rows, true)
		return
	}
	if g.tier == AVX512 {
		narrowF32AVX512(t, rows)
		return
	}
	narrowF32AVX2(t, rows)
}

// row has a frame of its own, like Run.
//
//go:noinline
func (g *Gemm) row(t *Tile) {
	if g.tier == AVX512 {
		rowF32AVX512(t)
		return
	}
	rowF32AVX2(t)
}

var mixedAMD64 = []GemmMixed{
	{Rows: 6, Cols: 16, tier: AVX2, Stored: StoredF16}, {Rows: 6, Cols: 16, tier: AVX2, Stored: StoredBF16},
	{Rows: 6, Cols: 16, tier: AVX2, Stored: StoredS8},
	{Rows: 12, Cols: 32, tier: AVX512, Stored: StoredF16}, {Rows: 12, Cols: 32, tier: AVX512, Stored: StoredBF16},
	{Rows: 6, Cols: 32, tier: AVX512, Stored: StoredS8},
	{Rows: 4, Cols: 16, tier: AVX2, Stored: StoredQ8}, {Rows: 4, Cols: 16, tier: AVX2, Stored: StoredQ4},
	{Rows: 6, Cols: 32, tier: AVX512, Stored: StoredQ8}, {Rows: 6, Cols: 32, tier: AVX512, Stored: StoredQ4},
}

// MixedOf are the tiles of t with panels that are stored so, nil where there are none.
func MixedOf(t Tier, s Stored) *GemmMixed { return mixedOf(mixedAMD64, t, s) }

// run has a frame of its own, like Gemm.Run.
//
//go:noinline
func (g *GemmMixed) run(t *TileMixed, rows int) {
	switch wide := g.tier == AVX512; {
	case wide && g.Stored == StoredQ8:
		mixedQ8AVX512(t, rows)
	case wide && g.Stored == StoredQ4:
		mixedQ4AVX512(t, rows)
	case wide && g.Stored == StoredS8:
		mixedS8AVX512(&t.Tile, rows)
	case wide && g.Stored == StoredBF16:
		mixedBF16AVX512(&t.Tile, rows)
	case wide:
		mixedF16AVX512(&t.Tile, rows)
	case g.Stored == StoredQ8:
		mixedQ8AVX2(t, rows)
	case g.Stored == StoredQ4:
		mixedQ4AVX2(t, rows)
	case g.Stored == StoredS8:
		mixedS8AVX2(&t.Tile, rows)
	case g.Stored == StoredBF16:
		mixedBF16AVX2(&t.Tile, rows)
	default:
		mixedF16AVX2(&t.Tile, rows)
	}
}

// widen has a frame of its own, too.
//
//go:noinline
func (g *GemmMixed) widen(t *TileMixed) {
	switch wide := g.tier == AVX512; {
	case wide && g.Stored == StoredQ8:
		widenQ8AVX512(t)
	case wide:
		widenQ4AVX512(t)
	case g.Stored == StoredQ8:
		widenQ8AVX2(t)
	default:
		widenQ4AVX2(t)
	}
}

// TapsKernels are the kernels of t, nil for Scalar.
func TapsKernels(t Tier) *TapsF32 {
	switch t.float() {
	case AVX512:
		return &tapsAVX512
	case AVX2:
		return &tapsAVX2
	}
	return nil
}

var (
	tapsAVX2   = TapsF32{Lanes: 8, tier: AVX2}
	tapsAVX512 = TapsF32{Lanes: 16, tier: AVX512}
)

// call computes blocks of size vectors; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (f *TapsF32) call(t *Taps, size int, each bool) {
	wide, large := f.tier == AVX512, size > 1
	switch {
	case wide && each && large:
		tapsEachX4AVX512(t)
	case wide && each:
		tapsEachX1AVX512(t)
	case wide && large:
		tapsLineX4AVX512(t)
	case wide:
		tapsLineX1AVX512(t)
	case each && large:
		tapsEachX4AVX2(t)
	case each:
		tapsEachX1AVX2(t)
	case large:
		tapsLineX4AVX2(t)
	default:
		tapsLineX1AVX2(t)
	}
}

// run calls a kernel of size vectors a block; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (l *Largest) run(t Tier, size int) {
	switch {
	case t == AVX2 && size == 1:
		largestX1AVX2(l)
	case t == AVX2:
		largestX2AVX2(l)
	case size == 1:
		largestX1AVX512(l)
	default:
		largestX2AVX512(l)
	}
}

// squareSides are the sides of the squares of elements of size bytes that kernels transpose, the larger ones first.
func squareSides(t Tier, size uintptr) []int {
	switch {
	case t == Scalar:
		return nil
	case size == 1 || size == 2:
		return sixteen
	case size != 4:
		return nil
	case t == AVX2:
		return wordsAVX2
	}
	return wordsAVX512
}

// weaveBlocks is how many blocks the kernels of weaving do at a time.
const weaveBlocks = 2

// run does w, whose blocks have so many vectors; like Gemm.Run it has a frame of its own.
//
//go:noinline
func (w *weaving) run(vectors int) { weaveAVX2(w, vectors) }

var sixteen, wordsAVX2, wordsAVX512 = []int{16}, []int{8}, []int{16, 8}

// runSquares transposes squares of this side; like Gemm.Run it has a frame of its own.
//
//go:noinline
func runSquares(side int, size uintptr, a *transposition) {
	switch {
	case size == 1:
		transposeBytesAVX2(a)
	case size == 2:
		transposeHalvesAVX2(a)
	case side == 16:
		transposeAVX512(a)
	default:
		transposeAVX2(a)
	}
}
