package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// A loop over assembly without a frame between holds the garbage collector up for some tenths of a second. On a busy
// machine any collection may take long, so of many series one must be short, or not much longer than beside a loop in Go.
const (
	stall  = 50 * time.Millisecond
	series = 20
	each   = 3
	slower = 5
)

// TestPauses collects garbage while each kernel runs in a loop. It is the one test that looks at the time.
func TestPauses(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("one thread: a loop cannot be stopped")
	}
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one thread: the loop and the collector take turns of 10 ms, so that all this takes many minutes")
	}
	for _, tier := range tiers() {
		for name, loop := range loops(tier) {
			took := beside(loop)
			if took <= stall {
				continue
			}
			if usual := beside(loopInGo); took > slower*usual {
				t.Errorf("%v %s: of %d collections one took %v in every series of %d, and %v beside a loop in Go", tier, name, each*series, took, each, usual)
			}
		}
	}
}

// beside is shortestSeries while a loop runs.
func beside(loop func(stop *atomic.Bool)) time.Duration {
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() { loop(&stop) })
	took := shortestSeries()
	stop.Store(true)
	done.Wait()
	return took
}

// loopInGo calls what can be stopped.
func loopInGo(stop *atomic.Bool) {
	for !stop.Load() {
		runtime.KeepAlive(stop)
	}
}

// shortestSeries is the longest collection of a series, of the first series in which it is short enough.
func shortestSeries() time.Duration {
	best := time.Hour
	for range series {
		longest := time.Duration(0)
		for range each {
			start := time.Now()
			runtime.GC()
			longest = max(longest, time.Since(start))
		}
		if best = min(best, longest); best <= stall {
			break
		}
	}
	return best
}

