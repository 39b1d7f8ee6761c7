package kernel

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkPauses collects garbage while each kernel runs in a loop, and says how long collections take beside those of a
// loop in Go: a loop over assembly without a frame between holds the collector up for some tenths of a second.
func BenchmarkPauses(b *testing.B) {
	if runtime.GOARCH == "wasm" {
		b.Skip("one thread: a loop cannot be stopped")
	}
	for _, tier := range tiers() {
		for name, loop := range loops(tier) {
			b.Run(fmt.Sprintf("%v/%s", tier, name), func(b *testing.B) {
				usual := longestCollection(b.N, loopInGo)
				b.ResetTimer()
				took := longestCollection(b.N, loop)
				b.ReportMetric(took.Seconds()*1000, "ms/longest")
				b.ReportMetric(took.Seconds()/usual.Seconds(), "of-Go's")
			})
		}
	}
}

// longestCollection is the longest of n collections while a loop runs.
func longestCollection(n int, loop func(stop *atomic.Bool)) (longest time.Duration) {
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() { loop(&stop) })
	for range n {
		start := time.Now()
		runtime.GC()
		longest = max(longest, time.Since(start))
	}
	stop.Store(true)
	done.Wait()
	return longest
}

// loopInGo calls what can be stopped.
func loopInGo(stop *atomic.Bool) {
	for !stop.Load() {
		runtime.KeepAlive(stop)
	}
}

// loops call kernels until they are stopped, with nothing between that the collector could stop.
func loops(tier Tier) map[string]func(stop *atomic.Bool) {
	const n = 1 << 16
	x, o, ints := make([]float32, n), make([]float32, n), make([]int8, n)
	w := &Window{Rows: [5]*float32{&x[0], &x[0], &x[0]}, Weights: &x[0], Start: &x[0], Out: &o[0], Stride: 128, Step: 128, Next: 128, Count: 16, Tap: 128}
	m := map[string]func(stop *atomic.Bool){
		"gemm":     gemmLoop(GemmF32(tier), 1024),
		"integers": integersLoop(IntegersOf(tier), 1024),
		"taps":     tapsLoop(TapsKernels(tier), 1024),
		"max": func(stop *atomic.Bool) {
			for !stop.Load() {
				MaxRowF32(tier, x)
			}
		},
		"row": func(stop *atomic.Bool) {
			for !stop.Load() {
				ExpRowF32(tier, o, x, 0)
			}
		},
		"affine": func(stop *atomic.Bool) {
			for !stop.Load() {
				AffineRowF32(tier, o, x, x, x, 0, 1)
			}
		},
		"window": func(stop *atomic.Bool) {
			for !stop.Load() {
				w.Run(tier, 3, 32)
			}
		},
		"quantize": func(stop *atomic.Bool) {
			for !stop.Load() {
				QuantizeS8(tier, ints, x, 3, RowsS8{Low: -128, High: 127})
			}
		},
	}
	for i := range mapCases {
		run := mapCases[i].run
		m[mapCases[i].name] = func(stop *atomic.Bool) {
			for !stop.Load() {
				run(tier, o, x, x)
			}
		}
	}
	return m
}

func gemmLoop(g *Gemm, depth int) func(stop *atomic.Bool) {
	left, panel := make([]float32, g.Rows*depth), make([]float32, depth*g.Cols)
	out, start := make([]float32, g.Rows*g.Cols), make([]float32, g.Cols)
	t := &Tile{Left: &left[0], Stride: uintptr(depth * 4), Panel: &panel[0], Out: &out[0], OutStride: uintptr(g.Cols * 4),
		Depth: uintptr(depth), Segments: 1, Start: &start[0], Low: Unclamped[0], High: Unclamped[1]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			g.Run(t, g.Rows)
		}
	}
}

func integersLoop(g *GemmS8, depth int) func(stop *atomic.Bool) {
	left, panel, out := make([]byte, g.Rows*g.RowBytes(depth)), make([]int8, g.PanelBytes(depth)), make([]int32, g.Rows*g.Cols)
	t := &TileS8{Left: &left[0], Stride: uintptr(g.RowBytes(depth)), Panel: &panel[0], Out: &out[0], OutStride: uintptr(4 * g.Cols),
		Depth: uintptr(g.Groups(depth)), Start: &out[0]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			g.Run(t, g.Rows)
		}
	}
}

func tapsLoop(f *TapsF32, n int) func(stop *atomic.Bool) {
	const count = 9
	x, w, out := make([]float32, n), make([]float32, n*count), make([]float32, n)
	inputs := make([]*float32, count)
	for i := range inputs {
		inputs[i] = &x[0]
	}
	t := &Taps{Inputs: &inputs[0], Weights: &w[0], Step: uintptr(n * 4), Count: count, Out: &out[0], Start: &out[0], Low: Unclamped[0], High: Unclamped[1]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			f.Line(t, n)
		}
	}
}
