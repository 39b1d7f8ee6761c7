package avx512

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func float(x uint32) float32 { return math.Float32frombits(x) }
func bits(x float32) uint32  { return math.Float32bits(x) }

// fma is x·y + z, rounded once. The product is a float64; so that its sum with z is not rounded to the nearest one twice, it is rounded to
// the odd one of the two float64 beside it first.
func fma(x, y, z float32) float32 {
	p, q := float64(x)*float64(y), float64(z)
	sum := p + q
	part := sum - p
	rest := p - (sum - part) + (q - part) // what the sum lacks; NaN if the sum is no finite number
	if b := math.Float64bits(sum); b&1 == 0 {
		switch {
		case rest > 0 && sum > 0, rest < 0 && sum < 0:
			sum = math.Float64frombits(b + 1)
		case rest > 0 && sum < 0, rest < 0 && sum > 0:
			sum = math.Float64frombits(b - 1)
		}
	}
	return float32(sum)
}

// floats2 are the instructions on two vectors of float32, the second operand first as Intel's manual has them.
var floats2 = map[string]func(x, y float32) float32{
	"VADDPS": func(x, y float32) float32 { return x + y },
	"VSUBPS": func(x, y float32) float32 { return x - y },
	"VMULPS": func(x, y float32) float32 { return x * y },
	"VDIVPS": func(x, y float32) float32 { return x / y },
	"VMAXPS": func(x, y float32) float32 {
		if x > y {
			return x
		}
		return y
	},
	"VMINPS": func(x, y float32) float32 {
		if x < y {
			return x
		}
		return y
	},
	"VSCALEFPS": scale,
}

// scale is x·2^⌊y⌋, with the manual's special cases.
func scale(x, y float32) float32 {
	inf := float32(math.Inf(1))
	switch {
	case y != y || y == inf && x == 0 || y == -inf && (x == inf || x == -inf):
		return float32(math.NaN())
	case x != x && y == -inf:
		return 0
	case x != x && y == inf:
		return inf
	}
	return float32(math.Ldexp(float64(x), int(min(max(math.Floor(float64(y)), -2000), 2000))))
}

// words2 are those on two vectors of words.
var words2 = map[string]func(x, y uint32) uint32{
	"VPADDD":  func(x, y uint32) uint32 { return x + y },
	"VPSUBD":  func(x, y uint32) uint32 { return x - y },
	"VPMULLD": func(x, y uint32) uint32 { return x * y },
	"VXORPS":  func(x, y uint32) uint32 { return x ^ y },
	"VANDPS":  func(x, y uint32) uint32 { return x & y },
	"VANDNPS": func(x, y uint32) uint32 { return ^x & y },
	"VORPS":   func(x, y uint32) uint32 { return x | y },
	"VPADDB":  func(x, y uint32) uint32 { return eachByte(x, y, func(a, b byte) byte { return a + b }) },
	"VPSUBB":  func(x, y uint32) uint32 { return eachByte(x, y, func(a, b byte) byte { return a - b }) },
	"VPMINUB": func(x, y uint32) uint32 { return eachByte(x, y, func(a, b byte) byte { return min(a, b) }) },
	"VPMAXSB": func(x, y uint32) uint32 {
		return eachByte(x, y, func(a, b byte) byte { return byte(max(int8(a), int8(b))) })
	},
	"VPMADDWD":   func(x, y uint32) uint32 { return pairs(x, y) },
	"VPMADDUBSW": bytePairs,
}

func eachByte(x, y uint32, f func(a, b byte) byte) (z uint32) {
	for i := 0; i < 32; i += 8 {
		z |= uint32(f(byte(x>>i), byte(y>>i))) << i
	}
	return z
}

// pairs is the sum of the products of two int16 each.
func pairs(x, y uint32) uint32 {
	return uint32(int32(int16(x))*int32(int16(y)) + int32(int16(x>>16))*int32(int16(y>>16)))
}

// bytePairs is, for each half, the sum of the products of two uint8 of x with two int8 of y, as an int16 that saturates.
func bytePairs(x, y uint32) (z uint32) {
	for i := 0; i < 32; i += 16 {
		sum := int(byte(x>>i))*int(int8(y>>i)) + int(byte(x>>(i+8)))*int(int8(y>>(i+8)))
		z |= uint32(uint16(min(max(sum, math.MinInt16), math.MaxInt16))) << i
	}
	return z
}

