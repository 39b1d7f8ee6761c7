package executor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// negator is a backend that negates a float tensor and keeps a log of its calls.
type negator struct {
	id          string
	unavailable bool
	failInit    int // which Init fails, from 1
	log         []string
	specs       []backend.CompileSpec
	options     []backend.Option
	named       string
	temp        *op.Temp
	live        map[*int]bool
	inits       int
}

func (n *negator) ID() string      { return n.id }
func (n *negator) Available() bool { return !n.unavailable }

func (n *negator) Init(ctx *backend.InitContext, processed *backend.FreeableBuffer, specs []backend.CompileSpec) (backend.Handle, error) {
	n.inits++
	n.log = append(n.log, "init "+ctx.Method+" "+string(processed.Data()))
	n.specs, n.options, n.named, n.temp = specs, ctx.Options, string(ctx.NamedData("weights")), ctx.Temp
	processed.Free()
	if processed.Data() != nil {
		return nil, errors.New("data after Free")
	}
	if n.inits == n.failInit {
		return nil, backend.Fail(pte.DelegateInvalidCompatibility, "payload has version 9, want 1")
	}
	if _, err := ctx.Alloc(16); err != nil {
		return nil, err
	}
	h := new(int)
	n.live[h] = true
	return h, nil
}

func (n *negator) Execute(ctx *backend.ExecuteContext, h backend.Handle, args []*backend.Value) error {
	if len(args) != 2 {
		return errors.New("want an input and an output")
	}
	in, out := args[0].Tensor, args[1].Tensor
	if in == nil || out == nil || in.DType != tensor.Float || out.DType != tensor.Float {
		return errors.New("no tensors of Float")
	}
	if err := ctx.Resize(out, in.Sizes); err != nil {
		return err
	}
	if ctx.Tracer != nil {
		defer ctx.Tracer.EndProfilingDelegate(ctx.Tracer.StartProfilingDelegate("", 7), []byte("negate"))
	}
	for i := 3; i < in.Nbytes(); i += 4 {
		copy(out.Data[i-3:i+1], in.Data[i-3:i+1])
		out.Data[i] ^= 0x80
	}
	return nil
}

func (n *negator) Destroy(h backend.Handle) {
	if !n.live[h.(*int)] {
		n.log = append(n.log, "destroy of what is not alive")
	}
	delete(n.live, h.(*int))
	n.log = append(n.log, "destroy")
}

func newNegator() *negator { return &negator{id: "Negator", live: map[*int]bool{}} }

// delegated is a program of two delegates in a row, the second called twice: y = -(-(-x)).
func delegated(t testing.TB) []byte {
	t.Helper()
	value := func(offset uint64) pte.EValue {
		return pte.EValue{Type: pte.TensorValue, Tensor: &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{2}, DimOrder: []uint8{0},
			Allocation: &pte.Allocation{MemoryID: 1, Offset: offset}}}
	}
	call := func(delegate, in, out int32) pte.Instruction {
		return pte.Instruction{Type: pte.DelegateCall, A: delegate, Args: []int32{in, out}}
	}
	plan := &pte.ExecutionPlan{
		Name: "forward", Values: []pte.EValue{value(0), value(16), value(32), value(48)}, Inputs: []int32{0}, Outputs: []int32{3},
		Chains: []pte.Chain{{Instructions: []pte.Instruction{call(0, 0, 1), call(1, 1, 2), call(1, 2, 3)}}},
		Delegates: []pte.BackendDelegate{
			{ID: "Negator", Processed: 0, CompileSpecs: []pte.CompileSpec{{Key: "mode", Value: []byte{1, 0, 255}}, {Key: "empty"}}},
			{ID: "Negator", Processed: 1},
		},
		NonConstBufferSizes: []int64{0, 64},
	}
	var b bytes.Buffer
	p := &pte.Program{Plans: []*pte.ExecutionPlan{plan}, DelegateData: [][]byte{[]byte("first"), []byte("second")},
		NamedData: []pte.NamedData{{Key: "weights", Data: []byte("w")}}, ConstantBuffers: [][]byte{nil}}
	if err := pte.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDelegates(t *testing.T) {
	n, tr := newNegator(), &tracer{}
	path := filepath.Join(t.TempDir(), "delegated.pte")
	if err := os.WriteFile(path, delegated(t), 0o600); err != nil {
		t.Fatal(err)
	}
	options := []backend.Option{{Key: "fast", Value: op.Value{Kind: op.Bool, Int: 1}}}
	p, err := LoadFile(path, LoadOptions{Backends: []backend.Backend{n}, Tracer: tr,
		BackendOptions: map[string][]backend.Option{"Negator": options, "Other": nil}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst := instanceOf(t, p)
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2}}, Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}}
	outs, err := inst.Method("forward").Run(context.Background(), []Value{TensorOf(x)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0, 0, 0x80, 0xbf, 0, 0, 0, 0x40}; !bytes.Equal(outs[0].Tensor.Data, want) {
		t.Errorf("output bytes % x, want % x", outs[0].Tensor.Data, want)
	}
	if d := cmp.Diff(options, n.options); d != "" || n.named != "w" {
		t.Errorf("named data %q, options: %s", n.named, d)
	}
	inst.Close()
	inst.Close()
	if want := []string{"init forward first", "init forward second", "destroy", "destroy"}; !slices.Equal(n.log, want) {
		t.Errorf("log %q, want %q", n.log, want)
	}
	if want := []string{"start 7", "end negate", "start 7", "end negate", "start 7", "end negate"}; !slices.Equal(tr.log, want) {
		t.Errorf("trace %q, want %q", tr.log, want)
	}
}

