// Package kernel has the micro-kernels that operators and delegates share.
//
// Their assembly is generated, see runtime/kernel/gen; the tag purego leaves it out. Everything here is about one
// block of one operation: who calls says which blocks there are, in what order and on which threads.
//
//go:generate go run ./gen
package kernel

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Tier is a set of instructions that kernels are written for.
type Tier uint8

// The tiers. Scalar is portable Go, which gives the same bits on every machine.
const (
	Scalar     Tier = iota
	AVX2            // amd64 with AVX2, FMA and F16C
	AVX512          // amd64 with AVX-512 F, BW, DQ and VL
	AVX512VNNI      // the same with VNNI, which multiplies integers of 8 bits
	NEON            // arm64
	NEONDot         // the same with the instructions of dot products
	WASM            // WebAssembly with vectors; see runtime/kernel/wasm
)

var tierNames = [...]string{"scalar", "avx2", "avx512", "avx512vnni", "neon", "neondot", "wasm"}

// String is the tier's name, as TierVar has it.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return "tier " + strconv.Itoa(int(t))
}

// float is the tier whose kernels of floating-point numbers t uses: what it has beyond that is for integers.
func (t Tier) float() Tier {
	switch t {
	case AVX512VNNI:
		return AVX512
	case NEONDot:
		return NEON
	}
	return t
}

// Narrow is t or, where n elements fill no vector of it, a tier with smaller vectors that its machines have, too.
func (t Tier) Narrow(n int) Tier {
	if t.float() == AVX512 && n < lanesOf(AVX512) {
		return AVX2
	}
	return t
}

// TierVar is the environment variable that caps the tier, for example PTE_ISA=avx2.
const TierVar = "PTE_ISA"

// Tiers are the tiers of this machine, the best one last; Scalar is the first. TierVar plays no part.
func Tiers() []Tier { return append([]Tier{Scalar}, machineTiers()...) }

// TierError says that TierVar names no tier of any machine, and which there are, or is nil.
func TierError() error {
	want := os.Getenv(TierVar)
	if want == "" || slices.Contains(tierNames[:], want) {
		return nil
	}
	return errors.New(TierVar + " is " + strconv.Quote(want) + ", want one of " + strings.Join(tierNames[:], ", "))
}

// Best is the best tier of this machine that TierVar allows. A name that is no tier of this machine counts as scalar.
func Best() Tier {
	list := Tiers()
	want, ok := os.LookupEnv(TierVar)
	if !ok || want == "" {
		return list[len(list)-1]
	}
	for _, t := range list {
		if t.String() == want {
			return t
		}
	}
	return Scalar
}
