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
		for _, channels := range []int{lanes, lanes + 1, 2*lanes - 1, 3 * lanes} {
			for _, tiles := range []int{1, 3, winogradMost/2 + 1} {
				t.Run(fmt.Sprintf("%v/%d tiles of %d channels", tier, tiles, channels), func(t *testing.T) {
					checkWinogradWeights(t, tier, tiles, channels)
					checkWinogradIn(t, tier, tiles, channels)
					checkWinogradOut(t, tier, tiles, channels)
				})
			}
		}
	}
}

var (
	winogradG = [4][4]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	winogradB = [4][4]float64{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}} // Bᵀ
	winogradA = [2][4]float64{{1, 1, 1, 0}, {0, 1, -1, -1}}                              // Aᵀ
)

// sandwich is element r, c of left·m·leftᵀ.
func sandwich(left [][4]float64, r, c int, m func(i, j int) float64) (sum, size float64) {
	for i := range 4 {
		for j := range 4 {
			v := left[r][i] * left[c][j] * m(i, j)
			sum, size = sum+v, size+math.Abs(v)
		}
	}
	return sum, size
}

func checkWinogradWeights(t *testing.T, tier Tier, inputs, channels int) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	column := inputs * channels
	w := Winograd{Tiles: inputs, Channels: channels, Plane: inputs*channels + 5}
	x, planes := guarded(r, 9*column), guarded(r, WinogradPlanes*w.Plane)
	w.Planes = &planes[0]
	gap := planes[w.Plane-1]
	w.Weights(tier, &x[0], 3*column, column)
	if !intact(planes) || planes[w.Plane-1] != gap {
		t.Fatal("a value beside the planes is changed")
	}
	for k := range inputs {
		for c := range channels {
			for f := range WinogradPlanes {
				want, size := sandwich(winogradG[:], f/4, f%4, func(i, j int) float64 {
					if i == 3 || j == 3 {
						return 0
					}
					return float64(x[(3*i+j)*column+k*channels+c])
				})
				if got := float64(planes[f*w.Plane+k*channels+c]); math.Abs(got-want) > 4e-7*size {
					t.Fatalf("plane %d of weights %d, channel %d: %v, want %v", f, k, c, got, want)
				}
			}
		}
	}
}

func checkWinogradIn(t *testing.T, tier Tier, tiles, channels int) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	column := channels + 3
	line := (2*tiles + 3) * column
	w := Winograd{Tiles: tiles, Channels: channels, Plane: tiles*channels + 5}
	x, planes := guarded(r, 4*line), guarded(r, WinogradPlanes*w.Plane)
	w.Planes = &planes[0]
	gap := planes[w.Plane-1]
	w.In(tier, &x[0], line, column)
	if !intact(planes) || planes[w.Plane-1] != gap {
		t.Fatal("a value beside the planes is changed")
	}
	for k := range tiles {
		for c := range channels {
			for f := range WinogradPlanes {
				want, size := sandwich(winogradB[:], f/4, f%4, func(i, j int) float64 { return float64(x[i*line+(2*k+j)*column+c]) })
				if got := float64(planes[f*w.Plane+k*channels+c]); math.Abs(got-want) > 3e-7*size {
					t.Fatalf("plane %d of tile %d, channel %d: %v, want %v", f, k, c, got, want)
				}
			}
		}
	}
}

func checkWinogradOut(t *testing.T, tier Tier, tiles, channels int) {
	t.Helper()
	const low, high = -1.5, 2
	r := rand.New(rand.NewSource(1))
	column := channels + 3
	line := (2*tiles + 1) * column
	w := Winograd{Tiles: tiles, Channels: channels, Plane: tiles*channels + 5}
	planes, y := guarded(r, WinogradPlanes*w.Plane), guarded(r, 2*line)
	w.Planes = &planes[0]
	gaps := [2]float32{y[channels], y[2*tiles*column]}
	if !w.Out(tier, &y[0], line, column, low, high) {
		t.Error("finite results are said to be not")
	}
	if !intact(y) || gaps != [2]float32{y[channels], y[2*tiles*column]} {
		t.Fatal("a value beside the results is changed")
	}
	for k := range tiles {
		for c := range channels {
			for f := range 4 {
				sum, size := sandwich(winogradA[:], f/2, f%2, func(i, j int) float64 { return float64(planes[(4*i+j)*w.Plane+k*channels+c]) })
				want := math.Min(math.Max(sum, low), high)
				if got := float64(y[f/2*line+(2*k+f%2)*column+c]); math.Abs(got-want) > 3e-7*size {
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