// bytesSum is the sum of the products of four uint8 of x with four int8 of y.
func bytesSum(x, y uint32) (sum uint32) {
	for i := 0; i < 32; i += 8 {
		sum += uint32(int32(byte(x>>i)) * int32(int8(y>>i)))
	}
	return sum
}

// words1 are the instructions on one vector.
var words1 = map[string]func(x uint32) uint32{
	"VMOVAPS":   func(x uint32) uint32 { return x },
	"VSQRTPS":   func(x uint32) uint32 { return bits(float32(math.Sqrt(float64(float(x))))) },
	"VCVTDQ2PS": func(x uint32) uint32 { return bits(float32(int32(x))) },
	"VCVTPS2DQ": func(x uint32) uint32 {
		if f := math.RoundToEven(float64(float(x))); f >= math.MinInt32 && f <= math.MaxInt32 {
			return uint32(int32(f))
		}
		return 1 << 31
	},
	"VRCP14PS": func(x uint32) uint32 { // with as many digits as the instruction promises
		r := bits(1 / float(x))
		if f := float(r); f != f || math.IsInf(float64(f), 0) {
			return r
		}
		return (r + 1<<8) &^ (1<<9 - 1)
	},
}

// wordsN are those on one vector and a number.
var wordsN = map[string]func(n int, x uint32) uint32{
	"VPSLLD": func(n int, x uint32) uint32 { return x << n },
	"VPSRLD": func(n int, x uint32) uint32 { return x >> n },
	"VPSRAD": func(n int, x uint32) uint32 { return uint32(int32(x) >> n) },
	"VRNDSCALEPS": func(n int, x uint32) uint32 {
		round := [4]func(float64) float64{math.RoundToEven, math.Floor, math.Ceil, math.Trunc}[n&3]
		return bits(float32(round(float64(float(x)))))
	},
}

// places1 are the instructions that move the words of one vector: each comes from the place that they give.
var places1 = map[string]func(n, i int) int{
	"VPERMILPS": func(n, i int) int { return i&^3 + n>>(2*(i&3))&3 },
}

// places2 are those of two vectors; places from 16 on are in the second one.
var places2 = map[string]func(n, i int) int{
	"VUNPCKLPS":  func(_, i int) int { return i&^3 + i&3/2 + 16*(i&1) },
	"VUNPCKHPS":  func(_, i int) int { return i&^3 + 2 + i&3/2 + 16*(i&1) },
	"VUNPCKLPD":  func(_, i int) int { return i&^3 + i&1 + 16*(i&2/2) },
	"VUNPCKHPD":  func(_, i int) int { return i&^3 + 2 + i&1 + 16*(i&2/2) },
	"VSHUFF64X2": func(n, i int) int { return 4*(n>>(2*(i/4))&3) + i&3 + 16*(i/8) },
}

// widens are the instructions that make a word of each element of memory, and the bytes of that.
var widens = map[string]struct {
	bytes int
	word  func(b []byte) uint32
}{
	"VPMOVZXWD": {2, func(b []byte) uint32 { return uint32(binary.LittleEndian.Uint16(b)) }},
	"VCVTPH2PS": {2, func(b []byte) uint32 { return bits(tensor.HalfToFloat32(binary.LittleEndian.Uint16(b))) }},
	"VPMOVSXBD": {1, func(b []byte) uint32 { return uint32(int32(int8(b[0]))) }},
	"VPMOVZXBD": {1, func(b []byte) uint32 { return uint32(b[0]) }},
	"VPMOVSXBW": {2, func(b []byte) uint32 { return uint32(uint16(int8(b[0]))) | uint32(uint16(int8(b[1])))<<16 }},
}

// narrows are those that write an element for each word.
var narrows = map[string]struct {
	bytes int
	from  func(x uint32) uint32
}{
	"VPMOVDB":   {1, func(x uint32) uint32 { return x }},
	"VPMOVDW":   {2, func(x uint32) uint32 { return x }},
	"VCVTPS2PH": {2, half},
}

// half is a float32 as a float16; NaN keeps the upper bits of its payload, and is quiet.
func half(x uint32) uint32 {
	if f := float(x); f == f {
		return uint32(tensor.Float32ToHalf(f))
	}
	return x>>16&0x8000 | 0x7e00 | x>>13&0x3ff
}

// compares are the comparisons by their number.
var compares = map[int]func(x, y float32) bool{
	0x00: func(x, y float32) bool { return x == y },
	0x11: func(x, y float32) bool { return x < y },
	0x12: func(x, y float32) bool { return x <= y },
	0x15: func(x, y float32) bool { return !(x < y) },
}

