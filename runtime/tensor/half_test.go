package tensor

import (
	"math"
	"testing"
)

func TestHalfRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		x := HalfToFloat32(uint16(h))
		if x != x {
			continue
		}
		if got := Float32ToHalf(x); got != uint16(h) {
			t.Fatalf("half %#04x is %v, and back %#04x", h, x, got)
		}
	}
}

func TestFloat32ToHalfRounds(t *testing.T) {
	for _, c := range []struct {
		in   float32
		want uint16
	}{{1, 0x3c00}, {65504, 0x7bff}, {65520, 0x7c00}, {65519.996, 0x7bff}, {1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02},
		{float32(math.Inf(-1)), 0xfc00}, {5.9604645e-08, 1}, {2.9802322e-08, 0}, {-1e-9, 0x8000}} {
		if got := Float32ToHalf(c.in); got != c.want {
			t.Errorf("Float32ToHalf(%v) = %#04x, want %#04x", c.in, got, c.want)
		}
	}
}

func TestBFloat16RoundTrip(t *testing.T) {
	for b := range 1 << 16 {
		if x := BFloat16ToFloat32(uint16(b)); x == x && Float32ToBFloat16(x) != uint16(b) {
			t.Fatalf("bfloat16 %#04x is %v, and back %#04x", b, x, Float32ToBFloat16(x))
		}
	}
}
