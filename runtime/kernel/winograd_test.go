package kernel

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// TestWinograd holds the transforms of every tier against their definition in float64: channels around the lengths of vectors,
// gaps between planes and lines, and more tiles than one call of a kernel takes.
func TestWinograd(t *testing.T) {
	for _, tier := range tiers() {
		lanes := lanesOf(tier)
		for _, kind := range winogradMatrices {
			if kind.Rows == 1 {
				t.Run(fmt.Sprint(tier, ", few channels"), func(t *testing.T) { kind.checkIn(t, tier, 7, lanes-1) })
			}
			for _, channels := range []int{lanes, lanes + 1, 2*lanes - 1, 3 * lanes} {
				for _, tiles := range []int{1, 3, winogradMost/2 + 1} {
					t.Run(fmt.Sprintf("%v/%d tiles of %dx%d, %d channels", tier, tiles, kind.Rows, kind.Cols, channels), func(t *testing.T) {
						kind.checkWeights(t, tier, tiles, channels)
						kind.checkIn(t, tier, tiles, channels)
						kind.checkOut(t, tier, tiles, channels)
					})
				}
			}
		}
	}
}

// matrices are G, Bᵀ and Aᵀ along the columns of a tile, and along its rows.
type matrices struct {
	*WinogradTile
	g, b, a    [][]float64
	rg, rb, ra [][]float64
}

var winogradMatrices = []matrices{{
	WinogradTile: &WinogradSquare, g: winogradG, rg: winogradG, b: winogradB, rb: winogradB, a: winogradA, ra: winogradA,
}, {
	WinogradTile: &WinogradLine, rg: oneRow, rb: oneRow, ra: oneRow,
	g: [][]float64{{0.5, 0, 0}, {0.5, 0.5, 0.5}, {1. / 6, -1. / 6, 1. / 6}, {1. / 6, 1. / 3, 2. / 3}, {0, 0, 1}},
	b: [][]float64{{2, -1, -2, 1, 0}, {0, 2, 1, -1, 0}, {0, -2, 3, -1, 0}, {0, -1, 0, 1, 0}, {0, 2, -1, -2, 1}},
	a: [][]float64{{1, 1, 1, 1, 0}, {0, 1, -1, 2, 0}, {0, 1, 1, 4, 1}},
}}

var (
	oneRow    = [][]float64{{1}}
	winogradG = [][]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	winogradB = [][]float64{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
	winogradA = [][]float64{{1, 1, 1, 0}, {0, 1, -1, -1}}
)

// sandwich is element f, row by row, of rows·m·columnsᵀ, and the sum of what it adds up without signs.
func sandwich(rows, columns [][]float64, f int, m func(i, j int) float64) (sum, size float64) {
	for i, left := range rows[f/len(columns)] {
		for j, right := range columns[f%len(columns)] {
			v := left * right * m(i, j)
			sum, size = sum+v, size+math.Abs(v)
		}
	}
	return sum, size
}

func (m *matrices) checkWeights(t *testing.T, tier Tier, inputs, channels int) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	column := inputs * channels
	w := Winograd{WinogradTile: m.WinogradTile, Tiles: inputs, Channels: channels, Plane: inputs*channels + 5}
	x, planes := guarded(r, 9*column), guarded(r, m.Products*w.Plane)
	w.Planes = &planes[0]
	gap := planes[w.Plane-1]
	w.Weights(tier, &x[0], 3*column, column)
	if !intact(planes) || planes[w.Plane-1] != gap {
		t.Fatal("a value beside the planes is changed")
	}
	for k := range inputs {
		for c := range channels {
			for f := range m.Products {
				want, size := sandwich(m.rg, m.g, f, func(i, j int) float64 { return float64(x[(3*i+j)*column+k*channels+c]) })
				if got := float64(planes[f*w.Plane+k*channels+c]); math.Abs(got-want) > 4e-7*size {
					t.Fatalf("plane %d of weights %d, channel %d: %v, want %v", f, k, c, got, want)
				}
			}
		}
	}
}

func (m *matrices) checkIn(t *testing.T, tier Tier, tiles, channels int) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	column := channels + 3
	line := (m.Cols*tiles + 3) * column
	w := Winograd{WinogradTile: m.WinogradTile, Tiles: tiles, Channels: channels, Plane: tiles*channels + 5}
	x, planes := guarded(r, m.InRows*line), guarded(r, m.Products*w.Plane)
	w.Planes = &planes[0]
	gap := planes[w.Plane-1]
	w.In(tier, &x[0], line, column)
	if !intact(planes) || planes[w.Plane-1] != gap {
		t.Fatal("a value beside the planes is changed")
	}
	for k := range tiles {
		for c := range channels {
			for f := range m.Products {
				want, size := sandwich(m.rb, m.b, f, func(i, j int) float64 { return float64(x[i*line+(m.Cols*k+j)*column+c]) })
				if got := float64(planes[f*w.Plane+k*channels+c]); math.Abs(got-want) > 3e-7*size {
					t.Fatalf("plane %d of tile %d, channel %d: %v, want %v", f, k, c, got, want)
				}
			}
		}
	}
}

func (m *matrices) checkOut(t *testing.T, tier Tier, tiles, channels int) {
	t.Helper()
	const low, high = -1.5, 2
	r := rand.New(rand.NewSource(1))
	column := channels + 3
	line := (m.Cols*tiles + 1) * column
	w := Winograd{WinogradTile: m.WinogradTile, Tiles: tiles, Channels: channels, Plane: tiles*channels + 5}
	planes, y := guarded(r, m.Products*w.Plane), guarded(r, m.Rows*line)
	w.Planes = &planes[0]
	gaps := [2]float32{y[channels], y[m.Cols*tiles*column]}
	if !w.Out(tier, &y[0], line, column, low, high) {
		t.Error("finite results are said to be not")
	}
	if !intact(y) || gaps != [2]float32{y[channels], y[m.Cols*tiles*column]} {
		t.Fatal("a value beside the results is changed")
	}
	for k := range tiles {
		for c := range channels {
			for f := range m.Rows * m.Cols {
				sum, size := sandwich(m.ra, m.a, f, func(i, j int) float64 { return float64(planes[(m.InCols*i+j)*w.Plane+k*channels+c]) })
				want := math.Min(math.Max(sum, low), high)
				if got := float64(y[f/m.Cols*line+(m.Cols*k+f%m.Cols)*column+c]); math.Abs(got-want) > 3e-7*size {
					t.Fatalf("result %d of tile %d, channel %d: %v, want %v", f, k, c, got, want)
				}
			}
		}
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32} {
		at := (tiles-1)*channels + r.Intn(channels) // of the last tile
		for f := range 3 {
			planes[f*w.Plane+at] = float32(odd)
		}
		if w.Out(tier, &y[0], line, column, low, high) {
			t.Errorf("results of %v are said to be finite", odd)
		}
	}
}
