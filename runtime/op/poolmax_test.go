package op

import (
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestMaxPoolTiers runs poolings, NaN and infinities among the elements, in every tier, which call holds against Scalar.
func TestMaxPoolTiers(t *testing.T) {
	for _, c := range []struct {
		size                          dims
		kernel, stride, pad, dilation dims
		ceil                          bool
	}{
		{dims{2, 3, 58, 78}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, true},
		{dims{3, 57, 77}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, true},
		{dims{1, 4, 112, 112}, dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 20, 8, 8}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},
		{dims{1, 5, 9, 7}, dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, true},
		{dims{2, 3, 128, 1}, dims{2, 1}, dims{2, 1}, dims{0, 0}, dims{1, 1}, false},
		{dims{2, 3, 1, 65}, dims{1, 3}, dims{1, 1}, dims{0, 1}, dims{1, 1}, false},
		{dims{1, 2, 40, 33}, dims{3, 5}, dims{1, 3}, dims{0, 2}, dims{4, 2}, true},
		{dims{1, 2, 9, 100}, dims{9, 9}, dims{1, 1}, dims{4, 4}, dims{1, 1}, false},
		{dims{1, 2, 3, 3}, dims{3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 2, 3000, 6}, dims{2, 2}, dims{2, 1}, dims{1, 0}, dims{1, 1}, true},
		{dims{2, 37, 9, 11}, dims{3, 3}, dims{2, 2}, dims{1, 1}, dims{1, 1}, true},
		{dims{1, 11, 12, 10}, dims{3, 2}, dims{1, 3}, dims{1, 0}, dims{1, 1}, false},
		{dims{1, 64, 12, 10}, dims{3, 2}, dims{1, 3}, dims{1, 0}, dims{2, 3}, false},
		{dims{2, 20, 14, 15}, dims{12, 11}, dims{1, 2}, dims{2, 0}, dims{1, 1}, false}, // more elements than kernels take
		{dims{1, 2, 9, 70}, dims{3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 1, 6, 90}, dims{2, 3}, dims{2, 3}, dims{0, 1}, dims{1, 1}, true},
		{dims{1, 4, 10, 10}, dims{3, 3}, dims{1, 1}, dims{1, 1}, dims{1, 1}, false},
		{dims{1, 3, 14, 14}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},
		{dims{1, 2, 400, 70}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},  // more rows than are computed together
		{dims{1, 1, 2, 30000}, dims{2, 9}, dims{1, 2}, dims{0, 0}, dims{1, 1}, false}, // rows longer than a call of a kernel takes
		{dims{3, 0, 8, 8}, dims{2, 2}, dims{2, 2}, dims{0, 0}, dims{1, 1}, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			plain, special := finite(c.size...), mixed(tensor.Float, 7, c.size...)
			order := lastOrder(len(c.size), true)
			for _, x := range []*tensor.Tensor{special, plain, ordered(special, order...), ordered(plain, order...)} {
				args := []any{x, c.kernel, c.stride, c.pad, c.dilation, c.ceil}
				outs, err := call(&MaxPool2dWithIndicesF32, 2, true, args...)
				if err != nil {
					t.Fatal(err)
				}
				checkUnread(t, &MaxPool2dWithIndicesF32, outs[0], args...)
			}
		})
	}
}

// checkUnread holds what a pooling gives in every tier on one thread and two, where nobody reads the places, against want.
func checkUnread(t *testing.T, k *Kernel, want *tensor.Tensor, args ...any) {
	t.Helper()
	for _, tier := range kernel.Tiers() {
		if tier > kernel.Best() {
			break
		}
		for n := 1; n <= 2; n++ {
			pool := threads.New(n)
			i := invokerOf(t, k, &Env{Temp: &Temp{}, Parallel: pool.Run, Threads: n}, vals(args...), Options{Tier: tier}, indices)
			if err := i.Call(); err != nil {
				t.Fatal(err)
			}
			if err := sameResults(ordered(want, i.Outs[0].DimOrder...), i.Outs[0]); err != nil {
				t.Errorf("%v, %d threads, without places: %v", tier, n, err)
			}
			pool.Close()
		}
	}
}

