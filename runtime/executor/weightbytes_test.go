package executor

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestKeepBytes counts the products of testdata/quantized_bytes that multiply Float with weights of int8 as they are: three, but those whose
// weights somebody else writes or sees in Float.
func TestKeepBytes(t *testing.T) {
	if kernel.MixedOf(kernel.Best(), kernel.StoredS8) == nil {
		t.Skip("the tier has no tiles for weights of int8 and rows of Float, so that they become Float at load")
	}
	// makes reports whether an instruction makes Float of int8 weights.
	makes := func(plan *pte.ExecutionPlan, in *pte.Instruction) bool {
		x := plan.Values[in.Args[0]].Tensor
		return x != nil && x.ScalarType == tensor.Char && x.DataBufferIdx > 0
	}
	first := func(plan *pte.ExecutionPlan) int {
		return slices.IndexFunc(plan.Chains[0].Instructions, func(in pte.Instruction) bool { return makes(plan, &in) })
	}
	out := func(plan *pte.ExecutionPlan) int32 {
		args := plan.Chains[0].Instructions[first(plan)].Args
		return args[len(args)-1]
	}
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		want   int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, 3},
		"spans are traced":  {&scribe{}, func(*pte.ExecutionPlan) {}, 3},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 0},
		"written again": {nil, func(plan *pte.ExecutionPlan) {
			chain, i := &plan.Chains[0], first(plan)
			chain.Instructions = slices.Insert(chain.Instructions, i, chain.Instructions[i])
		}, 2},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			v := out(plan)
			plan.Outputs = append([]int32{v}, plan.Outputs...)
			plan.Values[v].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 4
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := loadChanged(t, "quantized_bytes", LoadOptions{Tracer: c.tracer}, c.change)
			m := p.methods[0]
			if got := keptBytes(m); got != c.want {
				t.Errorf("%d products read weights of int8, want %d", got, c.want)
			}
			checkPlaces(t, m)
		})
	}
}

// keptBytes is how many products of m read weights of int8 as they are.
func keptBytes(m *method) (n int) {
	for i := range m.steps {
		if p := m.steps[i].plan; p != nil && strings.HasPrefix(p.Kernel.Def.Schema, "rules_pte::bytes") {
			n++
		}
	}
	return n
}

// checkBytes holds a program against the same that keeps all values of the file.
func checkBytes(t *testing.T, what string, p *pte.Program) {
	t.Helper()
	run := func(tracer EventTracer) [][]float32 {
		all, err := runsOf(instanceOf(t, loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1, Tracer: tracer})).Method("forward"), 1)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return all
	}
	checkNear(t, what, run(nil), run(values{&scribe{}}), 1e-3)
}

// TestSquareBytes has a linear operator and mm of the same square weights, which one number scales: their panels differ.
func TestSquareBytes(t *testing.T) {
	const side = 64
	for _, c := range []struct {
		most int
		zero int64
	}{{100, 0}, {100, 3}, {7, 0}} {
		g := newTokenMaker(3, side)
		x, w := g.input(), g.chars(c.most, side, side)
		for _, name := range []string{"aten::linear.out", "aten::mm.out"} {
			u, o := g.tensor(tensor.Float, side, side), g.tensor(tensor.Float, 3, side)
			g.call(dequantizeName, []int32{u}, w, g.double(0.25), g.int(c.zero), g.int(-128), g.int(127), g.int(int64(tensor.Char)), g.none())
			args := []int32{x, u}
			if name == linearName {
				args = append(args, g.none())
			}
			g.call(name, []int32{o}, args...)
			g.output(o)
		}
		for _, v := range g.plan.Outputs {
			g.last[v] = len(g.calls)
		}
		checkBytes(t, fmt.Sprintf("up to %d, zero point %d", c.most, c.zero), g.finish(1))
	}
}

// newTokenMaker is a maker of programs of rows of this many elements.
func newTokenMaker(rows, depth int32) *tokenMaker {
	return &tokenMaker{maker: newMaker(rand.New(rand.NewPCG(1, 1)), rows, depth), alias: map[int32]int32{}, d: depth}
}

// channels is a product of rows with weights [n, k] that are dequantized by rows, to a type as out is.
func (g *tokenMaker) channels(x, w, zeros, out, n, k, rows int32) {
	u, o := g.tensor(tensor.Float, n, k), g.tensor(tensor.Float, rows, n)
	g.call(dequantizeChannelName, []int32{u}, w, g.constant(tensor.Float, n), zeros, g.int(0), g.int(-128), g.int(127), g.int(int64(tensor.Char)), out)
	g.call(linearName, []int32{o}, x, u, g.none())
	g.output(o)
	g.last[o] = len(g.calls)
}

