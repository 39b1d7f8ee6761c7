//go:build purego || !(amd64 || arm64)

package kernel

func machineTier() Tier { return Scalar }

// GemmF32 are the tiles of t, nil for Scalar.
func GemmF32(Tier) *Gemm { return nil }

// Run has nothing to run: there is no Gemm.
func (g *Gemm) Run(*Tile, int) {}