// vectorStep is an instruction on vectors; nil if op is none, or none on such operands. The assembler has operands in the order opposite to
// the manual's.
func vectorStep(op string, o []operand) func(c *cpu) {
	if plain, ok := strings.CutSuffix(op, ".BCST"); ok {
		op = plain
		at := slices.IndexFunc(o, func(o operand) bool { return o.kind == 'm' })
		if at < 0 {
			return nil
		}
		o[at].kind = 'b'
	}
	number, all := 0, o
	is := func(form string) bool { return fits(form, all) }
	if len(o) > 0 && o[0].kind == '$' {
		number, o = o[0].n, o[1:]
	}
	for _, make := range []func(op string, is func(form string) bool, number int, o []operand) func(c *cpu){lanesStep, sumsStep, placesStep, memoryStep, masksStep, doublesStep} {
		if do := make(op, is, number, o); do != nil {
			return do
		}
	}
	return nil
}

// lanesStep is an instruction that computes word by word; is reports whether its operands have a form that fits knows.
func lanesStep(op string, is func(form string) bool, number int, o []operand) func(c *cpu) {
	last := len(o) - 1
	one := func(f func(x uint32) uint32) func(c *cpu) {
		return func(c *cpu) {
			x := c.value(&o[0], 0)
			for i := range x {
				c.z[o[last].n][i] = f(x[i])
			}
		}
	}
	two := func(f func(x, y uint32) uint32) func(c *cpu) {
		return func(c *cpu) {
			y, x, to := c.value(&o[0], 0), c.value(&o[1], 1), &c.z[o[last].n]
			for i := range to {
				to[i] = f(x[i], y[i])
			}
		}
	}
	if f := words1[op]; f != nil && is("vz") {
		return one(f)
	}
	if f := wordsN[op]; f != nil && is("$vz") && (op != "VRNDSCALEPS" || number>>2 == 2) {
		return one(func(x uint32) uint32 { return f(number, x) })
	}
	if f := words2[op]; f != nil && is("vzz") {
		return two(f)
	}
	if f := floats2[op]; f != nil && is("vzz") {
		return two(func(x, y uint32) uint32 { return bits(f(float(x), float(y))) })
	}
	if !is("$vzz") {
		return nil
	}
	switch op {
	case "VRANGEPS": // the smaller absolute value, with the sign of the first operand
		if number != 2 {
			return nil
		}
		return two(func(x, y uint32) uint32 {
			a, b := float(x&^(1<<31)), float(y&^(1<<31))
			if a != a || b < a {
				a = b
			}
			return bits(a) | x&(1<<31)
		})
	case "VPTERNLOGD":
		return func(c *cpu) {
			z, y, x := c.value(&o[0], 0), c.value(&o[1], 1), &c.z[o[2].n]
			for i := range x {
				var r uint32
				for k := range 8 {
					if number>>k&1 != 0 {
						r |= invert(x[i], k&4 == 0) & invert(y[i], k&2 == 0) & invert(z[i], k&1 == 0)
					}
				}
				x[i] = r
			}
		}
	}
	return nil
}

func invert(x uint32, yes bool) uint32 {
	if yes {
		return ^x
	}
	return x
}

// sumsStep is an instruction that adds products to its last operand, or the other way round.
func sumsStep(op string, is func(form string) bool, _ int, o []operand) func(c *cpu) {
	f := map[string]func(x, y, z uint32) uint32{
		"VFMADD231PS":  func(x, y, z uint32) uint32 { return bits(fma(float(x), float(y), float(z))) },
		"VFNMADD231PS": func(x, y, z uint32) uint32 { return bits(fma(-float(x), float(y), float(z))) },
		"VFMADD213PS":  func(x, y, z uint32) uint32 { return bits(fma(float(y), float(z), float(x))) },
		"VPDPBUSD":     func(x, y, z uint32) uint32 { return z + bytesSum(y, x) },
		"VPDPWSSD":     func(x, y, z uint32) uint32 { return z + pairs(x, y) },
	}[op]
	if f == nil || !is("vzz") {
		return nil
	}
	return func(c *cpu) {
		x, y, z := c.value(&o[0], 0), c.value(&o[1], 1), &c.z[o[2].n]
		for i := range z {
			z[i] = f(x[i], y[i], z[i])
		}
	}
}

