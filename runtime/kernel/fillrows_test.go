package kernel

import (
	"math"
	"math/rand"
	"testing"
)

func TestFillRows(t *testing.T) {
	for _, tier := range tiers() {
		for _, s := range [][3]int{{0, 3, 1}, {3, 0, 1}, {1, 1, 1}, {5, 1, 2}, {3, 7, 1}, {9, 8, 3}, {4, 16, 1}, {2, 17, 5}, {3, 64, 1}, {2, 257, 1}, {mapMost + 3, 2, 1}} {
			rows, width, step := s[0], s[1], s[2]
			r := rand.New(rand.NewSource(1))
			x, o := guarded(r, max(1, rows*step)), guarded(r, rows*width+FillRoom)
			x[0] = math.Float32frombits(0x7f800001) // a signaling NaN, whose bits stay
			if !FillRowsF32(tier, o, rows, width, x, step) {
				t.Fatalf("%v: there is no kernel", tier)
			}
			if !intact(o) {
				t.Errorf("%v %v: a value beside the room is changed", tier, s)
			}
			for i := range rows * width {
				if math.Float32bits(o[i]) != math.Float32bits(x[i/width*step]) {
					t.Fatalf("%v %v: element %d is %v, want %v", tier, s, i, o[i], x[i/width*step])
				}
			}
		}
		if FillRowsF32(Scalar, make([]float32, 99), 1, 2, []float32{1}, 1) {
			t.Error("the scalar tier has a kernel")
		}
	}
}
