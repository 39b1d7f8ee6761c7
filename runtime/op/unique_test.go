package op

import "testing"

// TestUniqueConsecutiveDim checks that places and counts come along a dimension, though nobody asks for them.
func TestUniqueConsecutiveDim(t *testing.T) {
	outs, err := call(&UniqueConsecutiveF32, 3, true, mf32(dims{3, 1}, 1, 1, 2), false, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, outs[0], dims{2, 1}, float32(1), 2)
	wantOut(t, outs[1], dims{3}, int64(0), 0, 1)
	wantOut(t, outs[2], dims{2}, int64(2), 1)
}