// loops call kernels until they are stopped, with nothing between that the collector could stop.
func loops(tier Tier) map[string]func(stop *atomic.Bool) {
	const n = 1 << 16
	x, o, ints, bytes, sums := make([]float32, n), make([]float32, n), make([]int8, n), make([]uint8, n), make([]int32, n)
	w := &Window{Rows: [WindowMost]*float32{&x[0], &x[0], &x[0]}, Weights: &x[0], Start: &x[0], Out: &o[0], Copy: &make([]float32, 10*maxLanes)[0], Stride: 128, Step: 128, Next: 128, Count: 16, Tap: 128}
	large := &Window{Weights: &x[0], Start: &x[0], Out: &o[0], Copy: &make([]float32, (WindowMost*WindowMost+1)*maxLanes)[0], Stride: 128, Step: 128, Next: 128, Count: n/32 - WindowMost, Tap: 128}
	wide := &Window{Rows: w.Rows, Weights: &x[0], Start: &x[0], Out: &o[0], Stride: 1024, Step: 1024, Next: 1024, Count: n/256 - 2, Tap: 1024}
	for i := range large.Rows {
		large.Rows[i] = &x[0]
	}
	windowS8 := &WindowS8{Rows: [WindowMostS8]*byte{&bytes[0], &bytes[0], &bytes[0]}, Weights: &ints[0], Start: &sums[0], Factors: &x[0], Out: &ints[0], Stride: 1024, Step: 1024, Next: 1024, Count: 60}
	groups := &GroupWindow{Rows: [GroupWindowSize]*float32{&x[0], &x[0], &x[0]}, Weights: &x[0], Start: &x[0], Out: &o[0], Stride: 1024, Step: 1024, Next: 1024, Count: n/256 - 2, Per: 4}
	m := map[string]func(stop *atomic.Bool){
		"gemm":          gemmLoop(GemmF32(tier), 1024, 0),
		"blocks":        gemmLoop(GemmF32(tier), 16, 4<<20),
		"integers":      integersLoop(IntegersOf(tier), 1024),
		"deep gemm":     gemmLoop(GemmF32(tier), 100_000, 0),
		"row of panels": rowLoop(GemmF32(tier), 100_000),
		"deep integers": integersLoop(IntegersOf(tier), 400_000),
		"taps":          tapsLoop(TapsKernels(tier), 1024),
		"nibbles":       nibblesLoop(NibblesOf(tier), MostDepthS4),
		"halves":        mixedLoop(MixedOf(tier, StoredF16), 100_000, 1),
		"bytes":         mixedLoop(MixedOf(tier, StoredS8), 100_000, 1),
		"byte blocks":   mixedLoop(MixedOf(tier, StoredQ8), 32, 3000),
		"nibble block":  mixedLoop(MixedOf(tier, StoredQ4), 100_000, 1),
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
		"where": func(stop *atomic.Bool) {
			for !stop.Load() {
				WhereF32(tier, o, bytes, x, x[:1])
			}
		},
		"rows times a vector": func(stop *atomic.Bool) {
			for g := GemvF32(tier); !stop.Load(); {
				g.Rows(o[:n/GemvDepth], x, GemvDepth, x[:GemvDepth])
			}
		},
		"a vector times rows": func(stop *atomic.Bool) {
			for g := GemvF32(tier); !stop.Load(); {
				g.Columns(o[:64], x, 128, x[:n/128])
			}
		},
		"rows of one number": func(stop *atomic.Bool) {
			for !stop.Load() {
				FillRowsF32(tier, o, (n-FillRoom)/2, 2, x, 1)
			}
		},
		"softmax": func(stop *atomic.Bool) {
			for !stop.Load() {
				SoftmaxRowsF32(tier, o[:softMost], x[:softMost], softMost)
			}
		},
		"norm": func(stop *atomic.Bool) {
			for n := (Norms{X: x[:softMost], Out: o[:softMost], Means: o[softMost:][:1], Rstds: o[softMost+1:][:1], Width: softMost}); !stop.Load(); {
				NormRowsF32(tier, &n)
			}
		},
		"cell of an LSTM": func(stop *atomic.Bool) {
			const rows, width = n / 4 / 64, 64
			for c := (Cells{A: x, Gates: [4]int{0, 1, 2, 3}, State: x[:rows*width], Hidden: o[:rows*width], Next: o[rows*width:][:rows*width], Rows: rows, Width: width}); !stop.Load(); {
				c.LSTM(tier)
			}
		},
		"cell of a GRU": func(stop *atomic.Bool) {
			const width = n / 4
			for c := (Cells{A: x[:3*width], B: x[:3*width], Gates: [4]int{0, 1, 2}, State: x[:width], Hidden: o[:width], Rows: 1, Width: width}); !stop.Load(); {
				c.GRU(tier)
			}
		},
		"window": func(stop *atomic.Bool) {
			for !stop.Load() {
				w.Run(tier, 3, 32)
			}
		},
		"wide window": func(stop *atomic.Bool) {
			for !stop.Load() {
				wide.Run(tier, 3, 256)
			}
		},
		"large window": func(stop *atomic.Bool) {
			for !stop.Load() && HasWindow(tier, WindowMost, 32) {
				large.Run(tier, WindowMost, 32)
			}
		},
		"window of groups": func(stop *atomic.Bool) {
			for !stop.Load() {
				groups.Run(tier, 256)
			}
		},
		"window of integers": func(stop *atomic.Bool) {
			for !stop.Load() && HasWindowS8(tier, 3, 1024) {
				windowS8.Run(tier, 3, 1024)
			}
		},
		"pool": func(stop *atomic.Bool) {
			in := &x[0]
			for p := (&Pool{Inputs: &in, Count: 1, Out: &o[0], Positions: n / 64, Step: 256, Next: 256, Kind: PoolMean}); !stop.Load(); {
				p.Run(tier, 64)
			}
		},
		"winograd":      winogradLoop(tier, &WinogradSquare, x, o),
		"winograd line": winogradLoop(tier, &WinogradLine, x, o),
		"picks":         picksLoop(tier),
		"blend":         blendLoop(tier),
		"largest":       largestLoop(tier, n),
		"distances": func(stop *atomic.Bool) {
			for sums, row := make([]float64, 64), make([]float64, n/64); !stop.Load(); {
				DistancesF32(tier, sums, row, x, true)
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
	for name, call := range moves(tier, o, x) {
		m[name] = func(stop *atomic.Bool) {
			for !stop.Load() {
				call()
			}
		}
	}
	return m
}

// moves are calls of kernels of streams and lines.
func moves(tier Tier, o, x []float32) map[string]func() {
	half, double := make([]uint16, len(x)), make([]float64, len(x))
	lines := make([]*float32, 9)
	for i := range lines {
		lines[i] = &x[0]
	}
	largest := &Largest{Inputs: &lines[0], Places: &x[0], Count: 9, Out: &o[0], Where: &o[0]}
	return map[string]func(){
		"widen":      func() { WidenF16(tier, o, half) },
		"narrow":     func() { NarrowBF16(tier, half, x) },
		"widen f32":  func() { WidenF32(tier, double, x) },
		"sum":        func() { SumF32(tier, x) },
		"squares":    func() { SquaresF32(tier, x, 1) },
		"accumulate": func() { AccumulateF64(tier, double, x) },
		"largest":    func() { largest.Run(tier, len(x)) },
		"transpose":  func() { transposeBy(squareSides(tier, 4), o, x, 256, 256, 256, 256) },
		"weaving":    func() { weave(true, o, x, len(o)/weaveMost, weaveMost, len(x)/weaveMost) },
		"halves":     func() { transposeBy(squareSides(tier, 2), half, half[len(half)/2:], 256, 128, 128, 256) },
		"dequantize": func() { DequantizeS8(tier, o, bytesOf(half), 1, 0) },
	}
}

// bytesOf are the bytes of x.
func bytesOf(x []uint16) []int8 { return unsafe.Slice((*int8)(unsafe.Pointer(&x[0])), len(x)) }

// rowLoop computes rows whose panels lie at the same place.
func rowLoop(g *Gemm, depth int) func(stop *atomic.Bool) {
	left, panel, out := make([]float32, depth), make([]float32, depth*g.Cols), make([]float32, RowPanels*g.Cols)
	t := &Tile{Left: &left[0], Panel: &panel[0], Out: &out[0], Depth: uintptr(depth), Segments: 1, Start: &out[0], Low: Unclamped[0],
		High: Unclamped[1]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			g.RunRow(t)
		}
	}
}

// gemmLoop computes tiles whose rows are all the same.
func gemmLoop(g *Gemm, depth, more int) func(stop *atomic.Bool) {
	left, panel, out, start := make([]float32, depth), make([]float32, depth*g.Cols), make([]float32, g.Cols), make([]float32, g.Cols)
	t := &Tile{Left: &left[0], Panel: &panel[0], Out: &out[0], Depth: uintptr(depth), Segments: 1, Start: &start[0],
		Low: Unclamped[0], High: Unclamped[1]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			t.More = uintptr(more)
			g.Run(t, g.Rows)
		}
	}
}

// mixedLoop computes tiles of blocks of this depth, and makes float32 of the first.
func mixedLoop(g *GemmMixed, depth, blocks int) func(stop *atomic.Bool) {
	return func(stop *atomic.Bool) {
		if g == nil {
			return
		}
		left, panel, out := make([]float32, depth*blocks), make([]float32, depth*blocks*g.Cols), make([]float32, depth*g.Cols)
		t := &TileMixed{Tile: Tile{Left: &left[0], Panel: &panel[0], Out: &out[0], Depth: uintptr(depth), Segments: uintptr(blocks), Start: &left[0],
			Low: Unclamped[0], High: Unclamped[1]}, Scales: &left[0], Zeros: &left[0]}
		for !stop.Load() {
			if g.Run(t, g.Rows); g.Stored.InBlocks() {
				g.Widen(out, t)
			}
		}
	}
}

func integersLoop(g *GemmS8, depth int) func(stop *atomic.Bool) {
	left, panel, out := make([]byte, g.Rows*g.RowBytes(depth)), make([]int8, g.PanelBytes(depth)), make([]int32, g.Rows*g.Cols)
	t := &TileS8{Left: &left[0], Stride: uintptr(g.RowBytes(depth)), Panel: &panel[0], Out: unsafe.Pointer(&out[0]), OutStride: uintptr(4 * g.Cols),
		Depth: uintptr(g.Groups(depth)), Segments: 1, Start: &out[0]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			g.Run(t, g.Rows)
		}
	}
}

