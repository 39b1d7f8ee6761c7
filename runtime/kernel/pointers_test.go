package kernel

import (
	"testing"
	"unsafe"
)

// TestPointersStay wants the pointers that kernels move in their arguments to end at the last part of what they point into. The garbage
// collector looks at them while a kernel's caller goes on, and ends the process at one to free memory, such as may lie right behind.
func TestPointersStay(t *testing.T) {
	const tiles = 3
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		for _, tile := range []*WinogradTile{&WinogradSquare, &WinogradLine} {
			for _, kind := range []winogradKind{winogradOfWeights, winogradOfInputs, winogradOfProducts} {
				x, y := make([]float32, 1000*lanes), make([]float32, 1000*lanes)
				a := winogradArgs{step: floatBytes(lanes), back: -floatBytes(tile.InCols * lanes), next: floatBytes(2 * lanes), beside: floatBytes(20 * lanes),
					after: floatBytes(3 * lanes), blocks: 1, tiles: tiles}
				if kind == winogradOfWeights {
					a.back = -floatBytes(WinogradTaps * lanes)
				}
				a.lines(&x[0], 10*lanes, tile.InRows)
				a.out = [2]*float32{&y[0], &y[lanes]}
				rows := a.rows
				a.run(tier, tile.kind+kind)
				if want := [2]*float32{&y[(tiles-1)*3*lanes], &y[(tiles-1)*3*lanes+lanes]}; a.out != want || a.rows != rows {
					t.Errorf("%v, transform %d: out %v and rows %v, want %v and %v", tier, tile.kind+kind, a.out, a.rows, want, rows)
				}
			}
		}
		for _, tile := range []*WinogradTile{&WinogradSquare, &WinogradLine} {
			stayInside(t, tier, tile)
		}
		room := make([]float32, 1000*lanes)
		groups := GroupWindow{Rows: [GroupWindowSize]*float32{&room[0], &room[0], &room[0]}, Weights: &room[0], places: &room[0], Start: &room[0], Out: &room[0],
			Stride: floatBytes(lanes), Step: floatBytes(lanes), Next: floatBytes(lanes), Count: 10, Per: 2, size: GroupWindowSize, block: floatBytes(18 * lanes)}
		before := groups
		groups.positions(tier, 2*lanes+2, 1)
		if groups.Rows != before.Rows || groups.Weights != before.Weights || groups.Start != before.Start || groups.Out != before.Out || groups.places != before.places {
			t.Errorf("%v: a window of groups moves its pointers", tier)
		}
		m := make([]float32, tiles*gemvHeight*lanes)
		v := gemv{a: &m[0], stride: floatBytes(lanes), x: &m[0], out: &make([]float32, tiles*gemvHeight)[0], depth: 1, blocks: tiles}
		v.rows(tier)
		if want := &m[(tiles-1)*gemvHeight*lanes]; v.a != want {
			t.Errorf("%v: a product's matrix %v, want %v", tier, v.a, want)
		}
	}
}

// stayInside has so many tiles, of channels that fill no vector, that the transform of inputs takes several calls. Inputs and planes end where
// the last tile does.
func stayInside(t *testing.T, tier Tier, tile *WinogradTile) {
	t.Helper()
	channels := 2*lanesOf(tier) + 1
	tiles := 2*(winogradMost/3) + 1
	w := Winograd{WinogradTile: tile, Tiles: tiles, Channels: channels, Plane: tiles * channels}
	x := make([]float32, ((tiles-1)*tile.Cols+tile.InCols)*channels)
	y := make([]float32, tile.Products*w.Plane)
	a := winogradArgs{step: floatBytes(channels), back: -floatBytes(tile.InCols * channels), next: floatBytes(tile.Cols * channels), beside: floatBytes(w.Plane),
		after: floatBytes(channels)}
	a.lines(&x[0], 0, tile.InRows)
	a.out = [2]*float32{&y[0], &y[0]}
	w.each(tier, &a, winogradOfInputs)
	for _, p := range a.rows {
		if last := unsafe.Pointer(&x[len(x)-1]); uintptr(unsafe.Pointer(p)) > uintptr(last) || uintptr(unsafe.Pointer(p)) < uintptr(unsafe.Pointer(&x[0])) {
			t.Errorf("%v, tiles %dx%d: a row at %p, the last input at %p", tier, tile.Rows, tile.Cols, p, last)
		}
	}
	for _, p := range a.out {
		if last := unsafe.Pointer(&y[w.Plane-1]); uintptr(unsafe.Pointer(p)) > uintptr(last) || uintptr(unsafe.Pointer(p)) < uintptr(unsafe.Pointer(&y[0])) {
			t.Errorf("%v, tiles %dx%d: results at %p, the first plane's last at %p", tier, tile.Rows, tile.Cols, p, last)
		}
	}
}
