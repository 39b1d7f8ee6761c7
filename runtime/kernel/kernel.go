// Package kernel has the micro-kernels that operators and delegates share.
//
// Their assembly is generated, see runtime/kernel/gen; the tag purego leaves it out. Everything here is about one
// block of one operation: who calls says which blocks there are, in what order and on which threads.
//
//go:generate go run ./gen
package kernel

import (
	"os"
	"strconv"
)

// Tier is a set of instructions that kernels are written for.
type Tier uint8

// The tiers. Scalar is portable Go, which gives the same bits on every machine.
const (
	Scalar Tier = iota
	AVX2        // amd64 with AVX2 and FMA
	AVX512      // amd64 with AVX-512 F, BW, DQ and VL
	NEON        // arm64
)

var tierNames = [...]string{"scalar", "avx2", "avx512", "neon"}

// String is the tier's name, as TierVar has it.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return "tier " + strconv.Itoa(int(t))
}

// TierVar is the environment variable that caps the tier, for example PTE_ISA=avx2.
const TierVar = "PTE_ISA"

// Best is the best tier of this machine that TierVar allows. A name that is no tier of this machine counts as scalar.
func Best() Tier {
	best := machineTier()
	want, ok := os.LookupEnv(TierVar)
	if !ok || want == "" || best == Scalar {
		return best
	}
	for t := best; t > Scalar; t-- {
		if t.String() == want {
			return t
		}
	}
	return Scalar
}
