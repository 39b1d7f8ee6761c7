package rt

import (
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestPool holds the largest elements of windows in every tier against a loop; some windows lie beside the image.
func TestPool(t *testing.T) {
	const h, w, c = 5, 6, 35
	x := floatsTensor(tensor.Float, []uint32{1, h, w, c}, make([]float32, h*w*c))
	in := sliceOf[float32](x.Data, h*w*c)
	for i := range in {
		in[i] = float32(i * 37 % 101)
	}
	for _, p := range []blob.Pool{
		{Height: 3, Width: 2, StrideHeight: 2, StrideWidth: 1, DilationHeight: 1, DilationWidth: 2, Top: 1, Left: 1, Bottom: 1, Right: 1},
		{Height: 2, Width: 2, StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1, Top: 4, Left: 4, Bottom: 3, Right: 5},
		{Height: 2, Width: 3, StrideHeight: 3, StrideWidth: 2, DilationHeight: 2, DilationWidth: 3, Top: 7, Right: 9},
	} {
		want := largestLoop(in, &p, h, w, c)
		for _, tier := range kernel.Tiers() {
			out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float}}
			call := &ownCall{args: []*tensor.Tensor{x}, outs: []*tensor.Tensor{out}, tier: tier,
				alloc: func(n int) ([]byte, error) { return make([]byte, n), nil },
				resize: func(o *tensor.Tensor, sizes []tensor.Dim) error {
					o.Sizes = slices.Clone(sizes)
					o.Data = make([]byte, o.Nbytes())
					return nil
				}}
			if err := maxPool(p)(call); err != nil {
				t.Fatal(err)
			}
			if got := sliceOf[float32](out.Data, out.Numel()); !slices.Equal(got, want) {
				t.Errorf("%v: %+v: got %v, want %v", tier, p, got, want)
			}
		}
	}
}

// largestLoop gives the largest element of each window of an image, -Inf where there is none.
func largestLoop(x []float32, p *blob.Pool, h, w, c int) (out []float32) {
	for y := -p.Top; y+(p.Height-1)*p.DilationHeight < h+p.Bottom; y += p.StrideHeight {
		for z := -p.Left; z+(p.Width-1)*p.DilationWidth < w+p.Right; z += p.StrideWidth {
			for k := range c {
				v := float32(math.Inf(-1))
				for i := range p.Height * p.Width {
					row, col := y+i/p.Width*p.DilationHeight, z+i%p.Width*p.DilationWidth
					if row >= 0 && row < h && col >= 0 && col < w {
						v = max(v, x[(row*w+col)*c+k])
					}
				}
				out = append(out, v)
			}
		}
	}
	return out
}
