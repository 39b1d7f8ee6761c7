package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"unsafe"
)

// TestGemmHalf holds tiles with panels of 16 bits against those with the same panels in float32, to the bit; NaN, infinities and
// denormals among them.
func TestGemmHalf(t *testing.T) {
	for _, tier := range tiers() {
		for _, bfloat16 := range []bool{false, true} {
			g := HalvesOf(tier, bfloat16)
			if g == nil {
				continue
			}
			for rows := 1; rows <= g.Rows; rows++ {
				for _, depth := range []int{0, 1, 3, 4, 7, 64, 2*tileMost + 5} {
					t.Run(fmt.Sprintf("%v/%v/%dx%d", tier, bfloat16, rows, depth), func(t *testing.T) { checkGemmHalf(t, tier, g, rows, depth) })
				}
			}
		}
	}
}

func checkGemmHalf(t *testing.T, tier Tier, g *GemmHalf, rows, depth int) {
	r := rand.New(rand.NewSource(int64(rows*1000 + depth)))
	normal := func(int) float32 { return float32(r.NormFloat64()) }
	left, _ := guardedOf(max(rows*depth, 1), normal)
	panel, _ := guardedOf(max(g.Cols*depth, 1), func(i int) uint16 {
		if i%97 == 3 {
			return [...]uint16{0x7c00, 0x7e00, 0xfc00, 0x7f80, 0x7fc0, 1, 0x8001, 0x8000}[r.Intn(8)]
		}
		return uint16(0x3800 + r.Intn(0x800))
	})
	wide := make([]float32, len(panel)+1)
	widen := WidenF16
	if g.bfloat16 {
		widen = WidenBF16
	}
	padded := append(slices.Clone(panel), make([]uint16, 64)...)
	if whole := make([]float32, len(padded)); widen(tier, whole, padded) < len(panel) {
		t.Fatal("the panel is not converted")
	} else {
		copy(wide, whole[:len(panel)])
	}
	start, _ := guardedOf(g.Cols, normal)
	outStride := g.Cols + 3
	got, intact := guardedOf(rows*outStride, func(int) float32 { return 88 })
	want := slices.Clone(got)
	tile := Tile{Left: &left[0], Stride: uintptr(4 * depth), Panel: (*float32)(unsafe.Pointer(&panel[0])), Out: &got[0], OutStride: uintptr(4 * outStride),
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
