//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

func machineTier() Tier {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Scalar
}

var (
	avx2   = Gemm{Rows: 6, Cols: 16, tier: AVX2}
	avx512 = Gemm{Rows: 8, Cols: 32, tier: AVX512}
)

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(t Tier) *Gemm {
	switch t {
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
	if g.tier == AVX512 {
		gemmF32AVX512(t, rows)
		return
	}
	gemmF32AVX2(t, rows)
}