// TestDelegateCallsDiffer refuses a delegate whose calls have different numbers of arguments, and destroys what it made.
func TestDelegateCallsDiffer(t *testing.T) {
	file, err := pte.Read(delegated(t))
	if err != nil {
		t.Fatal(err)
	}
	calls := file.Plans[0].Chains[0].Instructions
	calls[2].Args = calls[2].Args[:1]
	var b bytes.Buffer
	if err := pte.Write(&b, file); err != nil {
		t.Fatal(err)
	}
	n := newNegator()
	p, err := Load(b.Bytes(), LoadOptions{Backends: []backend.Backend{n}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.NewInstance(); CodeOf(err) != pte.InvalidProgram || !strings.Contains(err.Error(), "delegate 1 is called with 2 arguments and with 1") {
		t.Errorf("got %v", err)
	}
	if want := []string{"init forward first", "init forward second", "destroy", "destroy"}; !slices.Equal(n.log, want) {
		t.Errorf("log %q, want %q", n.log, want)
	}
}

type tracer struct{ log []string }

func (tr *tracer) StartProfilingDelegate(name string, id int64) backend.EventTracerEntry {
	tr.log = append(tr.log, "start "+name+itoa(id))
	return backend.EventTracerEntry(len(tr.log))
}

func (tr *tracer) EndProfilingDelegate(_ backend.EventTracerEntry, metadata []byte) {
	tr.log = append(tr.log, "end "+string(metadata))
}

func (tr *tracer) LogIntermediateOutputDelegate(string, int64, *backend.Value) {}

func TestCompileSpecsByteForByte(t *testing.T) {
	n := newNegator()
	n.failInit = 1
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{n}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, _ = p.NewInstance()
	want := []backend.CompileSpec{{Key: "mode", Value: []byte{1, 0, 255}}, {Key: "empty"}}
	if len(n.specs) != 2 || n.specs[0].Key != "mode" || !bytes.Equal(n.specs[0].Value, want[0].Value) || n.specs[1].Key != "empty" || len(n.specs[1].Value) != 0 {
		t.Errorf("specs %v, want %v", n.specs, want)
	}
}

// TestDestroyOnce lets a later step of making an instance fail: what was initialized is destroyed once.
func TestDestroyOnce(t *testing.T) {
	n := newNegator()
	n.failInit = 2
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{n}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.NewInstance()
	if CodeOf(err) != pte.DelegateInvalidCompatibility || !strings.Contains(err.Error(), "init backend Negator: payload has version 9, want 1") {
		t.Errorf("NewInstance = %v", err)
	}
	if want := []string{"init forward first", "init forward second", "destroy"}; !slices.Equal(n.log, want) {
		t.Errorf("log %q, want %q", n.log, want)
	}
}

func TestBackendsThatCannotRun(t *testing.T) {
	other, off := newNegator(), newNegator()
	other.id, off.unavailable = "Other", true
	for _, c := range []struct {
		have *negator
		want string
	}{
		{other, "backend Negator is not linked in"},
		{off, "backend Negator is not available on this machine"},
	} {
		_, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{c.have}})
		if CodeOf(err) != pte.NotFound || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Load = %v, want %q", err, c.want)
		}
	}
}

