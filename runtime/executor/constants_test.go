package executor

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestConstants takes memory of several chunks, before and after it has its pages.
func TestConstants(t *testing.T) {
	for _, file := range []int{0, 1 << 20, 5 << 20} {
		s := newConstants(file)
		var all [][]byte
		for i, n := range []int{0, 1, 63, 64, 100 << 10, 1 << 20, hugePage + 4096, 3, 3 * hugePage, 700 << 10} {
			b := s.take(n)
			if len(b) != n || cap(b) != n {
				t.Fatalf("%d bytes: got %d of %d", n, len(b), cap(b))
			}
			if n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
				t.Errorf("%d bytes lie at %p", n, &b[0])
			}
			if i%3 == 0 {
				s.prepare()
			}
			all = append(all, b)
		}
		s.prepare()
		for i, b := range all {
			for j := range b {
				if b[j] != 0 {
					t.Fatalf("piece %d: byte %d is %d", i, j, b[j])
				}
				b[j] = byte(i + 1)
			}
		}
		for i, b := range all {
			for j := range b {
				if b[j] != byte(i+1) {
					t.Fatalf("piece %d: byte %d is piece %d's", i, j, b[j]-1)
				}
			}
		}
		s.close()
	}
}

// TestChunkRoom: a chunk is never smaller than the file is, and that of a small one has room where that costs only addresses.
func TestChunkRoom(t *testing.T) {
	for _, c := range []struct{ file, take, mapped int }{
		{1 << 20, 1, 2 << 20}, {20 << 20, 1, 32 << 20}, {40 << 20, 1, 40 << 20}, {1 << 20, 40 << 20, 40 << 20}, {1 << 20, 3 << 20, 6 << 20},
	} {
		s := newConstants(c.file)
		s.take(c.take)
		switch k := s.chunks[0]; {
		case k.unmap == nil && len(k.data) < max(c.file, c.take):
			t.Errorf("%+v: %d bytes on the heap", c, len(k.data))
		case k.unmap != nil && len(k.data) != c.mapped:
			t.Errorf("%+v: %d bytes", c, len(k.data))
		}
		s.close()
	}
}

// TestLargePages: they are for what fills them, but for a quarter, within the chunk, and for each place once.
func TestLargePages(t *testing.T) {
	const large, small = hugePage, 4096
	for _, c := range []struct{ ready, used, size, from, until int }{
		{0, large, 4 * large, 0, large},
		{0, large + large/2, 4 * large, 0, large},
		{0, large + large*3/4, 4 * large, 0, 2 * large},
		{0, large*3/4 - small, 4 * large, 0, 0},
		{0, large * 3 / 4, large - small, 0, 0},
		{large * 3 / 4, large, 4 * large, large, large},
		{large + small, 3*large - small, 4 * large, 2 * large, 3 * large},
	} {
		k := chunk{data: make([]byte, c.size), used: c.used, ready: c.ready}
		if from, until := k.largePages(); from != c.from || until != c.until {
			t.Errorf("%d to %d of %d: %d to %d, want %d to %d", c.ready, c.used, c.size, from, until, c.from, c.until)
		}
	}
}

// TestPackAll runs every job once, on one thread and on several.
func TestPackAll(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := parallel.New(threads)
		var runs [20]atomic.Int32
		var jobs []backend.Packing
		for i := range runs {
			jobs = append(jobs, backend.Packing{Bytes: i % 7 * shareLeast / len(runs), Run: func() { runs[i].Add(1) }})
		}
		packAll(pool, jobs[:1])
		packAll(pool, jobs[1:2])
		packAll(pool, jobs[2:])
		packAll(pool, nil)
		pool.Close()
		for i := range runs {
			if n := runs[i].Load(); n != 1 {
				t.Errorf("%d threads: job %d ran %d times", threads, i, n)
			}
		}
	}
}

// TestPackOrder looks at the order that threads take jobs in: the large ones are first, the others as they were.
func TestPackOrder(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	var jobs []backend.Packing
	for _, n := range []int{100 << 10, 300 << 10, 2 << 20, 200 << 10, 3 << 20} {
		jobs = append(jobs, backend.Packing{Bytes: n, Run: func() {}})
	}
	packAll(pool, jobs)
	var got []int
	for _, job := range jobs {
		got = append(got, job.Bytes>>10)
	}
	if want := []int{3 << 10, 2 << 10, 100, 300, 200}; !slices.Equal(got, want) {
		t.Errorf("jobs of %v KiB, want %v", got, want)
	}
}

