package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"unsafe"
)

// tiers are the tiers of this machine that have assembly, whatever PTE_ISA says.
func tiers() []Tier { return machineTiers() }

// guard lies around every buffer of a test; kernels must neither use nor change it.
const guard = float32(-12345.5)

// guarded is n random float32 between guards, at an odd place.
func guarded(r *rand.Rand, n int) []float32 {
	b := make([]float32, n+35)
	for i := range b {
		b[i] = guard
	}
	s := b[17 : 17+n : 17+n]
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// intact reports whether the guards around s are as they were.
func intact(s []float32) bool {
	p := unsafe.Pointer(unsafe.SliceData(s))
	before := unsafe.Slice((*float32)(unsafe.Add(p, -17*4)), 17)
	after := unsafe.Slice((*float32)(unsafe.Add(p, len(s)*4)), 18)
	for i := range before {
		if before[i] != guard || after[i] != guard {
			return false
		}
	}
	return true
}

type product struct {
	rows, depth, segments, gap, pad int // gap and pad in float32: between segments, and between rows of out
	skip                            int // rows of the panel between segments
	narrow                          bool
	scatter                         int // float32 from a row of the panel to the one before, in the other direction, if not 0
	low, high                       float32
	starts                          int // 0: a row for all, 1: a row each, 2: a number each
	more                            int // blocks of as many rows that follow
	lacks                           int // columns
}

func (p product) String() string {
	return fmt.Sprintf("%dx%dx%d gap %d pad %d skip %d starts %d narrow %v scatter %d more %d lacks %d", p.rows, p.segments, p.depth, p.gap, p.pad, p.skip, p.starts,
		p.narrow, p.scatter, p.more, p.lacks)
}

func products(g *Gemm) (list []product) {
	inf := float32(math.Inf(1))
	for rows := 1; rows <= g.Rows; rows++ {
		for _, depth := range []int{0, 1, 2, 3, 4, 5, 7, 8, 31, 64} {
			list = append(list, product{rows: rows, depth: depth, segments: 1, low: -inf, high: inf},
				product{rows: rows, depth: depth, segments: 3, gap: 5, pad: 3, low: -0.5, high: 1.5, starts: 1},
				product{rows: rows, depth: depth, segments: 2, low: -inf, high: inf, starts: 2, skip: 2},
				product{rows: rows, depth: depth, segments: 3, gap: 5, skip: 1, pad: 3, low: -0.5, high: 1.5, narrow: true},
				product{rows: rows, depth: depth, segments: 1, pad: 2, low: -inf, high: inf, scatter: 3},
				product{rows: rows, depth: depth, segments: 1, low: -0.5, high: 1.5, starts: 2, narrow: true, scatter: 100},
				product{rows: rows, depth: depth, segments: 2, gap: 3, skip: 1, pad: 5, low: -0.5, high: 1.5, more: 4},
				product{rows: rows, depth: depth, segments: 1, low: -inf, high: inf, narrow: true, more: 1})
		}
	}
	for _, rows := range []int{1, g.Rows} { // those that are computed in pieces
		list = append(list, product{rows: rows, depth: 2*tileMost + 3, segments: 1, low: -20, high: 20, starts: 1},
			product{rows: rows, depth: tileMost/2 + 9, segments: 3, gap: 5, pad: 3, skip: 1, low: -20, high: 20},
			product{rows: rows, depth: tileMost/5 + 1, segments: 9, pad: 3, low: -inf, high: inf, starts: 2, narrow: true},
			product{rows: rows, depth: tileMost + 1, segments: 2, low: -inf, high: inf, starts: 1},
			product{rows: rows, depth: tileMost + 7, segments: 1, pad: 2, low: -inf, high: inf, scatter: 3},
			product{rows: rows, depth: tileMost / 3, segments: 1, low: -20, high: 20, more: 7},
			product{rows: rows, depth: tileMost + 3, segments: 2, pad: 1, low: -20, high: 20, more: 2, narrow: true},
			product{rows: rows, depth: 0, segments: 1, low: -20, high: 20, more: tileMost/blockCost + 1},
			product{rows: rows, depth: 9, segments: 2, low: -20, high: 20, starts: 1, more: 3},
			product{rows: rows, depth: 9, segments: 2, low: -20, high: 20, starts: 2, more: 3},
			product{rows: rows, depth: 9, segments: 1, low: -20, high: 20, starts: 2, scatter: 3, more: 3})
	}
	for lacks := 1; g.Partial() && lacks < g.Cols; lacks++ {
		for _, rows := range []int{1, 5, g.Rows} {
			list = append(list, product{rows: rows, depth: 9, segments: 1, low: -0.5, high: 1.5, lacks: lacks, more: lacks % 3},
				product{rows: rows, depth: 5, segments: 2, pad: 1, low: -inf, high: inf, starts: 1 + lacks%2, lacks: lacks})
			if lacks < g.Narrow {
				list = append(list, product{rows: rows, depth: tileMost + 3, segments: 1, low: -20, high: 20, lacks: lacks, narrow: true})
			}
		}
	}
	return list
}

// TestGemmF32 holds every tile of every tier against sums in float64.
func TestGemmF32(t *testing.T) {
	for _, tier := range tiers() {
		g := GemmF32(tier)
		for _, p := range products(g) {
			t.Run(tier.String()+"/"+p.String(), func(t *testing.T) { checkProduct(t, g, p) })
		}
	}
}

func checkProduct(t *testing.T, g *Gemm, p product) {
	r := rand.New(rand.NewSource(1))
	cols, run := g.Cols, g.Run
	if p.narrow {
		cols, run = g.Narrow, g.RunNarrow
	}
	has := cols - p.lacks
	stride, outStride, rows := p.segments*(p.depth+p.gap)+1, has+p.pad, p.rows*(p.more+1)
	left := guarded(r, rows*stride)
	panel := guarded(r, p.segments*(p.depth+p.skip)*cols)
	out := guarded(r, (rows-1)*outStride+has)
	for i := range out {
		out[i] = guard
	}
	starts, startStride := guarded(r, rows*has), 0
	if p.starts == 1 {
		startStride = has
	}
	tile := &Tile{Left: unsafe.SliceData(left), Stride: uintptr(stride * 4), Panel: unsafe.SliceData(panel), Out: &out[0], OutStride: uintptr(outStride * 4),
		Depth: uintptr(p.depth), Segments: uintptr(p.segments), Gap: uintptr(p.gap * 4), PanelGap: uintptr(p.skip * cols * 4), Start: &starts[0], StartStride: uintptr(startStride * 4), Low: p.low, High: p.high, More: uintptr(p.more)}
	if p.starts == 2 {
		tile.RowStart = tile.Start
	}
	if p.lacks > 0 {
		tile.Lacks = Lacking(has)
	}
	at := func(k int) int { return k * cols }
	if p.scatter != 0 {
		panel = guarded(r, p.depth*p.scatter+cols)
		at = func(k int) int { return (p.depth - k) * p.scatter }
		offsets := make([]int64, p.depth+1)
		for k := range offsets {
			offsets[k] = int64(at(k) * 4)
		}
		tile.Panel, tile.Offsets = unsafe.SliceData(panel), &offsets[0]
	}
	run(tile, p.rows)
	if !intact(out) {
		t.Fatal("a value beside the output is changed")
	}
	for i, got := range out {
		row, c := i/outStride, i%outStride
		if c >= has {
			if got != guard {
				t.Fatalf("row %d: a value between the rows is changed", row)
			}
			continue
		}
		want := float64(starts[row*startStride+c])
		if p.starts == 2 {
			want = float64(starts[row])
		}
		for s := range p.segments {
			for k := range p.depth {
				want += float64(left[row*stride+s*(p.depth+p.gap)+k]) * float64(panel[at(s*(p.depth+p.skip)+k)+c])
			}
		}
		want = min(max(want, float64(p.low)), float64(p.high))
		if math.Abs(float64(got)-want) > 1e-5*float64(1+p.depth*p.segments) {
			t.Fatalf("row %d, column %d: got %v, want %v", row, c, got, want)
		}
	}
}

// TestGemmF32Special shows that NaN survives clamping and infinities are clamped.
func TestGemmF32Special(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tier := range tiers() {
		g := GemmF32(tier)
		for _, c := range []struct{ x, want float32 }{{nan, nan}, {inf, 6}, {-inf, 0}, {3, 3}} {
			panel, out, zero := make([]float32, g.Cols), make([]float32, g.Cols), make([]float32, g.Cols)
			for i := range panel {
				panel[i] = 1
			}
			g.Run(&Tile{Left: &c.x, Panel: &panel[0], Out: &out[0], Depth: 1, Segments: 1, Start: &zero[0], Low: 0, High: 6}, 1)
			for i, got := range out {
				if got != c.want && !(got != got && c.want != c.want) {
					t.Errorf("%v: clamp %v: column %d: got %v, want %v", tier, c.x, i, got, c.want)
				}
			}
		}
	}
}

func TestBest(t *testing.T) {
	list := Tiers()
	best := list[len(list)-1]
	for _, c := range []struct {
		value string
		want  Tier
	}{{"", best}, {"scalar", Scalar}, {"nonsense", Scalar}, {best.String(), best}} {
		t.Setenv(TierVar, c.value)
		if got := Best(); got != c.want {
			t.Errorf("%s=%q: got %v, want %v", TierVar, c.value, got, c.want)
		}
	}
}

func BenchmarkGemmF32(b *testing.B) {
	for _, tier := range tiers() {
		g := GemmF32(tier)
		for _, depth := range []int{27, 256, 1152} {
			for _, rows := range []int{1, g.Rows} {
				b.Run(fmt.Sprintf("%v/%dx%d", tier, rows, depth), func(b *testing.B) { benchmarkTile(b, g, rows, depth) })
			}
		}
	}
}

func benchmarkTile(b *testing.B, g *Gemm, rows, depth int) {
	// Memory that was never written is one page of zeros, which caches that look up addresses before they translate them are slow to read.
	left, panel := slices.Repeat([]float32{1}, rows*depth), slices.Repeat([]float32{1}, depth*g.Cols)
	out, start := make([]float32, rows*g.Cols), make([]float32, g.Cols)
	t := &Tile{Left: &left[0], Stride: uintptr(depth * 4), Panel: &panel[0], Out: &out[0], OutStride: uintptr(g.Cols * 4),
		Depth: uintptr(depth), Segments: 1, Start: &start[0], Low: Unclamped[0], High: Unclamped[1]}
	for b.Loop() {
		g.Run(t, rows)
	}
	flops := 2 * float64(rows*depth*g.Cols)
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// TestRow holds the product of one row with panels side by side against that with each of them, to the bit.
func TestRow(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tier := range tiers() {
		g := GemmF32(tier)
		for _, depth := range []int{0, 1, 3, 4, 5, 8, 63, 64, 100, tileMost/RowPanels + 3, tileMost + 1} {
			const gap = 24 // float32 between panels
			n, panel := g.Cols*RowPanels, depth*g.Cols+gap
			left, panels, start, out, want := guarded(r, depth), guarded(r, RowPanels*panel), guarded(r, n), guarded(r, n), make([]float32, n)
			row := Tile{Left: unsafe.SliceData(left), Panel: &panels[0], PanelGap: uintptr(panel * 4), Start: &start[0], Out: &out[0],
				Depth: uintptr(depth), Segments: 1, Low: -0.5, High: 1.5}
			for p := range RowPanels {
				one := row
				one.PanelGap, one.Panel, one.Start, one.Out = 0, &panels[p*panel], &start[p*g.Cols], &want[p*g.Cols]
				g.Run(&one, 1)
			}
			g.RunRow(&row)
			if !intact(out) {
				t.Fatalf("%v, depth %d: a value beside the output is changed", tier, depth)
			}
			for i := range want {
				if math.Float32bits(out[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, depth %d: column %d is %v, want %v", tier, depth, i, out[i], want[i])
				}
			}
		}
	}
}
