package executor

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// scribe writes down every event of a trace.
type scribe struct {
	log  []string
	open int
}

func (s *scribe) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *scribe) CreateEventBlock(name string)            { s.note("block %s", name) }
func (s *scribe) SetChainDebugHandle(chain, instruct int) { s.note("at %d:%d", chain, instruct) }
func (s *scribe) LogEvalue(_ *Value, output bool)         { s.note("value %t", output) }
func (s *scribe) EndProfiling(backend.EventTracerEntry)   { s.open--; s.note("end") }
func (s *scribe) StartProfiling(name string) backend.EventTracerEntry {
	s.open++
	s.note("start %s", name)
	return 0
}

func (s *scribe) StartProfilingDelegate(name string, id int64) backend.EventTracerEntry {
	s.open++
	s.note("step %s%d", name, id)
	return 0
}

func (s *scribe) EndProfilingDelegate(_ backend.EventTracerEntry, metadata []byte) {
	s.open--
	s.note("end step %s", metadata)
}

func (s *scribe) LogIntermediateOutputDelegate(name string, id int64, _ *backend.Value) {
	s.note("step value %s%d", name, id)
}

// zeros is a tensor as an input wants it.
func zeros(in *ValueInfo) Value {
	x := &tensor.Tensor{Meta: in.Meta.Clone()}
	x.Data = make([]byte, x.Nbytes())
	return TensorOf(x)
}

func TestTraceOfDelegates(t *testing.T) {
	tr := &scribe{}
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{newNegator()}, Tracer: tr})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst := instanceOf(t, p)
	defer inst.Close()
	info, _ := p.Method("forward")
	if _, err := inst.Method("forward").Run(context.Background(), []Value{zeros(&info.Inputs[0])}); err != nil {
		t.Fatal(err)
	}
	want := []string{"block Default", "at -1:0", "start Method::init", "end", "block Execute", "at -1:0", "start Method::execute"}
	for i := range 3 {
		want = append(want, fmt.Sprintf("at 0:%d", i), "start DELEGATE_CALL", "step 7", "end step negate", "end", "value false", "value false")
	}
	want = append(want, "at -1:0", "end", "value true")
	if diff := cmp.Diff(want, tr.log); diff != "" {
		t.Error(diff)
	}
}