// TestPackingFails has no instance after a job that panics.
func TestPackingFails(t *testing.T) {
	p := &Program{pool: parallel.New(1)}
	defer p.pool.Close()
	p.users.Store(1)
	p.opts.setDefaults()
	p.later([]backend.Packing{{Run: func() { panic("no weights") }}})
	for range 2 {
		if _, err := p.NewInstance(); err == nil || !strings.Contains(err.Error(), "no weights") {
			t.Errorf("got %v, want an error with the panic", err)
		}
	}
	if n := p.users.Load(); n != 1 {
		t.Errorf("%d users are left, want 1", n)
	}
}

// TestCastsOfAConstant adds integers to a tensor of Half, for which they are rounded, and to one of Float.
func TestCastsOfAConstant(t *testing.T) {
	value := func(d tensor.ScalarType, offset uint64) pte.EValue {
		v := tensorValue(1)
		v.Tensor.ScalarType, v.Tensor.Allocation = d, &pte.Allocation{MemoryID: 1, Offset: offset}
		return v
	}
	c := tensorValue(1)
	c.Tensor.ScalarType, c.Tensor.DataBufferIdx = tensor.Long, 1
	p := plan([]pte.EValue{value(tensor.Half, 0), value(tensor.Float, 64), c, {Type: pte.Int, Int: 1}, value(tensor.Half, 128), value(tensor.Float, 192)},
		[]int64{0, 256}, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 2, 3, 4, 4}}, pte.Instruction{Type: pte.KernelCall, Args: []int32{1, 2, 3, 5, 5}})
	p.Plans[0].Operators = []pte.Operator{{Name: "aten::add", Overload: "out"}}
	p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0, 1}, []int32{4, 5}
	p.ConstantBuffers = [][]byte{nil, binary.LittleEndian.AppendUint64(nil, 2049)}
	m := methodOf(t, p, op.Kernels)
	half := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Half, Sizes: []tensor.Dim{1}}, Data: make([]byte, 2)}
	float := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{1}}, Data: make([]byte, 4)}
	outs, err := m.Run(context.Background(), Values(half, float))
	if err != nil {
		t.Fatal(err)
	}
	if h, f := op.NumberAt(outs[0].Tensor, 0), op.NumberAt(outs[1].Tensor, 0); h != 2048 || f != 2049 {
		t.Errorf("2049 is %v in Half and %v in Float", h, f)
	}
}

// TestGroupsOfOneConstant has transposed convolutions of one and of two groups with the same weights, whose sizes are the same.
func TestGroupsOfOneConstant(t *testing.T) {
	const in, out, size = 8, 40, 4
	run := func(groups ...int64) [][]byte {
		at := uint64(0)
		planned := func(channels int32) pte.EValue {
			v := tensorValue(1, channels, size, size)
			v.Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: at}
			at += uint64(channels) * size * size * 4
			return v
		}
		weights := tensorValue(in, out, 1, 1)
		weights.Tensor.DataBufferIdx = 1
		values := []pte.EValue{planned(in), weights, {Type: pte.Null}, {Type: pte.Int, Int: 1}, {Type: pte.Int}, {Type: pte.IntList, Items: []int64{3, 3}},
			{Type: pte.IntList, Items: []int64{4, 4}}, {Type: pte.Bool, Int: 1}}
		var calls []pte.Instruction
		var outputs []int32
		for _, g := range groups {
			n := int32(len(values))
			values = append(values, pte.EValue{Type: pte.Int, Int: g}, planned(int32(g)*out))
			calls = append(calls, pte.Instruction{Type: pte.KernelCall, Args: []int32{0, 1, 2, 5, 6, 5, 7, 6, n, n + 1, n + 1}})
			outputs = append(outputs, n+1)
		}
		p := plan(values, []int64{0, int64(at)}, calls...)
		p.Plans[0].Operators = []pte.Operator{{Name: "aten::convolution", Overload: "out"}}
		p.Plans[0].Inputs, p.Plans[0].Outputs = []int32{0}, outputs
		var w, x []byte
		for i := range in * out {
			w = binary.LittleEndian.AppendUint32(w, math.Float32bits(float32(i%101)/16-3))
		}
		for i := range in * size * size {
			x = binary.LittleEndian.AppendUint32(x, math.Float32bits(float32(i%7)-3))
		}
		p.ConstantBuffers = [][]byte{nil, w}
		outs, err := methodOf(t, p, op.Kernels).Run(context.Background(),
			Values(&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{1, in, size, size}}, Data: x}))
		if err != nil {
			t.Fatal(err)
		}
		var results [][]byte
		for i := range outs {
			results = append(results, slices.Clone(outs[i].Tensor.Data))
		}
		return results
	}
	both := run(1, 2)
	for i, got := range both {
		if want := run(int64(i + 1))[0]; !slices.Equal(got, want) {
			t.Errorf("%d groups: results differ where other groups have the same weights", i+1)
		}
	}
}
