package rt

import (
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestPool holds the largest elements of windows in every tier against a loop, of float32 and of int8; some windows lie beside the image.
func TestPool(t *testing.T) {
	for _, c := range []int{3, 20, 35, 150} {
		for _, p := range []blob.Pool{
			{Height: 3, Width: 2, StrideHeight: 2, StrideWidth: 1, DilationHeight: 1, DilationWidth: 2, Top: 1, Left: 1, Bottom: 1, Right: 1},
			{Height: 3, Width: 3, StrideHeight: 2, StrideWidth: 2, DilationHeight: 1, DilationWidth: 1},
			{Height: 2, Width: 2, StrideHeight: 1, StrideWidth: 1, DilationHeight: 1, DilationWidth: 1, Top: 4, Left: 4, Bottom: 3, Right: 5},
			{Height: 2, Width: 3, StrideHeight: 3, StrideWidth: 2, DilationHeight: 2, DilationWidth: 3, Top: 7, Right: 9},
		} {
			testPool(t, p, c, tensor.Float, float32(math.Inf(-1)), maxPool(p))
			testPool(t, p, c, tensor.Char, int8(math.MinInt8), maxPoolS8(p))
		}
	}
}

func testPool[T float32 | int8](t *testing.T, p blob.Pool, c int, dtype tensor.ScalarType, padding T, run func(*ownCall) error) {
	const h, w = 5, 6
	x := &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: []tensor.Dim{1, h, w, tensor.Dim(c)}}}
	x.Data = make([]byte, x.Nbytes())
	in := sliceOf[T](x.Data, h*w*c)
	for i := range in {
		in[i] = T(i*37%251 - 128)
	}
	want := largestLoop(in, &p, h, w, c, padding)
	for _, tier := range kernel.Tiers() {
		out := &tensor.Tensor{Meta: tensor.Meta{DType: dtype}}
		call := &ownCall{args: []*tensor.Tensor{x}, outs: []*tensor.Tensor{out}, tier: tier,
			alloc: new(op.Temp).Alloc, resize: resizeNew}
		if err := run(call); err != nil {
			t.Fatal(err)
		}
		if got := sliceOf[T](out.Data, out.Numel()); !slices.Equal(got, want) {
			t.Errorf("%v, %d channels: %+v: got %v, want %v", tier, c, p, got, want)
		}
	}
}

// resizeNew gives o these sizes and memory of its own.
func resizeNew(o *tensor.Tensor, sizes []tensor.Dim) error {
	o.Sizes = slices.Clone(sizes)
	o.Data = make([]byte, o.Nbytes())
	return nil
}

// largestLoop gives the largest element of each window of an image, padding where there is none.
func largestLoop[T float32 | int8](x []T, p *blob.Pool, h, w, c int, padding T) (out []T) {
	for y := -p.Top; y+(p.Height-1)*p.DilationHeight < h+p.Bottom; y += p.StrideHeight {
		for z := -p.Left; z+(p.Width-1)*p.DilationWidth < w+p.Right; z += p.StrideWidth {
			for k := range c {
				v := padding
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
