package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
)

// tileCaseS4 is a product of rows with weights of 4 bits and its operands.
type tileCaseS4 struct {
	g                     *GemmS4
	rows, cols, blocks, n int
	last                  int // weights of the last block
	x                     []int8
	w                     []byte
	dynamic               []DynamicRow
	scales, colScale      []float32
	bias                  []float32
}

func newTileS4(g *GemmS4, rows, blocks, n, last int) *tileCaseS4 {
	r := rand.New(rand.NewSource(int64(rows*1000 + blocks*n)))
	normal := func(int) float32 { return float32(r.NormFloat64()) }
	c := &tileCaseS4{g: g, rows: rows, cols: g.Cols - 3, blocks: blocks, n: n, last: last}
	c.x, _ = guardedOf(rows*c.depth(), randomS8(r))
	c.w, _ = guardedOf(c.cols*c.stride(), func(int) uint8 { return [...]uint8{uint8(r.Uint32()), 0, 0xff}[max(0, r.Intn(4)-1)] })
	for range rows {
		c.dynamic = append(c.dynamic, DynamicRow{Zero: [...]int32{int32(r.Intn(256) - 128), -128, 127}[r.Intn(3)], Scale: normal(0)})
	}
	c.scales = make([]float32, c.cols*blocks)
	for i := range c.scales {
		c.scales[i] = normal(i)
	}
	c.colScale, _ = guardedOf(g.Cols, normal)
	c.bias, _ = guardedOf(g.Cols, normal)
	return c
}

func (c *tileCaseS4) depth() int  { return (c.blocks-1)*c.n + c.last }
func (c *tileCaseS4) stride() int { return (c.depth()+1)/2 + 3 }

// weight is weight k of a column.
func (c *tileCaseS4) weight(col, k int) int32 {
	return int32(c.w[col*c.stride()+k/2]>>(4*(k%2))&15) - 8
}

// want is the result of a row and a column, and how far one may be from it.
func (c *tileCaseS4) want(row, col int, low, high float32) (want, bound float64) {
	const rounding = 0x1p-24
	offset, total, most := 0.0, 0.0, 0.0
	if c.g.flips {
		offset = 128
	}
	for b := 0; b < c.blocks && col < c.cols; b++ {
		sum, weights := 0.0, 0.0
		for k := b * c.n; k < min((b+1)*c.n, c.depth()); k++ {
			sum += (float64(c.x[row*c.depth()+k]) + offset) * float64(c.weight(col, k))
			weights += float64(c.weight(col, k))
		}
		scale, zero := float64(c.scales[col*c.blocks+b]), float64(c.dynamic[row].Zero)+offset
		total += (sum - zero*weights) * scale
		most += (math.Abs(sum) + math.Abs(zero*weights)) * math.Abs(scale)
	}
	factor := float64(c.colScale[col]) * float64(c.dynamic[row].Scale)
	v := total*factor + float64(c.bias[col])
	return min(max(v, float64(low)), float64(high)), rounding * (float64(2*c.blocks+4)*most*math.Abs(factor) + math.Abs(v))
}

// pack is the panel.
func (c *tileCaseS4) pack(t *testing.T) []byte {
	panel, intact := guardedOf(c.g.PanelBytes(c.n, c.blocks), func(int) uint8 { return 99 })
	rest := c.g.Pack(panel, &PanelS4{Weights: c.w, Stride: c.stride(), Depth: c.depth(), Blocks: c.blocks, Scales: c.scales}, c.n)
	if len(rest) != 0 || !intact() {
		t.Fatalf("%d bytes are left of a panel, or a value beside it is changed", len(rest))
	}
	return panel
}

// TestGemmS4 holds every tile of every tier against the formula.
func TestGemmS4(t *testing.T) {
	for _, tier := range tiers() {
		g := NibblesOf(tier)
		if g == nil {
			continue
		}
		for rows := 1; rows <= g.Rows; rows++ {
			for _, size := range [][3]int{{1, 8, 8}, {1, 8, 1}, {1, 24, 19}, {3, 32, 32}, {2, 32, 27}, {5, 40, 40}, {2, 256, 256}, {2, MostBlockS4, 4001}} {
				t.Run(fmt.Sprintf("%v/%dx%dx%d", tier, rows, size[0], size[1]), func(t *testing.T) {
					checkTileS4(t, newTileS4(g, rows, size[0], size[1], size[2]))
				})
			}
		}
	}
}

func checkTileS4(t *testing.T, c *tileCaseS4) {
	const low, high = -300, 400
	g, panel := c.g, c.pack(t)
	stride, outStride := c.g.RowBytes(c.n)*c.blocks+5, g.Cols+3
	left, leftIntact := guardedOf(c.rows*stride, func(int) uint8 { return 99 })
	params := slices.Clone(c.dynamic)
	for i := range c.rows {
		g.Load(left[i*stride:], c.x[i*c.depth():(i+1)*c.depth()])
		params[i].Zero = g.Zero(params[i].Zero)
	}
	out, outIntact := guardedOf(c.rows*outStride, func(int) float32 { return 88 })
	g.Run(&TileS4{Left: &left[0], Stride: uintptr(stride), Panel: &panel[0], Out: &out[0], OutStride: uintptr(4 * outStride),
		Pairs: uintptr(pairs(c.n)), Blocks: uintptr(c.blocks), Params: &params[0], ColumnScales: &c.colScale[0],
		Bias: &c.bias[0], Low: low, High: high}, c.rows)
	if !leftIntact() || !outIntact() {
		t.Fatal("a value beside a buffer is changed")
	}
	for i, got := range out {
		want, bound := 88.0, 0.0
		if i%outStride < g.Cols {
			want, bound = c.want(i/outStride, i%outStride, low, high)
		}
		if !(math.Abs(float64(got)-want) <= bound) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/outStride, i%outStride, got, want)
		}
	}
}

// TestFitS4 looks for one weight of more than 4 bits, anywhere.
func TestFitS4(t *testing.T) {
	for n := range 40 {
		x := make([]int8, n+1)
		for i := range x {
			x[i] = int8(i%16) - 8
		}
		if x := x[1:]; !FitS4(x) {
			t.Errorf("%v: got false", x)
		}
		for i := range n {
			for _, v := range []int8{-9, 8, 127, -128, 16, -16} {
				was := x[i+1]
				if x[i+1] = v; FitS4(x[1:]) {
					t.Errorf("%v: got true", x[1:])
				}
				x[i+1] = was
			}
		}
	}
}

func BenchmarkGemmS4(b *testing.B) {
	for _, tier := range tiers() {
		g := NibblesOf(tier)
		if g == nil {
			continue
		}
		for _, rows := range []int{1, g.Rows} {
			b.Run(fmt.Sprintf("%v/%dx1024", tier, rows), func(b *testing.B) {
				c := newTileS4(g, rows, 32, 32, 32)
				panel, left, out := make([]byte, g.PanelBytes(32, 32)), make([]byte, rows*1024), make([]float32, rows*g.Cols)
				t := &TileS4{Left: &left[0], Stride: 1024, Panel: &panel[0], Out: &out[0], OutStride: uintptr(4 * g.Cols), Pairs: 4, Blocks: 32,
					Params: &c.dynamic[0], ColumnScales: &c.colScale[0], Bias: &c.bias[0]}
				for i := range c.dynamic {
					c.dynamic[i].Zero = g.Zero(c.dynamic[i].Zero)
				}
				for b.Loop() {
					g.Run(t, rows)
				}
				b.ReportMetric(2*float64(rows*1024*g.Cols)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
