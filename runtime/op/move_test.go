package op

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mkTensor is a tensor of type dt with these elements in row-major order.
func mkTensor[T any](dt tensor.ScalarType, sizes []tensor.Dim, data []T) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: dt, Sizes: sizes}}
	t.Data = rawBytes(data)
	return t
}

func rawBytes[T any](data []T) []byte {
	var z T
	n := len(data) * int(unsafe.Sizeof(z))
	if n == 0 {
		return []byte{}
	}
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), n))
}

func mf32(sizes []tensor.Dim, data ...float32) *tensor.Tensor {
	return mkTensor(tensor.Float, sizes, data)
}

func mi64(sizes []tensor.Dim, data ...int64) *tensor.Tensor {
	return mkTensor(tensor.Long, sizes, data)
}

// iota32 counts 0, 1, … over these sizes.
func iota32(sizes ...tensor.Dim) *tensor.Tensor {
	m := tensor.Meta{Sizes: sizes}
	data := make([]float32, m.Numel())
	for i := range data {
		data[i] = float32(i)
	}
	return mf32(sizes, data...)
}

// ordered is t with its elements laid out in another order.
func ordered(t *tensor.Tensor, order ...uint8) *tensor.Tensor {
	r := &tensor.Tensor{Meta: t.Clone(), Data: make([]byte, len(t.Data))}
	r.DimOrder = order
	Reorder(r, t)
	return r
}

func val(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case string:
		return Value{Kind: String, Str: x}
	case int:
		return Value{Kind: Int, Int: int64(x)}
	case float64:
		return Value{Kind: Float, Float: x}
	case bool:
		return Value{Kind: Bool, Int: int64(toBool(x))}
	case []int64:
		return Value{Kind: Ints, Ints: x}
	case []float64:
		return Value{Kind: Floats, Floats: x}
	case *tensor.Tensor:
		return Value{Kind: Tensor, Tensor: x}
	case []*tensor.Tensor:
		return Value{Kind: Tensors, Tensors: x}
	}
	panic("no such value")
}

func vals(xs ...any) []Value {
	vs := make([]Value, len(xs))
	for i, x := range xs {
		vs[i] = val(x)
	}
	return vs
}

// call runs k with n outs on args, in every tier; constant also calls Prepare with the tensors' data.
func call(k *Kernel, n int, constant bool, args ...any) ([]*tensor.Tensor, error) {
	outs, err := callIn(kernel.Scalar, k, n, constant, args...)
	if err != nil {
		return nil, err
	}
	for _, tier := range kernel.Tiers()[1:] {
		if tier > kernel.Best() {
			break
		}
		other, err := callIn(tier, k, n, constant, args...)
		if err != nil {
			return nil, err
		}
		for i, o := range outs {
			if err := sameResults(o, other[i]); err != nil {
				return nil, fmt.Errorf("tier %v: out %d: %w", tier, i, err)
			}
		}
	}
	return outs, nil
}

// sameResults holds what a tier gives against what Scalar gives: floats to some bits, the rest exactly.
func sameResults(want, got *tensor.Tensor) error {
	if want.DType != tensor.Float {
		if !bytes.Equal(want.Data, got.Data) {
			return errors.New("other bytes than scalar")
		}
		return nil
	}
	x, y := elems[float32](want), elems[float32](got)
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		if a != b && !(a != a && b != b) && !(math.Abs(a-b) <= 1e-5*max(1, math.Abs(a))) {
			return fmt.Errorf("element %d: got %v, scalar gives %v", i, b, a)
		}
	}
	return nil
}

// usedMemory is n bytes as an earlier call may have left them.
func usedMemory(n int) ([]byte, error) {
	b := AlignedBytes(n)
	for i := range b {
		b[i] = 0xff // NaN in floats
	}
	return b, nil
}

func callIn(tier kernel.Tier, k *Kernel, n int, constant bool, args ...any) ([]*tensor.Tensor, error) {
	inf := &Infer{Args: vals(args...), Out: make([]tensor.Meta, n)}
	if err := k.Def.Infer(inf); err != nil {
		return nil, err
	}
	c := &Call{Args: inf.Args, Alloc: usedMemory, Tier: tier, Parallel: func(n, _ int, f func(lo, hi int)) { f(0, n) }}
	for i := range inf.Out {
		m := inf.Out[i]
		c.Out = append(c.Out, &tensor.Tensor{Meta: m, Data: make([]byte, m.Nbytes())})
	}
	var s State
	if k.Prepare != nil {
		p := &Prep{Args: inf.Args, Out: inf.Out, Tier: tier}
		if !constant {
			p.Args = slices.Clone(p.Args)
			for i, a := range p.Args {
				if a.Tensor != nil {
					p.Args[i].Tensor = &tensor.Tensor{Meta: a.Tensor.Meta}
				}
			}
		}
		var err error
		if s, err = k.Prepare(p); err != nil {
			return nil, err
		}
		c.Scratch = make([]byte, p.Scratch)
	}
	return c.Out, k.Run(c, s)
}

