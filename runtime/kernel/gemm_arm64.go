//go:build !purego

package kernel

func machineTier() Tier { return NEON }

var neon = Gemm{Rows: 8, Cols: 8, tier: NEON}

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(t Tier) *Gemm {
	if t == NEON {
		return &neon
	}
	return nil
}

// Run computes t, of 1 to Rows rows.
//
// It has a frame of its own, where the garbage collector can stop a loop over tiles; in assembly it cannot.
//
//go:noinline
func (g *Gemm) Run(t *Tile, rows int) { gemmF32NEON(t, rows) }
