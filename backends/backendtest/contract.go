package backendtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// ids: both halves have one id, and the machine can run it.
func ids(t *testing.T, s *Suite) {
	if s.AOT.ID() != s.Runtime.ID() || s.AOT.ID() == "" {
		t.Errorf("the halves are called %q and %q", s.AOT.ID(), s.Runtime.ID())
	}
	if !s.Runtime.Available() {
		t.Error("it is not available")
	}
	p, err := s.AOT.Partitioner(backend.Options{Partitioner: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec().BackendID != s.AOT.ID() {
		t.Errorf("its partitioner is for %q", p.Spec().BackendID)
	}
	if _, err := s.AOT.Partitioner(backend.Options{Partitioner: []byte("[")}); err == nil {
		t.Error("the partitioner takes options that are no JSON")
	}
}

// takes: there is a model of which it takes something.
func takes(t *testing.T, s *Suite) {
	var files []string
	for _, name := range modelNames {
		files = append(files, model(t, name))
	}
	for _, file := range s.Models {
		files = append(files, absolute(t, file))
	}
	for _, file := range files {
		if len(s.lower(t, map[string]string{"forward": file}, true).modules) > 0 {
			return
		}
	}
	t.Error("it takes no node of any model")
}

// deterministic: lowering twice gives the same bytes.
func deterministic(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		if !bytes.Equal(s.lower(t, m, true).file, s.lower(t, m, true).file) {
			t.Error("lowering twice gives two files")
		}
	})
}

// specs: the run-time half gets byte for byte what went ahead of time.
func specs(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		l := s.lower(t, m, true)
		w := &watcher{Backend: s.Runtime}
		inst := s.instance(t, l.file, executor.LoadOptions{Backends: []rtbackend.Backend{w}})
		defer inst.Close()
		for _, got := range w.specs {
			if !anyModule(l.modules, got) {
				t.Errorf("Init got compile specs %q, which no module has", got)
			}
		}
		if len(w.specs) != len(l.modules) {
			t.Errorf("%d calls of Init for %d modules", len(w.specs), len(l.modules))
		}
	})
}

// inputs: a backend that counts the inputs of payloads has as many as it was given, and counts none in what is no payload.
func inputs(t *testing.T, s *Suite) {
	c, ok := s.Runtime.(rtbackend.InputCounter)
	if !ok {
		t.Skip("it is no InputCounter")
	}
	s.each(t, func(t *testing.T, m map[string]string) {
		l := s.lower(t, m, true)
		p, err := pte.Read(l.file)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []int // outputs
		for _, module := range l.modules {
			want = append(want, len(module.Program.Methods[0].Graph.Outputs))
		}
		plan := p.Plans[0]
		for _, chain := range plan.Chains {
			for _, in := range chain.Instructions {
				if in.Type == pte.DelegateCall {
					got = append(got, len(in.Args)-c.Inputs(p.DelegateData[plan.Delegates[in.A].Processed]))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("calls have %v arguments that are no inputs, the modules %v outputs", got, want)
		}
	})
	for _, payload := range [][]byte{nil, {1, 2, 3}, []byte("no payload at all, not even a short one")} {
		if n := c.Inputs(payload); n >= 0 {
			t.Errorf("payload %q has %d inputs, want -1", payload, n)
		}
	}
}

func anyModule(modules []*exir.LoweredModule, specs []rtbackend.CompileSpec) bool {
	for _, m := range modules {
		if len(m.CompileSpecs) != len(specs) {
			continue
		}
		same := true
		for i, c := range m.CompileSpecs {
			same = same && c.Key == specs[i].Key && bytes.Equal(c.Value, specs[i].Value)
		}
		if same {
			return true
		}
	}
	return false
}

// lifetime: every handle is destroyed once when the instance is closed, and instances do not share handles.
func lifetime(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		w := &watcher{Backend: s.Runtime}
		p := s.load(t, s.lower(t, m, true).file, executor.LoadOptions{Backends: []rtbackend.Backend{w}})
		for range 3 {
			inst, err := p.NewInstance()
			if err != nil {
				t.Fatal(err)
			}
			inst.Close()
			inst.Close()
		}
		if len(w.specs) != w.destroyed {
			t.Errorf("%d handles made, %d destroyed", len(w.specs), w.destroyed)
		}
	})
}

// users is how many instances are made and run at the same time.
const users = 4

// concurrent: instances of one program that are made and run at the same time have the results of one that is alone.
func concurrent(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		p := s.load(t, s.lower(t, m, true).file, executor.LoadOptions{})
		inputs := inputsOf(t, p, "forward", 0)
		var results [users + 1][]executor.Value
		var errs [users + 1]error
		var group sync.WaitGroup
		for i := range results {
			use := func() {
				inst, err := p.NewInstance()
				if err == nil {
					t.Cleanup(inst.Close)
					results[i], err = inst.Method("forward").Run(context.Background(), inputs)
				}
				errs[i] = err
			}
			if i < users {
				group.Go(use)
			} else {
				group.Wait()
				use()
			}
		}
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		for _, got := range results[:users] {
			for k := range got {
				s.equal(t, 0, k, &got[k], &results[users][k])
			}
		}
	})
}

// watcher counts what is asked of a backend.
type watcher struct {
	rtbackend.Backend
	mu        sync.Mutex
	specs     [][]rtbackend.CompileSpec
	payloads  [][]byte
	destroyed int
}

func (w *watcher) Init(ctx *rtbackend.InitContext, processed *rtbackend.FreeableBuffer, specs []rtbackend.CompileSpec) (rtbackend.Handle, error) {
	w.mu.Lock()
	w.payloads = append(w.payloads, bytes.Clone(processed.Data()))
	w.mu.Unlock()
	h, err := w.Backend.Init(ctx, processed, specs)
	if err == nil {
		w.mu.Lock()
		w.specs = append(w.specs, specs)
		w.mu.Unlock()
	}
	return h, err
}

func (w *watcher) Destroy(h rtbackend.Handle) {
	w.mu.Lock()
	w.destroyed++
	w.mu.Unlock()
	w.Backend.Destroy(h)
}

// profiling: a step, or the value of one, that has no name has an id that the debug handle map knows.
func profiling(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		l := s.lower(t, m, true)
		tr := &tracer{}
		inst := s.instance(t, l.file, executor.LoadOptions{Tracer: tr, Threads: 1})
		defer inst.Close()
		run(t, inst, "forward", inputsOf(t, s.load(t, l.file, executor.LoadOptions{}), "forward", 0))
		known := map[string]bool{}
		for _, module := range l.modules {
			for id := range module.DebugHandles {
				known[id] = true
			}
		}
		for _, id := range tr.ids {
			if !known[strconv.FormatInt(id, 10)] {
				t.Errorf("step %d is in no debug handle map", id)
			}
		}
		if tr.open != 0 {
			t.Errorf("%d steps began and did not end", tr.open)
		}
	})
}

// tracer notes the ids of steps without a name.
type tracer struct {
	ids  []int64
	open int
}

func (tr *tracer) StartProfilingDelegate(name string, id int64) rtbackend.EventTracerEntry {
	if name == "" {
		tr.ids = append(tr.ids, id)
	}
	tr.open++
	return 0
}

func (tr *tracer) EndProfilingDelegate(rtbackend.EventTracerEntry, []byte) { tr.open-- }

func (tr *tracer) LogIntermediateOutputDelegate(name string, id int64, _ *rtbackend.Value) {
	if name == "" {
		tr.ids = append(tr.ids, id)
	}
}
