package scalarmath

import "math"

// normalBound is more than what the steps of Normal32 are off by, as a part of the radius: that is about 2⁻³⁷.
const normalBound = 0x1p-34

// Normal is √(-2·log(1-u))·cos(2πv) for u and v of [0, 1), by Box and Muller's method.
func Normal(u, v float64) float64 {
	radius := math.Sqrt(-2 * log(1-u))
	return float64(radius * cos(2*math.Pi*v))
}

// Normal32 is Normal rounded to float32: from fewer steps, unless what these leave open may round to another number.
func Normal32(u, v float64) float32 {
	if u >= 0x1p-16 {
		radius := math.Sqrt(-2 * log32(1-u))
		x, e := float64(radius*turn32(v)), float64(radius*normalBound)
		if float32(x-e) == float32(x+e) {
			return float32(x)
		}
	}
	return float32(Normal(u, v))
}

// turn32 is cos(2πv) for v of [0, 1). It takes no branch, of which a random v would take now this, now that.
func turn32(v float64) float64 {
	quarters := float64(4 * v)
	k, n := nearest(quarters)
	r := float64((quarters - k) * halfPi1)
	s, c := sinPart32(r), cosPart32(r)
	return [4]float64{c, -s, -c, s}[n&3]
}
