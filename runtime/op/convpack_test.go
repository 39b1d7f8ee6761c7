package op

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestPackConv packs weights of convolutions that lie in both orders, and looks for each weight where its channel and tap are.
func TestPackConv(t *testing.T) {
	for _, order := range [][]uint8{nil, {0, 2, 3, 1}, {1, 0, 2, 3}} {
		for _, channelsInner := range []bool{false, true} {
			for _, groups := range []int{1, 2} {
				for _, size := range []struct{ in, out, kernel int }{{1, 1, 1}, {3, 5, 3}, {20, 37, 3}, {130, 16, 1}, {1, 19, 3}} {
					c := &conv{spatial: 2, kernel: triple{1, size.kernel, size.kernel}, groups: groups, inPer: size.in, outPer: size.out,
						channelsInner: channelsInner, tiling: tiling{cols: 16}}
					c.out.channels = groups * size.out
					w := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{tensor.Dim(c.out.channels), tensor.Dim(size.in),
						tensor.Dim(size.kernel), tensor.Dim(size.kernel)}, DimOrder: order}}
					t.Run(fmt.Sprintf("%v %v %d %v", order, channelsInner, groups, size), func(t *testing.T) { testPackConv(t, c, w) })
				}
			}
		}
	}
}

// TestPackFew holds packed weights of groups of few channels that lie in several orders against those that lie as they are meant.
func TestPackFew(t *testing.T) {
	tier := kernel.Tiers()[len(kernel.Tiers())-1]
	if kernel.GemmF32(tier) == nil {
		t.Skip("no kernels on this machine")
	}
	c := &conv{spatial: 2, kernel: triple{1, 3, 3}, groups: 9, inPer: 4, outPer: 4, groupTier: tier}
	c.out.channels = c.groups * c.outPer
	pack := func(w *tensor.Tensor) []float32 {
		dst := make([]float32, c.convPacked())
		packConv(dst, c, w)
		return dst
	}
	w := wave(36, 4, 3, 3)
	want := pack(w)
	for _, order := range [][]uint8{{0, 2, 3, 1}, {1, 0, 2, 3}} {
		if got := pack(ordered(w, order...)); !slices.Equal(got, want) {
			t.Errorf("order %v: packed in another way", order)
		}
	}
}

func testPackConv(t *testing.T, c *conv, w *tensor.Tensor) {
	w.Data = AlignedBytes(w.Nbytes())
	x := elems[float32](w)
	for i := range x {
		x[i] = float32(i + 1)
	}
	dst := make([]float32, c.groups*c.len(c.depth(), c.outPer)+c.taps()*c.out.channels)
	packConv(dst, c, w)
	var s [tensor.MaxRank]int
	stridesOf(&w.Meta, &s)
	for o := range c.out.channels {
		for ci := range c.inPer {
			for tap := range c.taps() {
				want := x[o*s[0]+ci*s[1]+c.tapOffset(tap, &s)]
				if got := dst[packedAt(c, o, ci, tap)]; got != want {
					t.Fatalf("output %d, input %d, tap %d: got weight %v, want %v", o, ci, tap, got, want)
				}
			}
		}
	}
}

// packedAt is where a weight lies that is packed.
func packedAt(c *conv, o, ci, tap int) int {
	if c.depthwise() {
		return tap*c.out.channels + o
	}
	row := ci*c.taps() + tap
	if c.channelsInner {
		row = tap*c.inPer + ci
	}
	j := o % c.outPer / c.cols * c.cols
	return o/c.outPer*c.len(c.depth(), c.outPer) + j*c.depth() + row*c.width(min(c.cols, c.outPer-j)) + o%c.outPer - j
}