func nibblesLoop(g *GemmS4, depth int) func(stop *atomic.Bool) {
	return func(stop *atomic.Bool) {
		for g != nil && !stop.Load() {
			c := newTileS4(g, g.Rows, 1, depth, depth)
			panel, left, out := make([]byte, g.PanelBytes(depth, 1)), make([]byte, g.Rows*depth), make([]float32, g.Rows*g.Cols)
			t := &TileS4{Left: &left[0], Stride: uintptr(depth), Panel: &panel[0], Out: &out[0], OutStride: uintptr(4 * g.Cols), Pairs: uintptr(pairs(depth)),
				Blocks: 1, Params: &c.dynamic[0], ColumnScales: &c.colScale[0], Bias: &c.bias[0]}
			for !stop.Load() {
				g.Run(t, g.Rows)
			}
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

func winogradLoop(tier Tier, tile *WinogradTile, x, o []float32) func(stop *atomic.Bool) {
	n := len(x)
	w := &Winograd{WinogradTile: tile, Tiles: n / 2048, Channels: 64, Planes: &o[0], Plane: n / 16}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			w.Weights(tier, &x[0], n/4, n/16)
			w.In(tier, &x[0], n/4, 16)
			w.Out(tier, &x[0], n/2, 64, 0, 1)
		}
	}
}

func picksLoop(tier Tier) func(stop *atomic.Bool) {
	const n, rows = 64, 1024
	at := resized(n, 2*n, 2)
	p, _ := PicksOf(tier, at, 2, n)
	p.Plan(make([]uint32, p.Words()), at, make([]float32, len(at)))
	x, out := make([]float32, rows*n), make([]float32, rows*p.Stride())
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			p.Run(out, p.Stride(), x, rows)
		}
	}
}

func blendLoop(tier Tier) func(stop *atomic.Bool) {
	const n, lines = 64, 4096
	b, _ := BlendOf(tier, 2, n)
	b.Plan(make([]uint32, b.Words(lines)), make([]int, 2*lines), make([]float32, 2*lines), n)
	x, out := make([]float32, n), make([]float32, lines*n)
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			b.Run(out, x)
		}
	}
}

func largestLoop(tier Tier, n int) func(stop *atomic.Bool) {
	x, o, where := make([]float32, n), make([]float32, n), make([]float32, n)
	inputs, places := make([]*float32, 64), make([]float32, 64)
	for i := range inputs {
		inputs[i] = &x[0]
	}
	l := &Largest{Inputs: &inputs[0], Places: &places[0], Count: uintptr(len(inputs)), Out: &o[0], Where: &where[0]}
	return func(stop *atomic.Bool) {
		for !stop.Load() {
			l.Run(tier, n)
		}
	}
}