// placesStep is an instruction that moves words.
func placesStep(op string, is func(form string) bool, number int, o []operand) func(c *cpu) {
	if f := places1[op]; f != nil && is("$vz") {
		return func(c *cpu) {
			x := *c.value(&o[0], 0)
			for i := range x {
				c.z[o[1].n][i] = x[f(number, i)]
			}
		}
	}
	if f := places2[op]; f != nil && (is("vzz") || is("$vzz")) {
		return func(c *cpu) {
			y, x := *c.value(&o[0], 0), *c.value(&o[1], 1)
			for i := range x {
				if at := f(number, i); at < 16 {
					c.z[o[2].n][i] = x[at]
				} else {
					c.z[o[2].n][i] = y[at-16]
				}
			}
		}
	}
	switch {
	case op == "VPERMPS" && is("vzz"):
		return func(c *cpu) {
			x, at := *c.value(&o[0], 0), *c.value(&o[1], 1)
			for i := range x {
				c.z[o[2].n][i] = x[at[i]&15]
			}
		}
	case op == "VPSHUFB" && is("vzz"):
		return func(c *cpu) {
			at, x := *c.value(&o[0], 0), *c.value(&o[1], 1)
			for i := range x {
				c.z[o[2].n][i] = shuffled(x[i&^3:][:4], at[i])
			}
		}
	case op == "VINSERTF32X4" && is("$mzz") && number < 4:
		return func(c *cpu) {
			part, x := *pointerTo[[4]uint32](c.address(&o[0])), *c.value(&o[1], 1)
			copy(x[4*number:], part[:])
			c.z[o[2].n] = x
		}
	}
	return nil
}

// shuffled has the bytes of four words that the bytes of at name; those with the upper bit name none.
func shuffled(x []uint32, at uint32) (y uint32) {
	for i := 0; i < 32; i += 8 {
		if k := at >> i; k&0x80 == 0 {
			y |= x[k&15/4] >> (8 * (k & 3)) & 0xff << i
		}
	}
	return y
}

// memoryStep is an instruction that reads or writes memory.
func memoryStep(op string, is func(form string) bool, number int, o []operand) func(c *cpu) {
	if w, ok := widens[op]; ok && is("mz") {
		return func(c *cpu) {
			from := unsafe.Slice(pointerTo[byte](c.address(&o[0])), 16*w.bytes)
			for i := range c.z[o[1].n] {
				c.z[o[1].n][i] = w.word(from[i*w.bytes:])
			}
		}
	}
	if w, ok := narrows[op]; ok && (is("zm") || is("$zm") && number == 0) {
		return func(c *cpu) {
			to := unsafe.Slice(pointerTo[byte](c.address(&o[1])), 16*w.bytes)
			for i, x := range c.z[o[0].n] {
				if x = w.from(x); w.bytes == 1 {
					to[i] = byte(x)
				} else {
					binary.LittleEndian.PutUint16(to[2*i:], uint16(x))
				}
			}
		}
	}
	switch {
	case op == "VPMOVQD" && is("zm"):
		return func(c *cpu) {
			to := pointerTo[[8]uint32](c.address(&o[1]))
			for i := range to {
				to[i] = c.z[o[0].n][2*i]
			}
		}
	case op == "VBROADCASTSS" && is("mz"):
		return func(c *cpu) { c.z[o[1].n].fill(*pointerTo[uint32](c.address(&o[0]))) }
	case op == "VMOVSS" && is("xm"):
		return func(c *cpu) { *pointerTo[uint32](c.address(&o[1])) = c.z[o[0].n][0] }
	case op != "VMOVUPS":
		return nil
	case is("zm"):
		return func(c *cpu) { *pointerTo[vec](c.address(&o[1])) = c.z[o[0].n] }
	case is("ym"):
		return func(c *cpu) { *pointerTo[[8]uint32](c.address(&o[1])) = [8]uint32(c.z[o[0].n][:8]) }
	case is("xm"):
		return func(c *cpu) { *pointerTo[[4]uint32](c.address(&o[1])) = [4]uint32(c.z[o[0].n][:4]) }
	case is("mx"):
		return func(c *cpu) {
			c.z[o[1].n] = vec{}
			*(*[4]uint32)(c.z[o[1].n][:4]) = *pointerTo[[4]uint32](c.address(&o[0]))
		}
	case is("mz"):
		return func(c *cpu) { c.z[o[1].n] = *c.value(&o[0], 0) }
	}
	return nil
}

