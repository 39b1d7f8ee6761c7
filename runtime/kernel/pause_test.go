package kernel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// pauseMost is far more than a collection takes that need not wait for a kernel, however busy the machine is, and less
// than one takes that waits for a chance to stop a loop of assembly.
const pauseMost = 20 * time.Second

// busyLoops are calls of kernels, which a loop makes without an end.
func busyLoops(tier Tier) map[string]func() {
	const n = 1 << 12
	x, y, out := make([]float32, n), make([]float32, n), make([]float32, n)
	g, taps := GemmF32(tier), TapsKernels(tier)
	tile := &Tile{Left: &x[0], Stride: 4 * 64, Panel: &y[0], Out: &out[0], OutStride: 4 * 64, Depth: 64, Segments: 1, Start: &x[0]}
	sum := &Taps{Inputs: &[]*float32{&x[0], &y[0]}[0], Weights: &y[0], Count: 2, Out: &out[0], Start: &x[0]}
	window := &Window{Rows: [5]*float32{&x[0], &x[0], &x[0]}, Weights: &y[0], Start: &x[0], Out: &out[0], Stride: 128, Step: 128, Next: 128, Count: 16, Tap: 128}
	return map[string]func(){
		"gemm":   func() { g.Run(tile, g.Rows) },
		"narrow": func() { g.RunNarrow(tile, g.Rows) },
		"taps":   func() { taps.Each(sum, n/2) },
		"window": func() { window.Run(tier, 3, 32) },
		"exp":    func() { ExpF32(tier, out, x) },
		"row":    func() { ExpRowF32(tier, out, x, 0) },
		"affine": func() { AffineRowF32(tier, out, x, y, y, 0, 1) },
	}
}

// TestPauses collects garbage while another goroutine does nothing but call a kernel.
func TestPauses(t *testing.T) {
	list := tiers()
	if len(list) == 0 {
		t.Skip("no kernels here")
	}
	for name, call := range busyLoops(list[len(list)-1]) {
		t.Run(name, func(t *testing.T) {
			var stop atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !stop.Load() {
					for range 1 << 10 {
						call()
					}
				}
			}()
			for range 3 {
				start := time.Now()
				runtime.GC()
				if d := time.Since(start); d > pauseMost {
					t.Errorf("a collection took %v", d)
				}
			}
			stop.Store(true)
			<-done
		})
	}
}