// TestMaxPool3dTiers is TestMaxPoolTiers for volumes.
func TestMaxPool3dTiers(t *testing.T) {
	for _, c := range []struct {
		size                          dims
		kernel, stride, pad, dilation dims
		ceil                          bool
	}{
		{dims{1, 3, 8, 32, 32}, dims{2, 2, 2}, dims{2, 2, 2}, dims{0, 0, 0}, dims{1, 1, 1}, false},
		{dims{2, 3, 5, 20, 37}, dims{3, 3, 3}, dims{2, 2, 2}, dims{1, 1, 1}, dims{1, 1, 1}, true},
		{dims{4, 9, 18, 7}, dims{2, 3, 2}, dims{1, 1, 1}, dims{0, 1, 1}, dims{3, 2, 1}, false},
		{dims{1, 18, 4, 6, 35}, dims{1, 3, 3}, dims{1, 2, 2}, dims{0, 1, 1}, dims{1, 1, 1}, false},
		{dims{1, 2, 7, 1, 40}, dims{3, 1, 3}, dims{2, 1, 1}, dims{0, 0, 1}, dims{1, 1, 1}, true},
		{dims{1, 2, 1, 40, 1}, dims{1, 3, 1}, dims{1, 1, 1}, dims{0, 0, 0}, dims{1, 1, 1}, false},
		{dims{1, 3, 2, 9, 40}, dims{2, 2, 2}, dims{1, 1, 1}, dims{1, 0, 0}, dims{3, 1, 1}, false}, // windows without elements
		{dims{0, 3, 4, 20, 22}, dims{3, 3, 3}, dims{1, 1, 1}, dims{1, 1, 1}, dims{1, 1, 1}, false},
		{dims{1, 2, 6, 8, 20}, dims{5, 5, 5}, dims{1, 1, 1}, dims{2, 2, 2}, dims{1, 1, 1}, false}, // more elements than kernels take
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			special := mixed(tensor.Float, 7, c.size...)
			list := []*tensor.Tensor{special, finite(c.size...), ordered(special, lastOrder(len(c.size), len(c.size) == 5)...)}
			if len(c.size) == 5 {
				list = append(list, ordered(special, 0, 2, 1, 3, 4))
			}
			for _, x := range list {
				args := []any{x, c.kernel, c.stride, c.pad, c.dilation, c.ceil}
				outs, err := call(&MaxPool3dWithIndicesF32, 2, true, args...)
				if err != nil {
					t.Fatal(err)
				}
				checkUnread(t, &MaxPool3dWithIndicesF32, outs[0], args...)
			}
		})
	}
}

// TestMaxPoolFar has windows whose elements lie so far from each other that float32 does not have every distance between.
func TestMaxPoolFar(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a plane of 67 MB")
	}
	const height, width = 2050, 8201
	x := testTensor(tensor.Float, dims{1, 1, height, width})
	elems[float32](x)[(height-1)*width+7] = 1 // 2049·8201 and 7 is odd, and beyond 1<<24
	sig := ParseSignature(MaxPool2dWithIndices.Schema)
	args := vals(x, dims{2, 3}, dims{1, 1}, dims{0, 0}, dims{height - 1, 1}, false)
	outs := []*tensor.Tensor{testTensor(tensor.Float, dims{1, 1, 1, width - 2}), testTensor(tensor.Long, dims{1, 1, 1, width - 2})}
	plan, err := Prepare(&MaxPool2dWithIndicesF32, &sig, args, nil, Options{Tier: kernel.Best()})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Bind(args, outs, &Env{Temp: &Temp{}}).Call(); err != nil {
		t.Fatal(err)
	}
	for w := 5; w <= 7; w++ {
		if got, want := elems[int64](outs[1])[w], int64((height-1)*width+7); got != want {
			t.Errorf("window %d: its largest element is at %d, want %d", w, got, want)
		}
	}
}

// TestAvgPoolTiers runs averages in every tier, of either layout, which call holds against Scalar.
func TestAvgPoolTiers(t *testing.T) {
	for _, c := range []struct {
		size                dims
		kernel, stride, pad dims
		ceil, padded        bool
		divisor             any
	}{
		{dims{2, 64, 8, 12}, dims{2, 2}, dims{2, 2}, dims{0, 0}, false, true, nil},
		{dims{1, 37, 9, 11}, dims{3, 3}, dims{2, 2}, dims{1, 1}, true, true, nil},
		{dims{1, 37, 9, 11}, dims{3, 3}, dims{1, 2}, dims{1, 1}, true, false, nil},
		{dims{1, 20, 9, 11}, dims{2, 3}, dims{1, 1}, dims{1, 1}, false, false, 5},
		{dims{1, 11, 9, 11}, dims{2, 3}, dims{1, 1}, dims{1, 1}, false, false, nil},
		{dims{1, 20, 7, 7}, dims{7, 7}, dims{1, 1}, dims{0, 0}, false, false, nil},
		{dims{1, 20, 9, 9}, dims{9, 9}, dims{1, 1}, dims{0, 0}, false, false, nil},
		{dims{1, 20, 2, 2}, dims{5, 5}, dims{2, 2}, dims{2, 2}, true, true, nil}, // the same elements, other counts
		{dims{1, 3, 9, 40}, dims{3, 3}, dims{1, 1}, dims{1, 1}, false, true, nil},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x := finite(c.size...)
			for _, x := range []*tensor.Tensor{x, ordered(x, lastOrder(4, true)...)} {
				mustCall(t, &AvgPool2dF32, x, c.kernel, c.stride, c.pad, c.ceil, c.padded, c.divisor)
			}
		})
	}
	x := ordered(finite(2, 35, 10, 13), lastOrder(4, true)...)
	mustCall(t, &AdaptiveAvgPool2dF32, x, dims{4, 5})
	mustCall(t, &AdaptiveAvgPool2dF32, x, dims{1, 13})
	mustCall(t, &AdaptiveAvgPool2dF32, ordered(finite(2, 35, 13, 10), lastOrder(4, true)...), dims{5, 4}) // windows of 3, by turns 2 and 3 apart
	if _, err := call(&AdaptiveMaxPool2dF32, 2, true, x, dims{4, 5}); err != nil {
		t.Error(err)
	}
}