// masksStep is an instruction on masks.
func masksStep(op string, is func(form string) bool, number int, o []operand) func(c *cpu) {
	switch {
	case op == "KMOVW" && is("mk"):
		return func(c *cpu) { c.k[o[1].n] = *pointerTo[uint16](c.address(&o[0])) }
	case op == "KNOTW" && is("kk"):
		return func(c *cpu) { c.k[o[1].n] = ^c.k[o[0].n] }
	case op == "VMOVUPS.Z" && is("mkz"): // nothing is read where the mask is 0
		return func(c *cpu) {
			for i := range c.z[o[2].n] {
				if c.z[o[2].n][i] = 0; c.k[o[1].n]>>i&1 != 0 {
					c.z[o[2].n][i] = *pointerTo[uint32](c.address(&o[0]) + uint64(4*i))
				}
			}
		}
	case op == "VMOVUPS" && is("zkm"):
		return func(c *cpu) {
			for i, x := range c.z[o[0].n] {
				if c.k[o[1].n]>>i&1 != 0 {
					*pointerTo[uint32](c.address(&o[2]) + uint64(4*i)) = x
				}
			}
		}
	case op == "VCMPPS" && is("$vzk") && compares[number] != nil:
		f := compares[number]
		return func(c *cpu) {
			y, x := c.value(&o[0], 0), c.value(&o[1], 1)
			c.k[o[2].n] = 0
			for i := range x {
				if f(float(x[i]), float(y[i])) {
					c.k[o[2].n] |= 1 << i
				}
			}
		}
	case op == "VPMOVM2D" && is("kz"):
		return func(c *cpu) {
			for i := range c.z[o[1].n] {
				c.z[o[1].n][i] = -uint32(c.k[o[0].n] >> i & 1)
			}
		}
	case op == "VSCALEFPS.Z" && is("vzkz"):
		return func(c *cpu) {
			y, x, to := c.value(&o[0], 0), c.value(&o[1], 1), &c.z[o[3].n]
			for i := range to {
				if r := bits(scale(float(x[i]), float(y[i]))); c.k[o[2].n]>>i&1 != 0 {
					to[i] = r
				} else {
					to[i] = 0
				}
			}
		}
	}
	return nil
}

// doublesStep is an instruction on float64.
func doublesStep(op string, is func(form string) bool, _ int, o []operand) func(c *cpu) {
	at := func(v *vec, i int) float64 {
		return math.Float64frombits(uint64(v[2*i]) | uint64(v[2*i+1])<<32)
	}
	set := func(v *vec, i int, x float64) {
		b := math.Float64bits(x)
		v[2*i], v[2*i+1] = uint32(b), uint32(b>>32)
	}
	switch {
	case op == "VBROADCASTSD" && is("mz"):
		return func(c *cpu) {
			x := *pointerTo[float64](c.address(&o[0]))
			for i := range 8 {
				set(&c.z[o[1].n], i, x)
			}
		}
	case op == "VCVTTPS2QQ" && is("yz"):
		return func(c *cpu) {
			x, z := c.z[o[0].n], &c.z[o[1].n]
			for i := range 8 {
				n := uint64(1 << 63)
				if v := math.Float32frombits(x[i]); v >= -0x1p63 && v < 0x1p63 {
					n = uint64(int64(v))
				}
				z[2*i], z[2*i+1] = uint32(n), uint32(n>>32)
			}
		}
	case op == "VCVTQQ2PS" && is("zy"):
		return func(c *cpu) {
			x := c.z[o[0].n]
			c.z[o[1].n] = vec{}
			for i := range 8 {
				c.z[o[1].n][i] = math.Float32bits(float32(int64(uint64(x[2*i]) | uint64(x[2*i+1])<<32)))
			}
		}
	case op == "VCVTPS2PD" && is("mz"):
		return func(c *cpu) {
			x := *pointerTo[[8]float32](c.address(&o[0]))
			for i := range x {
				set(&c.z[o[1].n], i, float64(x[i]))
			}
		}
	}
	f := map[string]func(x, y, z float64) float64{
		"VADDPD":      func(x, y, _ float64) float64 { return y + x },
		"VSUBPD":      func(x, y, _ float64) float64 { return y - x },
		"VFMADD231PD": math.FMA,
	}[op]
	if f == nil || !is("zzz") {
		return nil
	}
	return func(c *cpu) {
		x, y, z := c.value(&o[0], 0), c.value(&o[1], 1), &c.z[o[2].n]
		for i := range 8 {
			set(z, i, f(at(x, i), at(y, i), at(z, i)))
		}
	}
}
