package kernel

import "unsafe"

// where is what a kernel that chooses between two lines gets. Its layout is known to the generator.
type where struct {
	cond, x, y, out unsafe.Pointer
	vectors         uintptr // at least 1
	xStep, yStep    uintptr // bytes from a vector to the next one
}

// WhereF32 sets o to x where cond is not 0, and to y where it is; x and y may have one element that stands for all. It gives how many
// elements it has set, from the first on: none in a tier without a kernel, else all but the last few.
func WhereF32(t Tier, o []float32, cond []uint8, x, y []float32) int {
	lanes := lanesOf(t)
	if t == Scalar || len(o) < lanes {
		return 0
	}
	n := len(o) / lanes * lanes
	_ = cond[n-1]
	var same [2][maxLanes]float32
	xs, xStep := sameLanes(&same[0], x, n)
	ys, yStep := sameLanes(&same[1], y, n)
	for lo := 0; lo < n; lo += mapMost {
		w := where{cond: unsafe.Pointer(&cond[lo]), x: unsafe.Pointer(&xs[lo*xStep]), y: unsafe.Pointer(&ys[lo*yStep]), out: unsafe.Pointer(&o[lo]),
			vectors: uintptr(min(mapMost, n-lo) / lanes), xStep: uintptr(xStep*lanes) * unsafe.Sizeof(x[0]), yStep: uintptr(yStep*lanes) * unsafe.Sizeof(y[0])}
		w.run(t)
	}
	return n
}

// sameLanes is x, of which n elements are read, or a vector of its only element; step is 1, or 0 then.
func sameLanes(room *[maxLanes]float32, x []float32, n int) (line []float32, step int) {
	if len(x) != 1 {
		_ = x[n-1]
		return x, 1
	}
	for i := range room {
		room[i] = x[0]
	}
	return room[:], 0
}
