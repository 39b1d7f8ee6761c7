package scalarmath

import (
	"math"
	"math/rand"
	"testing"
)

// TestNormal32 holds numbers from fewer steps against the others, also small ones and those at zeros of the cosine.
func TestNormal32(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	worst := 0.0
	for i := range 2_000_000 {
		u, v := float64(r.Uint64()>>11)*0x1p-53, float64(r.Uint64()>>11)*0x1p-53
		switch i % 8 {
		case 0:
			u = math.Ldexp(u, -i%53)
		case 1:
			u = min(1-math.Ldexp(1-u, -i%50), 1-0x1p-53)
		case 2:
			v = float64(i/8%8)/8 + math.Ldexp(v, -2-i/64%50)
		}
		v -= math.Floor(v)
		if got, want := Normal32(u, v), float32(Normal(u, v)); got != want || math.Signbit(float64(got)) != math.Signbit(float64(want)) {
			t.Fatalf("Normal32(%v, %v) = %v, want %v", u, v, got, want)
		}
		if u >= 0x1p-16 {
			radius := math.Sqrt(-2 * log32(1-u))
			worst = max(worst, math.Abs(float64(radius*turn32(v))-Normal(u, v))/radius)
		}
	}
	if worst > normalBound/4 {
		t.Errorf("the steps are off by %v of the radius, want at most %v", worst, normalBound/4)
	}
	t.Logf("off by 2^%.1f of the radius", math.Log2(worst))
}
