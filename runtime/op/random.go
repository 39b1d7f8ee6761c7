package op

import (
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Generator makes the random numbers of an instance: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014). Equal seeds give equal numbers on every machine; they are not PyTorch's. Random operators draw one
// number for each element, in row-major order, one operator after the other.
type Generator struct{ state uint64 }

// NewGenerator is one with this seed.
func NewGenerator(seed uint64) *Generator { return &Generator{seed} }

// Next is the next 64 random bits.
func (r *Generator) Next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uniform is a number in [0, 1) of this many bits.
func (r *Generator) Uniform(bits int) float64 {
	return float64(float64(int64(r.Next()>>(64-bits))) * math.Float64frombits(uint64(1023-bits)<<52))
}

// Normal is a number of the standard normal distribution.
func (r *Generator) Normal() float64 {
	u := r.Uniform(53)
	return scalarmath.Normal(u, r.Uniform(53))
}

// Rand is aten::rand.out: uniform numbers in [0, 1).
var Rand = Def{
	Schema:     "aten::rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::rand", Infer: inferZeros, Key: KeyOut, Tags: Core | Random,
}

// Randn is aten::randn.out: numbers of the standard normal distribution.
var Randn = Def{
	Schema:     "aten::randn.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::randn", Infer: inferZeros, Key: KeyOut, Tags: Core | Random,
}

// precision is the bits of t's mantissa: a uniform number of as many is exact, and never rounded to 1.
func precision(t tensor.ScalarType) int {
	switch t {
	case tensor.Double:
		return 53
	case tensor.Half:
		return 11
	case tensor.BFloat16:
		return 8
	}
	return 24
}

func runRand(c *Call, _ State) error {
	out := c.Out[0]
	bits := precision(out.DType)
	if out.DType == tensor.Float {
		o := elems[float32](out)
		for i := range o {
			o[i] = float32(c.Rand.Uniform(bits))
		}
		return nil
	}
	for i := range out.Numel() {
		putFloat(out, i, c.Rand.Uniform(bits))
	}
	return nil
}

func runRandn(c *Call, _ State) error {
	out := c.Out[0]
	if out.DType == tensor.Float {
		o := elems[float32](out)
		for i := range o {
			u := c.Rand.Uniform(53)
			o[i] = scalarmath.Normal32(u, c.Rand.Uniform(53))
		}
		return nil
	}
	for i := range out.Numel() {
		putFloat(out, i, c.Rand.Normal())
	}
	return nil
}
