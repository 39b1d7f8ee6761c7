package op

import (
	"fmt"
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestResampleTiers resamples in every tier, which call holds against Scalar: images that become larger and smaller, with
// channels outside and inside, whose rows fill no vector, and with an infinity and a NaN.
func TestResampleTiers(t *testing.T) {
	images := []struct{ from, to dims }{
		{dims{8, 8}, dims{16, 16}}, {dims{7, 7}, dims{14, 14}}, {dims{1, 1}, dims{40, 33}}, {dims{5, 30}, dims{3, 64}}, {dims{64, 64}, dims{40, 40}},
		{dims{9, 200}, dims{9, 31}}, {dims{20, 17}, dims{41, 17}}, {dims{2, 3}, dims{4, 5}}, {dims{3, 100}, dims{2, 1}},
	}
	for _, c := range images {
		for _, channels := range []int64{1, 3, 40} {
			x := wave(2, channels, c.from[0], c.from[1])
			elems[float32](x)[x.Numel()/2] = float32(math.Inf(1))
			elems[float32](x)[0] = float32(math.NaN())
			for _, in := range []*tensor.Tensor{x, ordered(x, orderChannelsLast...)} {
				for _, align := range []bool{false, true} {
					one := []any{in, c.to, align, nil}
					two := append(one, nil)
					for _, run := range []struct {
						k    *Kernel
						args []any
					}{
						{&UpsampleBilinear2dF32, one}, {&UpsampleBicubic2dF32, two}, {&UpsampleBilinear2dAaF32, two}, {&UpsampleBicubic2dAaF32, two},
					} {
						t.Run(fmt.Sprint(run.k.Def.Functional, in.Sizes, in.DimOrder, c.to, align), func(t *testing.T) { mustCall(t, run.k, run.args...) })
					}
				}
			}
		}
	}
}

// TestResampleVolumes is TestResampleTiers of volumes.
func TestResampleVolumes(t *testing.T) {
	for _, c := range []struct{ from, to dims }{{dims{3, 4, 9}, dims{5, 8, 33}}, {dims{4, 1, 40}, dims{2, 1, 64}}} {
		for _, channels := range []int64{2, 20} {
			x := wave(2, channels, c.from[0], c.from[1], c.from[2])
			for _, in := range []*tensor.Tensor{x, ordered(x, orderChannelsLast3d...)} {
				t.Run(fmt.Sprint(in.Sizes, in.DimOrder, c.to), func(t *testing.T) {
					mustCall(t, &UpsampleTrilinear3dF32, in, c.to, false, nil, nil, nil)
				})
			}
		}
	}
}
