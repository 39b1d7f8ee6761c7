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
	tile := TileMixed{Tile: Tile{Left: &left[0], Stride: uintptr(4 * depth), Panel: (*float32)(panel), Out: &got[0], OutStride: uintptr(4 * outStride),
		Depth: uintptr(depth), Segments: 1, Start: &start[0], Low: -3, High: 90}}
	if rows%2 == 0 {
		rowStart, _ := guardedOf(rows, normal)
		tile.RowStart = &rowStart[0]
	}
	g.Run(&tile, rows)
	tile.Panel, tile.Out = &wide[0], &want[0]
	GemmF32(tier).Run(&tile.Tile, rows)
	if !intact() {
		t.Fatal("a value beside the output is changed")
	}
	for i, x := range got {
		if x != want[i] && !(math.IsNaN(float64(x)) && math.IsNaN(float64(want[i]))) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/outStride, i%outStride, x, want[i])
		}
	}
}

// TestGemmBlocks holds tiles with panels in blocks against those with the same panels in float32, and what Widen makes of the panels,
// to the bit.
func TestGemmBlocks(t *testing.T) {
	for _, tier := range tiers() {
		for _, stored := range []Stored{StoredQ8, StoredQ4} {
			g := MixedOf(tier, stored)
			if g == nil {
				continue
			}
			for rows := 1; rows <= g.Rows; rows++ {
				for _, b := range [][2]int{{1, 2}, {3, 2}, {1, 6}, {4, 8}, {2, 32}, {5, 34}, {1, 2*tileMost + 6}, {3, tileMost + 10}, {70, 64}, {3, tileMost/2 + 2}} {
					for _, zeroGap := range []int{0, 1} {
						t.Run(fmt.Sprintf("%v/%v/%dx%dx%d/%d", tier, stored, rows, b[0], b[1], zeroGap), func(t *testing.T) {
							checkGemmBlocks(t, tier, g, rows, b[0], b[1], zeroGap)
						})
					}
				}
			}
		}
	}
}

func checkGemmBlocks(t *testing.T, tier Tier, g *GemmMixed, rows, blocks, block, zeroGap int) {
	depth := blocks * block
	r := rand.New(rand.NewSource(int64(rows*1000 + depth)))
	normal := func(int) float32 { return float32(r.NormFloat64()) }
	left, _ := guardedOf(rows*depth, normal)
	scales, _ := guardedOf(blocks*g.Cols, normal)
	zeros, _ := guardedOf((1+(blocks-1)*zeroGap)*g.Cols, func(int) float32 { return float32(r.Intn(20) - 5) })
	scales[len(scales)/2], scales[0] = float32(math.Inf(1)), 1e-40
	const gap = 3 // between the bytes of blocks
	size := block * g.Cols * int(g.Stored.bits()) / 8
	panel, _ := guardedOf(blocks*(size+gap), func(int) uint8 { return uint8(r.Intn(256)) })
	wide := make([]float32, depth*g.Cols)
	for k := range depth {
		for c := range g.Cols {
			var q float32
			if bytes := panel[k/block*(size+gap):]; g.Stored == StoredQ4 {
				q = float32(bytes[k%block/2*g.Cols+c] >> (k % 2 * 4) & 15)
			} else {
				q = float32(int8(bytes[k%block*g.Cols+c]))
			}
			wide[k*g.Cols+c] = (q - zeros[k/block*zeroGap*g.Cols+c]) * scales[k/block*g.Cols+c]
		}
	}
	start, _ := guardedOf(g.Cols, normal)
	outStride := g.Cols + 3
	got, intact := guardedOf(rows*outStride, func(int) float32 { return 88 })
	want := slices.Clone(got)
	tile := TileMixed{Tile: Tile{Left: &left[0], Stride: uintptr(4 * depth), Panel: (*float32)(unsafe.Pointer(&panel[0])), Out: &got[0], OutStride: uintptr(4 * outStride),
		Depth: uintptr(block), Segments: uintptr(blocks), Start: &start[0], Low: -3, High: 90, PanelGap: gap},
		Scales: &scales[0], Zeros: &zeros[0], ScaleGap: uintptr(g.Cols * 4), ZeroGap: uintptr(zeroGap * g.Cols * 4)}
	if rows%2 == 0 {
		rowStart, _ := guardedOf(rows, normal)
		tile.RowStart = &rowStart[0]
	}
	g.Run(&tile, rows)
	float := tile.Tile
	float.Panel, float.Out, float.Depth, float.Segments, float.PanelGap = &wide[0], &want[0], uintptr(depth), 1, 0
	GemmF32(tier).Run(&float, rows)
	if !intact() {
		t.Fatal("a value beside the output is changed")
	}
	same := func(x, y float32) bool { return x == y || x != x && y != y }
	for i, x := range got {
		if !same(x, want[i]) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/outStride, i%outStride, x, want[i])
		}
	}
	b := blocks - 1
	tile.Panel = floatAt(tile.Panel, uintptr(b*(size+gap)))
	tile.Scales, tile.Zeros = &scales[b*g.Cols], &zeros[b*zeroGap*g.Cols]
	widened, intact := guardedOf(block*g.Cols, func(int) float32 { return 88 })
	g.Widen(widened, &tile)
	if !intact() {
		t.Fatal("a value beside what is widened is changed")
	}
	for i, x := range widened {
		if want := wide[b*block*g.Cols+i]; !same(x, want) {
			t.Fatalf("widened row %d, column %d: got %v, want %v", i/g.Cols, i%g.Cols, x, want)
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