// TestTraceEnds runs methods with kernels, built-in operators, jumps and moves, also with an input that is refused: what
// begins ends.
func TestTraceEnds(t *testing.T) {
	for _, name := range []string{"cond", "counter", "dynamic_batch"} {
		tr := &scribe{}
		p, err := LoadFile("testdata/"+name+"/portable.pte", LoadOptions{Kernels: op.Kernels, Tracer: tr})
		if err != nil {
			t.Fatal(err)
		}
		inst := instanceOf(t, p)
		info, _ := p.Method("forward")
		var in []Value
		for i := range info.Inputs {
			in = append(in, zeros(&info.Inputs[i]))
		}
		if _, err := inst.Method("forward").Run(context.Background(), in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tr.open != 0 {
			t.Errorf("%s: %d events began and did not end: %q", name, tr.open, tr.log)
		}
		inst.Close()
		p.Close()
	}
}

// TestWindowOf is of arguments as operators have them: one number for all dimensions, and lists that are left out.
func TestWindowOf(t *testing.T) {
	weight := func(sizes ...tensor.Dim) op.Value {
		return op.Value{Kind: op.Tensor, Tensor: &tensor.Tensor{Meta: tensor.Meta{Sizes: sizes}}}
	}
	ints := func(list ...int64) op.Value { return op.Value{Kind: op.Ints, Ints: list} }
	conv := func(w op.Value, stride, dilation op.Value, groups int64) []op.Value {
		return []op.Value{{}, w, {}, stride, ints(0), dilation, {}, ints(0), {Kind: op.Int, Int: groups}}
	}
	for name, c := range map[string]struct {
		kernel string
		args   []op.Value
		want   backend.Window
	}{
		"2d":            {"aten::convolution.out", conv(weight(8, 4, 3, 5), ints(2), ints(1, 3), 2), backend.Window{Size: [3]int64{0, 3, 5}, Stride: [3]int64{0, 2, 2}, Dilation: [3]int64{0, 1, 3}, Groups: 2}},
		"1d":            {"aten::convolution.out", conv(weight(8, 4, 7), ints(2), ints(1), 1), backend.Window{Size: [3]int64{0, 0, 7}, Stride: [3]int64{0, 0, 2}, Dilation: [3]int64{0, 0, 1}, Groups: 1}},
		"3d":            {"aten::convolution.out", conv(weight(8, 4, 1, 2, 3), ints(1, 2, 3), ints(1), 1), backend.Window{Size: [3]int64{1, 2, 3}, Stride: [3]int64{1, 2, 3}, Dilation: [3]int64{1, 1, 1}, Groups: 1}},
		"mean":          {"aten::avg_pool2d.out", []op.Value{{}, ints(3, 2), ints(), ints(0)}, backend.Window{Size: [3]int64{0, 3, 2}, Stride: [3]int64{0, 3, 2}, Dilation: [3]int64{0, 1, 1}}},
		"max":           {"aten::max_pool2d_with_indices.out", []op.Value{{}, ints(3, 3), ints(2), ints(0), ints(2)}, backend.Window{Size: [3]int64{0, 3, 3}, Stride: [3]int64{0, 2, 2}, Dilation: [3]int64{0, 2, 2}}},
		"another":       {"aten::mm.out", []op.Value{{}, {}}, backend.Window{}},
		"another class": {"rt::convolution.out", nil, backend.Window{}},
	} {
		if got := windowOf(c.kernel, c.args); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestWorkOfCaches counts what steps read and write of caches, not the caches.
func TestWorkOfCaches(t *testing.T) {
	m := instanceOf(t, loadTest(t, "kv_cache", LoadOptions{})).Method("forward")
	ins := Values(tensor.Of(make([]float32, 3*4*16), 1, 3, 4, 16), tensor.Of(make([]float32, 3*2*16), 1, 3, 2, 16), tensor.Of(make([]float32, 3*2*16), 1, 3, 2, 16), tensor.Of([]int64{5}, 1))
	if _, err := m.Run(context.Background(), ins); err != nil {
		t.Fatal(err)
	}
	rows, columns := int64(3*2*16*4), int64(8*2*16*4)
	want := []backend.Work{{Bytes: 2 * (rows + 4)}, {Bytes: 2 * (rows + 4)}, {MACs: 2 * 3 * 4 * 16 * 8, Bytes: 2 * (3*4*16*4 + columns)}}
	for i, s := range m.m.steps[1:] {
		if got := workOf(s.name, m.calls[i+1].invoker); got != want[i] {
			t.Errorf("%s: got %+v, want %+v", s.name, got, want[i])
		}
	}
	m = instanceOf(t, loadTest(t, "sdpa_cache", LoadOptions{})).Method("forward")
	ins = Values(tensor.Of(make([]float32, 3*4*8), 1, 3, 4, 8), tensor.Of(make([]float32, 3*2*8), 1, 3, 2, 8), tensor.Of(make([]float32, 3*2*8), 1, 3, 2, 8), tensor.Of([]int64{5}))
	if _, err := m.Run(context.Background(), ins); err != nil {
		t.Fatal(err)
	}
	last := len(m.m.steps) - 1
	written, read := int64(2*3*2*8*4), int64(2*8*2*8*4)
	if got, want := workOf(m.m.steps[last].name, m.calls[last].invoker), (backend.Work{MACs: 2 * 3 * 4 * 8 * 8, Bytes: 2*written + 2*3*4*8*4 + read}); got != want {
		t.Errorf("%s: got %+v, want %+v", m.m.steps[last].name, got, want)
	}
	m = instanceOf(t, loadTest(t, "cache_put", LoadOptions{})).Method("forward")
	cacheRuns(t, m)
	if got, want := workOf(m.m.steps[0].name, m.calls[0].invoker), (backend.Work{Bytes: 2 * (2*2*8*4 + 2*8)}); got != want {
		t.Errorf("%s: got %+v, want %+v", m.m.steps[0].name, got, want)
	}
}
