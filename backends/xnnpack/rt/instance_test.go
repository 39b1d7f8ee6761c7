package rt

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// convolutions are a program of convolutions between images with so many channels, after a change of its graph.
func convolutions(t *testing.T, change func(v *blob.Value), channels ...uint32) []byte {
	t.Helper()
	nodes := make([]blob.Node, len(channels)-1)
	for i := range nodes {
		nodes[i].Type = blob.Conv2d
	}
	g, named := chainGraph(nodes, channels)
	p, err := pte.Read(programOf(t, g, named))
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Values {
		change(&g.Values[i])
	}
	if p.DelegateData[0], err = blob.Write(g); err != nil {
		t.Fatal(err)
	}
	file, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// runner gives a function that runs a program on an image of 8 channels and gives its output; nil if it cannot be loaded.
func runner(t *testing.T, file []byte, opts executor.LoadOptions) func() ([]byte, error) {
	t.Helper()
	opts.Threads, opts.Backends, opts.Kernels = 1, []backend.Backend{New()}, kernelsOf(t, file)
	p, err := executor.Load(file, opts)
	if err != nil {
		return nil
	}
	t.Cleanup(p.Close)
	inst, err := p.NewInstance()
	if err != nil {
		return nil
	}
	ins := []executor.Value{executor.TensorOf(floatsTensor(6, []uint32{1, 9, 11, 8}, make([]float32, 9*11*8)))}
	return func() ([]byte, error) {
		outs, err := inst.Method("forward").Run(context.Background(), ins)
		if err != nil {
			return nil, err
		}
		return outs[0].Tensor.Data, nil
	}
}

// TestGrownValues runs a graph whose values are larger than it says: from the second run on, steps know their sizes.
func TestGrownValues(t *testing.T) {
	channels := []uint32{8, 16, 16, 16, 8}
	want, err := runner(t, convolutions(t, func(*blob.Value) {}, channels...), executor.LoadOptions{})()
	if err != nil {
		t.Fatal(err)
	}
	run := runner(t, convolutions(t, func(v *blob.Value) {
		if v.External == blob.InvalidID && v.Constant == 0 {
			v.Dims = []uint32{1, 3, 3, v.Dims[3]}
		}
	}, channels...), executor.LoadOptions{})
	for call := range 3 {
		if got, err := run(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("call %d: other results, %v", call, err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = run() }); n != 0 {
		t.Errorf("%v allocations per run", n)
	}
}

// panicker is a tracer that panics while it is on.
type panicker struct {
	tracer
	on bool
}

func (p *panicker) EndProfilingDelegate(backend.EventTracerEntry, []byte) {
	if p.on {
		panic("trace")
	}
}

// TestRunAfterPanic runs a graph, with hardly more memory than it needs, after a panic in the middle of it.
func TestRunAfterPanic(t *testing.T) {
	file, tr := convolutions(t, func(*blob.Value) {}, 8, 64, 64, 8), &panicker{}
	for limit := int64(20 << 10); ; limit += 4 << 10 {
		tr.on = false
		run := runner(t, file, executor.LoadOptions{MaxMemory: limit, Tracer: tr})
		if run == nil {
			continue
		}
		if _, err := run(); err != nil {
			continue
		}
		tr.on = true
		if _, err := run(); err == nil {
			t.Error("the tracer has not panicked")
		}
		tr.on = false
		for call := range 2 {
			if _, err := run(); err != nil {
				t.Errorf("call %d after a panic: %v", call, err)
			}
		}
		return
	}
}

// TestResultOverInput calls a delegate whose result is the method's input, and then one that reads that: what the caller has stays as it is.
func TestResultOverInput(t *testing.T) {
	c := *caseNamed("abs")
	c.in, c.out = [][]uint32{{2048}}, [][]uint32{{2048}}
	g, named := c.graph(blob.FP32)
	p, err := pte.Read(programOf(t, g, named))
	if err != nil {
		t.Fatal(err)
	}
	list := &p.Plans[0].Chains[0].Instructions
	*list = append(*list, pte.Instruction{Type: pte.DelegateCall, Args: []int32{0, 1}})
	(*list)[0].Args = []int32{0, 0}
	var file bytes.Buffer
	if err := pte.Write(&file, p); err != nil {
		t.Fatal(err)
	}
	x := c.inputs()[0]
	before := slices.Clone(x.Data)
	if _, err := run(t, file.Bytes(), executor.LoadOptions{Threads: 1}, x); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x.Data, before) {
		t.Error("the delegate has written what the caller has")
	}
}
