package op

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestMeanRows holds averages of contiguous images of all sizes against their definition.
func TestMeanRows(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		h, w := 1+r.Intn(9), 1+r.Intn(24)
		k, stride := [2]int{1 + r.Intn(5), 1 + r.Intn(5)}, [2]int{1 + r.Intn(3), 1 + r.Intn(3)}
		pad := [2]int{r.Intn(k[0]/2 + 1), r.Intn(k[1]/2 + 1)}
		if h+2*pad[0] < k[0] || w+2*pad[1] < k[1] {
			continue
		}
		ceil, padded := r.Intn(2) == 0, r.Intn(2) == 0
		x := finite(1, 3, tensor.Dim(h), tensor.Dim(w))
		out := mustCall(t, &AvgPool2dF32, x, dims{tensor.Dim(k[0]), tensor.Dim(k[1])}, dims{tensor.Dim(stride[0]), tensor.Dim(stride[1])},
			dims{tensor.Dim(pad[0]), tensor.Dim(pad[1])}, ceil, padded, nil)
		in, got := elems[float32](x), elems[float32](out)
		high, wide := int(out.Sizes[2]), int(out.Sizes[3])
		for i, v := range got {
			c, at := i/(high*wide), [2]int{i / wide % high, i % wide}
			var low, end [2]int // of the window
			count := 1          // of what it covers
			for d, n := range [2]int{h, w} {
				low[d] = at[d]*stride[d] - pad[d]
				end[d] = min(low[d]+k[d], n+pad[d])
				if padded {
					count *= end[d] - low[d]
				}
				low[d], end[d] = max(low[d], 0), min(end[d], n)
				if !padded {
					count *= end[d] - low[d]
				}
			}
			want := 0.0
			for y := low[0]; y < end[0]; y++ {
				for x := low[1]; x < end[1]; x++ {
					want += float64(in[(c*h+y)*w+x])
				}
			}
			want /= float64(count)
			if math.Abs(float64(v)-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%dx%d, windows %v, stride %v, padding %v, ceil %v, padded %v: element %d is %v, want %v", h, w, k, stride, pad, ceil, padded, i, v, want)
			}
		}
	}
}

// BenchmarkMeanRows averages 3x3 windows of contiguous images, as poolformer does.
func BenchmarkMeanRows(b *testing.B) {
	for _, n := range []tensor.Dim{56, 28, 14, 7} {
		x := finite(1, 64, n, n)
		b.Run(fmt.Sprintf("%dx%d", n, n), func(b *testing.B) {
			for b.Loop() {
				if _, err := callIn(kernel.Best(), &AvgPool2dF32, 1, false, x, dims{3, 3}, dims{1, 1}, dims{1, 1}, false, false, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMeansAgain holds means of images and volumes by several threads, and those of further calls, the last of smaller images, against the
// scalar tier's.
func TestMeansAgain(t *testing.T) {
	for _, c := range []struct {
		kernel                     *Kernel
		size, windows, stride, pad dims
		padded                     bool
	}{
		{&AvgPool2dF32, dims{2, 40, 20, 22}, dims{3, 3}, dims{1, 1}, dims{1, 1}, false},
		{&AvgPool2dF32, dims{2, 40, 20, 22}, dims{3, 2}, dims{2, 1}, dims{1, 0}, true},
		{&AvgPool3dF32, dims{1, 12, 7, 20, 22}, dims{3, 3, 2}, dims{2, 1, 2}, dims{1, 1, 1}, false},
		{&AvgPool3dF32, dims{1, 12, 7, 20, 22}, dims{2, 2, 2}, dims{2, 2, 2}, dims{0, 1, 1}, true},
	} {
		x := finite(c.size...)
		args := []any{x, c.windows, c.stride, c.pad, true, c.padded, nil}
		check := func(v *Invoker) {
			t.Helper()
			want, err := callIn(kernel.Scalar, c.kernel, 1, false, args...)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Call(); err != nil {
				t.Fatal(err)
			}
			if err := sameResults(want[0], v.Outs[0]); err != nil {
				t.Errorf("%v, windows %v: %v", x.Sizes, c.windows, err)
			}
		}
		env := &Env{Temp: &Temp{}, Threads: 3, Parallel: shuffled(3)}
		v := invokerOf(t, c.kernel, env, vals(args...), Options{Tier: kernel.Best()}, 0)
		v.Stable = true
		for round := range 3 {
			for i := range elems[float32](x) {
				elems[float32](x)[i] += float32(i % 7 * round)
			}
			check(v)
		}
		env.Parallel = func(n, _ int, f func(lo, hi int)) { f(0, n/2); f(n/2, n) }
		halves := invokerOf(t, c.kernel, env, vals(args...), Options{Tier: kernel.Best()}, 0)
		halves.Fixed = true
		if n := testing.AllocsPerRun(5, func() { _ = halves.Call() }); n != 0 {
			t.Errorf("%v, windows %v: %v allocations", c.size, c.windows, n)
		}
		check(halves)
		smaller := slices.Clone(c.size)
		smaller[len(smaller)-2] -= 3
		*x = *finite(smaller...)
		check(v)
	}
}

// TestMeanSizes averages no images, with steps and windows that are much larger than the image.
func TestMeanSizes(t *testing.T) {
	for _, c := range []struct {
		kernel                     *Kernel
		size, windows, stride, pad dims
	}{
		{&AvgPool2dF32, dims{0, 3, 20, 22}, dims{3, 3}, dims{1, 1}, dims{1, 1}},
		{&AvgPool2dF32, dims{2, 0, 20, 22}, dims{3, 3}, dims{1, 1}, dims{1, 1}},
		{&AvgPool3dF32, dims{0, 3, 4, 20, 22}, dims{3, 3, 3}, dims{1, 1, 1}, dims{1, 1, 1}},
		{&AvgPool2dF32, dims{1, 1, 1, 64}, dims{1, 1}, dims{1 << 24, 1}, dims{0, 0}},
		{&AvgPool2dF32, dims{1, 1, 1, 64}, dims{1, 1}, dims{1 << 62, 1}, dims{0, 0}},
		{&AvgPool2dF32, dims{1, 1, 64, 2}, dims{1, 1}, dims{1, 1 << 24}, dims{0, 0}},
		{&AvgPool2dF32, dims{1, 1, 8, 64}, dims{1 << 32, 1 << 32}, dims{1, 1}, dims{1 << 31, 1 << 31}},
		{&AvgPool3dF32, dims{1, 1, 2, 8, 64}, dims{1 << 22, 1 << 22, 1 << 20}, dims{1, 1, 1}, dims{1 << 21, 1 << 21, 1 << 19}},
	} {
		temp := &Temp{Limit: 1 << 20}
		args := vals(finite(c.size...), c.windows, c.stride, c.pad, false, true, nil)
		if err := invokerOf(t, c.kernel, &Env{Temp: temp}, args, Options{Tier: kernel.Best()}, 0).Call(); err != nil {
			t.Errorf("%v, windows %v, stride %v: %v", c.size, c.windows, c.stride, err)
		}
	}
}
