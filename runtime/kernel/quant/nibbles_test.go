package quant

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// nibbleCase is a product of rows that were quantized one by one with weights of 4 bits.
type nibbleCase struct {
	m, rows, depth, blocks int
	x, w                   []int8
	raw                    []byte // w, two in a byte
	dynamic                []kernel.DynamicRow
	scales, bias           []float32
}

func newNibbleCase(m, rows, depth, blocks int) *nibbleCase {
	r := rand.New(rand.NewSource(int64(depth + rows)))
	c := &nibbleCase{m: m, rows: rows, depth: depth, blocks: blocks, x: pattern(m*depth, 1), w: make([]int8, rows*depth)}
	stride := (depth + 1) / 2
	c.raw = make([]byte, rows*stride)
	for i := range c.w {
		c.w[i] = int8(r.Intn(16) - 8)
		c.raw[i/depth*stride+i%depth/2] |= byte(c.w[i]+8) << (4 * (i % depth % 2))
	}
	normals := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	c.scales, c.bias = normals(rows*blocks), normals(rows)
	for _, scale := range normals(m) {
		c.dynamic = append(c.dynamic, kernel.DynamicRow{Zero: int32(r.Intn(256) - 128), Scale: scale})
	}
	return c
}

// want computes the results block by block with weights of 8 bits, in portable Go.
func (c *nibbleCase) want(low, high float32) []float32 {
	size, width := c.depth/c.blocks, (c.rows+panel-1)/panel*panel
	sums, totals := make([]int32, c.m*width), make([]float32, c.m*width)
	rows := Rows{Tier: kernel.Scalar, Rows: c.m, Cols: c.rows, Stride: width, OutStride: c.rows}
	for b := range c.blocks {
		block, columns := make([]int8, c.rows*size), kernel.Columns{Scales: make([]float32, width)}
		for r := range c.rows {
			copy(block[r*size:(r+1)*size], c.w[r*c.depth+b*size:])
			columns.Scales[r] = c.scales[r*c.blocks+b]
		}
		p := Pack(kernel.Scalar, make([]int8, PackedBytes(kernel.Scalar, c.rows, size, 1)), block, c.rows, size, 1)
		columns.Sums = append(columns.Sums, p.Sums...)
		p.Multiply(sums, p.Load(nil, c.x[b*size:], c.depth, c.m), p.Start(nil), Block{Rows: c.m, Until: width / panel, Stride: width})
		rows.Scale(totals, sums, &columns, c.dynamic, b > 0)
	}
	o := make([]float32, c.m*c.rows)
	rows.Complete(o, totals, c.dynamic, &Linear{c.bias, low, high})
	return o
}

// size is the sum of the magnitudes of what a result is the sum of.
func (c *nibbleCase) size(row, col int) float64 {
	sum, per := math.Abs(float64(c.bias[col])), c.depth/c.blocks
	for k := range c.blocks * per {
		w := float64(c.w[col*c.depth+k]) * float64(c.scales[col*c.blocks+k/per]) * float64(c.dynamic[row].Scale)
		sum += math.Abs(float64(c.x[row*c.depth+k])*w) + 256*math.Abs(w)
	}
	return sum
}

// TestNibbles holds weights of 4 bits against the same weights in 8 bits.
func TestNibbles(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for _, s := range [][4]int{{1, 1, 8, 1}, {1, 70, 128, 4}, {33, 65, 64, 2}, {7, 32, 37, 1}, {2, 40, 1, 1}, {3, 31, 256, 1}, {2, 9, 5001, 1}, {5, 64, 512, 2}} {
			c := newNibbleCase(s[0], s[1], s[2], s[3])
			if w := NibblesOf(tier, c.scales, c.rows, c.depth); w != nil {
				t.Run(fmt.Sprintf("%v/%v", tier, s), func(t *testing.T) { c.check(t, w) })
			} else if kernel.NibblesOf(tier) != nil {
				t.Errorf("%v: %v: there are tiles, but no product", tier, s)
			}
		}
	}
}

func (c *nibbleCase) check(t *testing.T, w *Nibbles) {
	const low, high = -200, 150
	packed := make([]byte, w.PackedBytes())
	w.Pack(packed, c.raw, c.scales)
	again := make([]byte, len(packed))
	if w.PackBytes(again, c.w, c.scales); !slices.Equal(again, packed) {
		t.Error("weights with a byte each are packed otherwise")
	}
	w.Use(packed, c.scales)
	d := &DynamicRows{Left: w.Load(make([]byte, c.m*w.RowBytes()), c.x, c.m), Rows: c.dynamic,
		Linear: Linear{append(c.bias, make([]float32, w.Columns()-c.rows)...), low, high}, Partial: make([]float32, kernel.MaxRowsS4*kernel.MaxColsS4)}
	got := make([]float32, c.m*c.rows)
	for p := range w.Columns() / w.Panel {
		w.Multiply(got[p*w.Panel:], d, Block{Rows: c.m, From: p, Until: p + 1, Stride: c.rows})
	}
	for i, want := range c.want(low, high) {
		if math.Abs(float64(got[i]-want)) > 2e-6*c.size(i/c.rows, i%c.rows) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/c.rows, i%c.rows, got[i], want)
		}
	}
}

// TestNibblesOf lists what has no tiles.
func TestNibblesOf(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for name, w := range map[string]*Nibbles{
			"blocks of 12":                 NibblesOf(tier, []float32{1, 1}, 1, 24),
			"blocks that are not alike":    NibblesOf(tier, []float32{1, 1}, 1, 44),
			"blocks that are too long":     NibblesOf(tier, []float32{1, 1}, 1, 10000),
			"rows that float32 cannot sum": NibblesOf(tier, []float32{1}, 1, 10000),
			"rows that are too long":       NibblesOf(tier, make([]float32, 2000), 1, 64000),
			"one scale for two rows":       NibblesOf(tier, []float32{1}, 2, 64),
			"rows of nothing":              NibblesOf(tier, []float32{1}, 1, 0),
		} {
			if w != nil {
				t.Errorf("%v: %s: got tiles", tier, name)
			}
		}
	}
}
