//go:build purego || !(amd64 || arm64 || (wasm && wasmsimd))

package kernel

func machineTiers() []Tier { return nil }

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(Tier) *Gemm { return nil }

// Run has nothing to run: there is no Gemm.
func (g *Gemm) Run(*Tile, int) {}

// RunNarrow has nothing to run either.
func (g *Gemm) RunNarrow(*Tile, int) {}

func (g *Gemm) row(*Tile) {}

// MixedOf is nil: all panels are float32.
func MixedOf(Tier, Stored) *GemmMixed { return nil }

func (g *GemmMixed) run(*TileMixed, int) {}

func (g *GemmMixed) widen(*TileMixed) {}

// TapsKernels are the kernels of t, nil for Scalar.
func TapsKernels(Tier) *TapsF32 { return nil }

func (f *TapsF32) call(*Taps, int, bool) {}

func (l *Largest) run(Tier, int) {}

// squareSides is empty: no kernel transposes squares.
func squareSides(Tier, uintptr) []int { return nil }

func runSquares(int, uintptr, *transposition) {}

// weaveBlocks is 0: no kernel weaves.
const weaveBlocks = 0

func (w *weaving) run(int) {}
