package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"unsafe"
)

// TestGemmMixed holds tiles with panels of 16 and of 8 bits against those with the same panels in float32, to the bit; NaN, infinities
// and denormals among them.
func TestGemmMixed(t *testing.T) {
	for _, tier := range tiers() {
		for _, stored := range []Stored{StoredF16, StoredBF16, StoredS8} {
			g := MixedOf(tier, stored)
			if g == nil {
				continue
			}
			for rows := 1; rows <= g.Rows; rows++ {
				for _, depth := range []int{0, 1, 3, 4, 7, 64, 2*tileMost + 5} {
					t.Run(fmt.Sprintf("%v/%v/%dx%d", tier, stored, rows, depth), func(t *testing.T) { checkGemmMixed(t, tier, g, rows, depth) })
				}
			}
		}
	}
}

func checkGemmMixed(t *testing.T, tier Tier, g *GemmMixed, rows, depth int) {
	r := rand.New(rand.NewSource(int64(rows*1000 + depth)))
	normal := func(int) float32 { return float32(r.NormFloat64()) }
	left, _ := guardedOf(max(rows*depth, 1), normal)
	panel, wide := g.panels(t, r, depth)
	start, _ := guardedOf(g.Cols, normal)
	outStride := g.Cols + 3
	got, intact := guardedOf(rows*outStride, func(int) float32 { return 88 })
	want := slices.Clone(got)
	tile := Tile{Left: &left[0], Stride: uintptr(4 * depth), Panel: (*float32)(panel), Out: &got[0], OutStride: uintptr(4 * outStride),
		Depth: uintptr(depth), Segments: 1, Start: &start[0], Low: -3, High: 90}
	if rows%2 == 0 {
		rowStart, _ := guardedOf(rows, normal)
		tile.RowStart = &rowStart[0]
	}
	g.Run(&tile, rows)
	tile.Panel, tile.Out = &wide[0], &want[0]
	GemmF32(tier).Run(&tile, rows)
	if !intact() {
		t.Fatal("a value beside the output is changed")
	}
	for i, x := range got {
		if x != want[i] && !(math.IsNaN(float64(x)) && math.IsNaN(float64(want[i]))) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/outStride, i%outStride, x, want[i])
		}
	}
}

// panels are a panel of random elements, and the same in float32.
func (g *GemmMixed) panels(t *testing.T, r *rand.Rand, depth int) (panel unsafe.Pointer, wide []float32) {
	n := max(g.Cols*depth, 1)
	if g.Stored == StoredS8 {
		x, _ := guardedOf(n, func(int) int8 { return int8(r.Intn(256) - 128) })
		for _, v := range x {
			wide = append(wide, float32(v))
		}
		return unsafe.Pointer(&x[0]), wide
	}
	x, _ := guardedOf(n, func(i int) uint16 {
		if i%97 == 3 {
			return [...]uint16{0x7c00, 0x7e00, 0xfc00, 0x7f80, 0x7fc0, 1, 0x8001, 0x8000}[r.Intn(8)]
		}
		return uint16(0x3800 + r.Intn(0x800))
	})
	widen := WidenF16
	if g.Stored == StoredBF16 {
		widen = WidenBF16
	}
	padded := append(slices.Clone(x), make([]uint16, 64)...)
	wide = make([]float32, len(padded))
	if widen(g.tier, wide, padded) < n {
		t.Fatal("the panel is not converted")
	}
	return unsafe.Pointer(&x[0]), wide[:n]
}