// plain is the elements of t in row-major order.
func plain[T any](t *tensor.Tensor) []T {
	r := &tensor.Tensor{Meta: tensor.Meta{DType: t.DType, Sizes: t.Sizes}, Data: make([]byte, t.Nbytes())}
	Reorder(r, t)
	return elems[T](r)
}

func mustCall(t *testing.T, k *Kernel, args ...any) *tensor.Tensor {
	t.Helper()
	outs, err := call(k, 1, true, args...)
	if err != nil {
		t.Fatal(err)
	}
	return outs[0]
}

func wantOut[T comparable](t *testing.T, got *tensor.Tensor, sizes []tensor.Dim, data ...T) {
	t.Helper()
	if !slices.Equal(got.Sizes, sizes) {
		t.Fatalf("sizes %v, want %v", got.Sizes, sizes)
	}
	if d := plain[T](got); !slices.Equal(d, data) {
		t.Fatalf("got %v, want %v", d, data)
	}
}

type dims = []tensor.Dim

func TestViews(t *testing.T) {
	x := iota32(2, 3)
	cube := iota32(2, 3, 2)
	for _, test := range []struct {
		name  string
		k     *Kernel
		args  []any
		sizes dims
		want  []float32
	}{
		{"view", &ViewCopyF32, []any{x, dims{3, -1}}, dims{3, 2}, []float32{0, 1, 2, 3, 4, 5}},
		{"view strided", &ViewCopyF32, []any{ordered(x, 1, 0), dims{6}}, dims{6}, []float32{0, 1, 2, 3, 4, 5}},
		{"permute", &PermuteCopyF32, []any{x, dims{1, -2}}, dims{3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"transpose", &TransposeCopyF32, []any{cube, 0, -1}, dims{2, 3, 2}, []float32{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}},
		{"t", &TCopyF32, []any{x}, dims{3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"expand", &ExpandCopyF32, []any{mf32(dims{2, 1}, 1, 2), dims{2, -1, 2}, false}, dims{2, 2, 2}, []float32{1, 1, 2, 2, 1, 1, 2, 2}},
		{"unsqueeze", &UnsqueezeCopyF32, []any{x, -1}, dims{2, 3, 1}, []float32{0, 1, 2, 3, 4, 5}},
		{"squeeze", &SqueezeCopyDimF32, []any{iota32(1, 2), 0}, dims{2}, []float32{0, 1}},
		{"squeeze dims", &SqueezeCopyDimsF32, []any{iota32(1, 2, 1), dims{0, 1, 2}}, dims{2}, []float32{0, 1}},
		{"slice", &SliceCopyF32, []any{x, 1, 0, math.MaxInt, 2}, dims{2, 2}, []float32{0, 2, 3, 5}},
		{"slice from the end", &SliceCopyF32, []any{x, -1, -2, -1, 1}, dims{2, 1}, []float32{1, 4}},
		{"slice of nothing", &SliceCopyF32, []any{x, 0, 5, nil, 1}, dims{0, 3}, nil},
		{"select", &SelectCopyF32, []any{x, 1, -1}, dims{2}, []float32{2, 5}},
		{"narrow", &NarrowCopyF32, []any{x, 1, 1, 2}, dims{2, 2}, []float32{1, 2, 4, 5}},
		{"diagonal", &DiagonalCopyF32, []any{x, 1, 0, 1}, dims{2}, []float32{1, 5}},
		{"diagonal below", &DiagonalCopyF32, []any{x, -1, 0, 1}, dims{1}, []float32{3}},
		{"unfold", &UnfoldCopyF32, []any{x, 1, 2, 1}, dims{2, 2, 2}, []float32{0, 1, 1, 2, 3, 4, 4, 5}},
		{"as_strided", &AsStridedCopyF32, []any{x, dims{2, 2}, dims{1, 2}, 1}, dims{2, 2}, []float32{1, 3, 2, 4}},
		{"flip", &FlipF32, []any{x, dims{1}}, dims{2, 3}, []float32{2, 1, 0, 5, 4, 3}},
	} {
		t.Run(test.name, func(t *testing.T) { wantOut(t, mustCall(t, test.k, test.args...), test.sizes, test.want...) })
	}
}

func TestViewErrors(t *testing.T) {
	x := iota32(2, 3)
	for _, test := range []struct {
		k    *Kernel
		want error
		args []any
	}{
		{&ViewCopyF32, errNumel, []any{x, dims{4, -1}}},
		{&ViewCopyF32, errNumel, []any{x, dims{0, -1}}},
		{&PermuteCopyF32, errDimTwice, []any{x, dims{0, 0}}},
		{&SelectCopyF32, errIndex, []any{x, 0, 2}},
		{&SliceCopyF32, errStep, []any{x, 0, nil, nil, 0}},
		{&AsStridedCopyF32, errIndex, []any{x, dims{2, 2}, dims{4, 2}, 0}},
		{&NarrowCopyF32, errIndex, []any{x, 0, 1, 2}},
		{&MmF32, errSizes, []any{x, x}},
	} {
		if _, err := call(test.k, 1, true, test.args...); err != test.want {
			t.Errorf("%s: %v, want %v", test.k.Def.Functional, err, test.want)
		}
	}
}

// TestMoveOrders holds moves of three dimensions to every order, with each of them read forwards and backwards.
func TestMoveOrders(t *testing.T) {
	for _, size := range [][3]int{{3, 70, 11}, {2, 9, 130}, {1, 8, 8}, {65, 1, 2}, {4, 5, 1}, {3, 5, 3}, {6, 3, 4}, {2, 7, 8}, {5, 4, 32}, {3, 2, 33}} {
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			for backwards := range 8 {
				checkMoveOrder(t, size, order, backwards)
			}
		}
	}
}

// checkMoveOrder holds one move; backwards has a bit for each dimension that is read backwards.
func checkMoveOrder(t *testing.T, size, order [3]int, backwards int) {
	strides := [3]int{size[1] * size[2], size[2], 1}
	src := make([]uint16, size[0]*strides[0])
	for i := range src {
		src[i] = uint16(i)
	}
	var first int
	for d := range strides {
		if backwards>>d&1 != 0 {
			first += (size[d] - 1) * strides[d]
			strides[d] = -strides[d]
		}
	}
	v := strided{srcOff: first}
	step := len(src)
	for _, d := range order {
		step /= size[d]
		v.add(size[d], strides[d], step)
	}
	var want []uint16
	for a := range size[order[0]] {
		for b := range size[order[1]] {
			for c := range size[order[2]] {
				want = append(want, src[first+a*strides[order[0]]+b*strides[order[1]]+c*strides[order[2]]])
			}
		}
	}
	got := make([]uint16, len(src))
	if moveStrided(got, src, &v); !slices.Equal(got, want) {
		t.Errorf("%v in the order %v, backwards %03b: other elements", size, order, backwards)
	}
}

// BenchmarkMoveRuns moves runs that lie apart, around the longest that moveRuns copies.
func BenchmarkMoveRuns(b *testing.B) {
	b.Run("uint32", benchmarkMoveRuns[uint32])
	b.Run("uint64", benchmarkMoveRuns[uint64])
}

func benchmarkMoveRuns[T word](b *testing.B) {
	const runs = 1000
	for _, n := range []int{2, 4, 5, 8, 12, 13, 16} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			src, dst := make([]T, runs*(n+1)), make([]T, runs*n)
			for b.Loop() {
				var v strided
				v.add(runs, n+1, n)
				v.add(n, 1, 1)
				moveStrided(dst, src, &v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*runs), "ns/run")
		})
	}
}