func TestBackendMemoryCounts(t *testing.T) {
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{newNegator()}, MaxMemory: 70})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.NewInstance()
	if want := "bytes and more, the limit is 70"; CodeOf(err) != pte.MemoryAllocationFailed || !strings.Contains(err.Error(), want) {
		t.Errorf("NewInstance = %v, want MemoryAllocationFailed, %s", err, want)
	}
}

// TestArenaPadding leaves what the file has behind the last tensor of an arena, which backends may read.
func TestArenaPadding(t *testing.T) {
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{newNegator()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if info, _ := p.Method("forward"); !slices.Equal(info.Arenas, []int64{64}) {
		t.Errorf("arenas have %v bytes, want 64: 56 for tensors and 8 behind them", info.Arenas)
	}
}

// TestBackendTemp gives delegates the temporaries of their instance.
func TestBackendTemp(t *testing.T) {
	n := newNegator()
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{n}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		inst := instanceOf(t, p)
		defer inst.Close()
		if n.temp != &inst.temp {
			t.Error("a delegate has the temporaries of another instance")
		}
	}
}

func TestShareNests(t *testing.T) {
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{newNegator()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	made := 0
	for range 2 {
		v, err := p.share("outer", func() (any, error) {
			made++
			return p.share("inner", func() (any, error) { return 42, nil })
		})
		if v != 42 || err != nil || made != 1 {
			t.Errorf("share = %v, %v after making %d times", v, err, made)
		}
	}
}

// listed are Weights that note what is asked for.
type listed struct {
	taken []PackedWeight
	kept  int
	ended int
}

func (l *listed) Take(w PackedWeight, alloc func(n int) []byte) ([]byte, bool) {
	l.taken = append(l.taken, w)
	return alloc(w.Bytes), false
}

func (l *listed) Keep()  { l.kept++ }
func (l *listed) Close() { l.ended++ }

// TestWeights names named data whose key is the SHA-256 of its content, and keeps nothing once an instance has failed.
func TestWeights(t *testing.T) {
	l := new(listed)
	sha := strings.Repeat("0f", 32)
	named := []pte.NamedData{{Key: sha, Data: []byte{1, 2, 3}}, {Key: "other", Data: []byte{4, 5}}}
	n := newNegator()
	p, err := Load(delegated(t), LoadOptions{Backends: []backend.Backend{n}, NamedData: named,
		WeightCache: func(kernel.Tier) Weights { return l }})
	if err != nil {
		t.Fatal(err)
	}
	inst := instanceOf(t, p)
	inst.Close()
	if l.kept != 1 {
		t.Errorf("kept %d times, want 1", l.kept)
	}
	if b, packed, err := p.backendConstants(70, "rows", named[0].Data[:2], named[1].Data); len(b) != 70 || packed || err != nil {
		t.Errorf("%d bytes, packed: %v, %v", len(b), packed, err)
	}
	if _, _, err := p.backendConstants(7, "", named[0].Data); err != nil {
		t.Error(err)
	}
	if len(l.taken) != 1 || l.taken[0].Bytes != 70 || l.taken[0].Key != "rows "+sha+"+2" || len(l.taken[0].From) != 1 || &l.taken[0].From[0][0] != &named[1].Data[0] {
		t.Errorf("took %v", l.taken)
	}
	p.later([]backend.Packing{{Run: func() { panic("no weights") }}})
	if _, err := p.NewInstance(); err == nil {
		t.Error("no error")
	}
	p.packing = nil
	if inst, err = p.NewInstance(); err != nil {
		t.Fatal(err)
	}
	inst.Close()
	if l.kept != 1 {
		t.Errorf("kept %d times, want 1", l.kept)
	}
	if p.Close(); l.ended != 1 {
		t.Errorf("closed %d times", l.ended)
	}
}