// TestCastZeros has zero points that are cast to types which hold them, or do not.
func TestCastZeros(t *testing.T) {
	for _, c := range []struct {
		from, to tensor.ScalarType
		z        int64
	}{{tensor.Long, tensor.Char, 257}, {tensor.Long, tensor.Char, 3}, {tensor.Long, tensor.Bool, 5}, {tensor.Char, tensor.Byte, -3}, {tensor.Char, tensor.Long, -3},
		{tensor.Long, tensor.Int, 1<<32 + 2}, {tensor.Int, tensor.BFloat16, 257}, {tensor.Char, tensor.Half, -3}} {
		const n, k = 32, 16
		g := newTokenMaker(3, k)
		x, w, zeros := g.input(), g.chars(100, n, k), g.constant(tensor.Char, n)
		g.plan.Values[zeros].Tensor.ScalarType = c.from
		var b []byte
		for range n {
			b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(c.z))[:c.from.Size()]...)
		}
		g.constants[len(g.constants)-1] = b
		g.channels(x, w, g.castTo(zeros, c.to, n), g.none(), n, k, 3)
		checkBytes(t, fmt.Sprint(c), g.finish(1))
	}
}

// TestRoundedWeights has weights that are rounded to another type before they are Float, and zero points that are no integers, of weights
// that fit 4 bits.
func TestRoundedWeights(t *testing.T) {
	const n, k = 32, 16
	for _, d := range []tensor.ScalarType{tensor.Byte, tensor.Char, tensor.Int, tensor.Float} {
		g := newTokenMaker(3, k)
		g.channels(g.input(), g.chars(100, n, k), g.none(), g.int(int64(d)), n, k, 3)
		checkBytes(t, d.String(), g.finish(1))
	}
	g := newTokenMaker(3, k)
	g.channels(g.input(), g.chars(7, n, k), g.constant(tensor.Float, n), g.none(), n, k, 3)
	checkBytes(t, "zero points of Float", g.finish(1))
}

// taken counts what a load packs.
type taken struct{ bytes int }

func (c *taken) Take(w PackedWeight, alloc func(n int) []byte) ([]byte, bool) {
	c.bytes += w.Bytes
	return alloc(w.Bytes), false
}
func (c *taken) Keep()  {}
func (c *taken) Close() {}

// TestLimitOfPackedBytes makes instances of a program of weights of 8 bits where there is room for what these become and for the tensors
// that are left in the arena, and not where a byte is missing.
func TestLimitOfPackedBytes(t *testing.T) {
	const n, k = 64, 1 << 10
	g := newTokenMaker(3, k)
	x := g.input()
	for range 10 {
		g.channels(x, g.chars(100, n, k), g.none(), g.none(), n, k, 3)
	}
	p := g.finish(1)
	b, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	use := func(limit int64) (packed, arena int64, err error) {
		c := new(taken)
		prog, err := Load(b, LoadOptions{Kernels: op.Kernels, Threads: 1, MaxMemory: limit, WeightCache: func(kernel.Tier) Weights { return c }})
		if err != nil {
			return 0, 0, err
		}
		defer prog.Close()
		info, _ := prog.Method("forward")
		in, err := prog.NewInstance()
		if err == nil {
			in.Close()
		}
		return int64(c.bytes), info.Arenas[0], err
	}
	packed, arena, err := use(0)
	if err != nil {
		t.Fatal(err)
	}
	if planned := p.Plans[0].NonConstBufferSizes[1]; packed > 0 && arena >= planned {
		t.Errorf("the arena has %d bytes, want fewer than the file's %d, which have room for dequantized weights", arena, planned)
	}
	if _, _, err := use(packed + arena); err != nil {
		t.Errorf("packed %d bytes, the arena has %d: %v", packed, arena, err)
	}
	if _, _, err := use(packed + arena - 1); err == nil {
		t.Errorf("packed %d bytes, the arena has %d, the limit is 1 less", packed, arena)
	}
}

// TestPackedBytesCount packs weights of few columns, which panels are mostly empty with: no more than MaxMemory, or it is an error.
func TestPackedBytesCount(t *testing.T) {
	for _, s := range [][3]int32{{1, 1 << 16, 1 << 16}, {1, 1 << 16, 32}, {64, 1 << 12, 32}} {
		columns, depth, block := s[0], s[1], s[2]
		g := newTokenMaker(1, depth)
		n := columns * depth / block
		x, w := g.input(), g.chars(100, n, block)
		u, o := g.tensor(tensor.Float, n, block), g.tensor(tensor.Float, 1, columns)
		g.call(dequantizeChannelName, []int32{u}, w, g.constant(tensor.Float, n), g.chars(3, n), g.int(0), g.int(-128), g.int(127), g.int(int64(tensor.Char)), g.none())
		v := g.name(u, columns, depth)
		g.call(linearName, []int32{o}, x, v, g.none())
		g.output(o)
		g.last[o], g.last[u] = len(g.calls), len(g.calls)
		delete(g.first, v)
		p := g.finish(1)
		a := *p.Plans[0].Values[u].Tensor.Allocation
		p.Plans[0].Values[v].Tensor.Allocation = &a
		b, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		c, limit := new(taken), p.Plans[0].NonConstBufferSizes[1]+5*int64(columns*depth)
		prog, err := Load(b, LoadOptions{Kernels: op.Kernels, Threads: 1, MaxMemory: limit, WeightCache: func(kernel.Tier) Weights { return c }})
		if err == nil {
			prog.Close()
		}
		if err == nil && int64(c.bytes) > limit || err != nil && !strings.Contains(err.Error(), "exceed the limit") {
			t.Errorf("%d columns of %d in blocks of %d: error %v, packed %d bytes, the limit is %d", columns, depth, block, err, c.bytes, limit)
		}
	}
}
