package op

import (
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

type tensors = []*tensor.Tensor

func TestJoinAndPad(t *testing.T) {
	x := iota32(2, 3)
	none := iota32(0)
	row := iota32(1, 1, 4)
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []float32
	}{
		{"cat", &CatF32, []any{tensors{x, mf32(dims{1, 3}, 7, 8, 9)}, 0}, dims{3, 3}, []float32{0, 1, 2, 3, 4, 5, 7, 8, 9}},
		{"cat last", &CatF32, []any{tensors{x, mf32(dims{2, 1}, 7, 8)}, -1}, dims{2, 4}, []float32{0, 1, 2, 7, 3, 4, 5, 8}},
		{"cat orders", &CatF32, []any{tensors{ordered(x, 1, 0), x}, 0}, dims{4, 3}, []float32{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
		{"cat legacy empty", &CatF32, []any{tensors{none, x, none}, 1}, dims{2, 3}, []float32{0, 1, 2, 3, 4, 5}},
		{"cat nothing", &CatF32, []any{tensors{none}, 0}, dims{0}, nil},
		{"stack", &StackF32, []any{tensors{iota32(2), mf32(dims{2}, 7, 8)}, 1}, dims{2, 2}, []float32{0, 7, 1, 8}},
		{"stack scalars", &StackF32, []any{tensors{mf32(dims{}, 7), mf32(dims{}, 8)}, 0}, dims{2}, []float32{7, 8}},
		{"repeat", &RepeatF32, []any{iota32(1, 2), dims{2, 2, 2}}, dims{2, 2, 4}, []float32{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
		{"repeat never", &RepeatF32, []any{x, dims{0, 1}}, dims{0, 3}, nil},
		{"slice_scatter", &SliceScatterF32, []any{x, mf32(dims{2, 2}, 7, 8, 9, 10), 1, 0, nil, 2}, dims{2, 3}, []float32{7, 1, 8, 9, 4, 10}},
		{"slice_scatter converts", &SliceScatterF32, []any{x, mi64(dims{1, 3}, 7, 8, 9), 0, 1, nil, 1}, dims{2, 3}, []float32{0, 1, 2, 7, 8, 9}},
		{"select_scatter", &SelectScatterF32, []any{x, mf32(dims{2}, 7, 8), -1, -1}, dims{2, 3}, []float32{0, 1, 7, 3, 4, 8}},
		{"constant_pad", &ConstantPadNdF32, []any{iota32(1, 2), dims{1, 0, 0, 1}, 9.0}, dims{2, 3}, []float32{9, 0, 1, 9, 9, 9}},
		{"constant_pad less", &ConstantPadNdF32, []any{x, dims{-1, 1}, 9}, dims{2, 3}, []float32{1, 2, 9, 4, 5, 9}},
		{"constant_pad away", &ConstantPadNdF32, []any{x, dims{-4, 2}, 9}, dims{2, 1}, []float32{9, 9}},
		{"reflection", &ReflectionPad1dF32, []any{row, dims{2, 1}}, dims{1, 1, 7}, []float32{2, 1, 0, 1, 2, 3, 2}},
		{"reflection 2d", &ReflectionPad2dF32, []any{iota32(1, 2, 2), dims{1, 0, 0, 1}}, dims{1, 3, 3}, []float32{1, 0, 1, 3, 2, 3, 1, 0, 1}},
		{"reflection behind", &ReflectionPad1dF32, []any{row, dims{1, 3}}, dims{1, 1, 8}, []float32{1, 0, 1, 2, 3, 2, 1, 0}},
		{"reflection less", &ReflectionPad1dF32, []any{row, dims{-1, 2}}, dims{1, 1, 5}, []float32{1, 2, 3, 2, 1}},
		{"reflection of what is left out", &ReflectionPad1dF32, []any{row, dims{-2, 3}}, dims{1, 1, 5}, []float32{2, 3, 2, 1, 0}},
		{"reflection of images", &ReflectionPad2dF32, []any{iota32(2, 2, 3), dims{2, 0, 1, 0}}, dims{2, 3, 5},
			[]float32{5, 4, 3, 4, 5, 2, 1, 0, 1, 2, 5, 4, 3, 4, 5, 11, 10, 9, 10, 11, 8, 7, 6, 7, 8, 11, 10, 9, 10, 11}},
		{"reflection of no images", &ReflectionPad2dF32, []any{iota32(0, 2, 3), dims{2, 0, 1, 0}}, dims{0, 3, 5}, nil},
		{"replication of one", &ReplicationPad1dF32, []any{mf32(dims{2, 1}, 7, 8), dims{2, 1}}, dims{2, 4}, []float32{7, 7, 7, 7, 8, 8, 8, 8}},
		{"replication", &ReplicationPad1dF32, []any{row, dims{2, 1}}, dims{1, 1, 7}, []float32{0, 0, 0, 1, 2, 3, 3}},
		{"replication less", &ReplicationPad1dF32, []any{row, dims{-1, 2}}, dims{1, 1, 5}, []float32{1, 2, 3, 3, 3}},
		{"replication 3d", &ReplicationPad3dF32, []any{iota32(1, 1, 1, 2), dims{1, 0, 0, 0, 1, 0}}, dims{1, 2, 1, 3}, []float32{0, 0, 1, 0, 0, 1}},
	} {
		t.Run(test.name, func(t *testing.T) { wantOut(t, mustCall(t, test.k, test.args...), test.sizes, test.want...) })
	}
}

func TestParts(t *testing.T) {
	x := iota32(2, 3)
	for _, test := range []struct {
		name string
		k    *Kernel
		args []any
		want [][]float32
	}{
		{"split", &SplitCopyF32, []any{x, 2, 1}, [][]float32{{0, 1, 3, 4}, {2, 5}}},
		{"split whole", &SplitCopyF32, []any{x, 5, 0}, [][]float32{{0, 1, 2, 3, 4, 5}}},
		{"split nothing", &SplitCopyF32, []any{iota32(0), 0, 0}, [][]float32{{}}},
		{"split sizes", &SplitWithSizesCopyF32, []any{x, dims{1, 0, 2}, -1}, [][]float32{{0, 3}, {}, {1, 2, 4, 5}}},
		{"unbind", &UnbindCopyF32, []any{x, 1}, [][]float32{{0, 3}, {1, 4}, {2, 5}}},
		{"unbind order", &UnbindCopyF32, []any{ordered(x, 1, 0), 0}, [][]float32{{0, 1, 2}, {3, 4, 5}}},
	} {
		outs, err := call(test.k, 0, true, test.args...)
		if err != nil || len(outs) != len(test.want) {
			t.Fatalf("%s: %d outs, %v", test.name, len(outs), err)
		}
		for i, want := range test.want {
			if got := plain[float32](outs[i]); !slices.Equal(got, want) {
				t.Errorf("%s %d: %v, want %v", test.name, i, got, want)
			}
		}
	}
}

func TestJoinErrors(t *testing.T) {
	x := iota32(2, 3)
	for _, test := range []struct {
		k    *Kernel
		want error
		args []any
	}{
		{&CatF32, errNoTensor, []any{tensors{}, 0}},
		{&CatF32, errSizes, []any{tensors{x, iota32(2, 2)}, 0}},
		{&CatF32, errDims, []any{tensors{x, iota32(2)}, 0}},
		{&StackF32, errSizes, []any{tensors{x, iota32(2, 2)}, 0}},
		{&SplitCopyF32, errSizes, []any{x, 0, 0}},
		{&SplitWithSizesCopyF32, errSizes, []any{x, dims{1, 1}, 1}},
		{&RepeatF32, errDims, []any{x, dims{2}}},
		{&SliceScatterF32, errSizes, []any{x, x, 1, 0, 2, 1}},
		{&SelectScatterF32, errIndex, []any{x, iota32(3), 0, 2}},
		{&ConstantPadNdF32, errDims, []any{x, dims{1}, 0}},
		{&ReflectionPad1dF32, errSizes, []any{x, dims{3, 0}}},
		{&FullLikeF32, nil, []any{x, 0, formatChannelsLast}},
		{&FullLikeF32, nil, []any{wave(1, 2, 3, 4), 0, formatChannelsLast3d}},
		{&Col2imF32, errPool, []any{wave(1, 4, 1), dims{2, 2}, dims{2, 2}, dims{1, 1}, dims{0, 0}, dims{math.MaxInt64, 1}}},
	} {
		if _, err := call(test.k, 1, true, test.args...); err != test.want {
			t.Errorf("%s: %v, want %v", test.k.Def.Functional, err, test.want)
		}
	}
}

// TestFormatOfAnotherRank leaves the order as it is where a memory format is one of tensors of another rank.
func TestFormatOfAnotherRank(t *testing.T) {
	for _, c := range []struct {
		sizes  dims
		format int
	}{{dims{2, 3}, formatChannelsLast}, {dims{1, 2, 3, 4}, formatChannelsLast3d}, {dims{1, 2, 3, 4, 5}, formatChannelsLast}} {
		infer := Infer{Args: vals(wave(c.sizes...), 0, c.format), Out: make([]tensor.Meta, 1)}
		if err := FullLike.Infer(&infer); err != nil || len(infer.Out[0].DimOrder) > 0 {
			t.Errorf("sizes %v, format %d: order %v, error %v", c.sizes, c.format, infer.Out[0].DimOrder, err)
		}
	}
}

// TestMaxPoolErrors refuses numbers whose products would overflow.
func TestMaxPoolErrors(t *testing.T) {
	for _, large := range []int{0, 1, 3} {
		args := []any{wave(1, 2, 3, 4), dims{2, 2}, dims{1, 1}, dims{0, 0}, dims{1, 1}, false}
		args[[]int{1, 2, 0, 4}[large]] = dims{1, 1 << 62}
		if _, err := call(&MaxPool2dWithIndicesF32, 2, true, args...); err != errPool {
			t.Errorf("argument %d: error %v, want %v", large, err, errPool)
		}
	}
}

// TestConstantPad holds pads, of which some cut off, of images that lie in several orders against a loop, on one thread and on several.
func TestConstantPad(t *testing.T) {
	pool := threads.New(3)
	defer pool.Close()
	for _, sizes := range []dims{{}, {1}, {7}, {4, 1}, {1, 5}, {3, 4}, {2, 3, 5}, {2, 3, 4, 5}, {1, 8, 70, 71}, {0, 3}, {2, 1, 3, 1}} {
		for _, pad := range []dims{{}, {1, 1}, {0, 2}, {-1, 3}, {2, 0, 1, 0}, {0, 0, 3, 2}, {1, 1, 1, 1}, {-1, -1, 2, 1}, {0, 0, 0, 0, 1, 2}, {40, 40}, {0, 1, 0, 1, 0, 1, 0, 1}} {
			if len(pad) > 2*len(sizes) {
				continue
			}
			x, out := wave(sizes...), dims{}
			for i, n := range sizes {
				low, high := padAt(pad, len(sizes), i)
				out = append(out, n+tensor.Dim(low+high))
			}
			if slices.Min(append(dims{0}, out...)) < 0 {
				continue
			}
			list := tensors{x}
			if len(sizes) == 4 {
				list = append(list, ordered(x, lastOrder(4, true)...))
			}
			for _, in := range list {
				for n, env := range map[int]*Env{1: {}, 3: {Parallel: pool.Run, Threads: 3}} {
					got := plannedIn(t, env, &ConstantPadNdF32, kernel.Scalar, false, in, pad, 9.5)
					if !slices.Equal(got.Sizes, out) {
						t.Fatalf("%v padded by %v: sizes %v, want %v", sizes, pad, got.Sizes, out)
					}
					o := ordered(got)
					index := make([]int, len(sizes))
					for i, v := range elems[float32](o) {
						k := i
						for d := len(out) - 1; d >= 0; d-- {
							low, _ := padAt(pad, len(sizes), d)
							index[d] = k%int(out[d]) - int(low)
							k /= int(out[d])
						}
						want, from := float32(9.5), 0
						for d, at := range index {
							from = from*int(sizes[d]) + at
						}
						if !slices.ContainsFunc(index, func(at int) bool { return at < 0 }) && !outside(index, sizes) {
							want = elems[float32](x)[from]
						}
						if v != want {
							t.Fatalf("%v padded by %v, order %v, %d threads: element %d is %v, want %v", sizes, pad, in.DimOrder, n, i, v, want)
						}
					}
				}
			}
		}
	}
}

func outside(index []int, sizes dims) bool {
	for d, at := range index {
		if at >= int(sizes[d]) {
			return true
		}
	}
	return false
}