// TestMoveAgain holds calls of one invoker, which keeps the move, against the elements: with other numbers, and other sizes.
func TestMoveAgain(t *testing.T) {
	sig := ParseSignature(PermuteCopy.Schema)
	k := &PermuteCopyF32
	x := iota32(2, 3, 4)
	out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{4, 2, 3}}, Data: make([]byte, 96)}
	args := vals(x, dims{2, 0, 1})
	plan, err := Prepare(k, &sig, args, []tensor.Meta{out.Meta}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := plan.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
	v.Stable = true
	for round, rows := range []int64{2, 2, 1, 1, 0, 2, 2} {
		*x = *iota32(rows, 3, 4)
		for i := range elems[float32](x) {
			elems[float32](x)[i] += float32(round)
		}
		if err := v.Call(); err != nil {
			t.Fatal(err)
		}
		for i, got := range elems[float32](out) {
			a, b, c := i/3/int(rows), i/3%int(rows), i%3
			if want := elems[float32](x)[(b*3+c)*4+a]; got != want {
				t.Errorf("call %d, element %d: %v, want %v", round, i, got, want)
			}
		}
	}
}

// TestReadInOrder holds which moves copy runs in the order in which they are read: those whose runs are long, and read once.
func TestReadInOrder(t *testing.T) {
	for _, c := range []struct {
		name             string
		size, src, order []int // of dimensions: sizes, steps where they are read, and the steps in the order of the move
	}{
		{"heads", []int{12, 197, 64}, []int{64, 768, 1}, []int{768, 64, 1}},
		{"heads, and writes that share a set", []int{12, 128, 64}, []int{64, 768, 1}, []int{64, 768, 1}},
		{"three outside", []int{2, 3, 4, 32}, []int{32, 64, 192, 1}, []int{192, 64, 32, 1}},
		{"short runs", []int{12, 197, 8}, []int{8, 96, 1}, []int{8, 96, 1}},
		{"broadcast", []int{12, 5, 64}, []int{0, 128, 1}, []int{0, 128, 1}},
		{"backwards", []int{12, 5, 64}, []int{-64, 768, 1}, []int{-64, 768, 1}},
	} {
		var v strided
		dst := 1
		for i := range c.size {
			dst *= c.size[i]
		}
		for i, n := range c.size {
			dst /= n
			v.add(n, c.src[i], dst)
		}
		v.ready()
		if got := v.src[:v.n]; !slices.Equal(got, c.order) {
			t.Errorf("%s: reads by steps of %v, want %v", c.name, got, c.order)
		}
	}
}
