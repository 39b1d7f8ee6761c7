package backendtest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// mutations is how many damaged copies of each payload are tried.
const mutations = 40

// malformed: no bytes in place of a payload make the backend panic, in Init, Execute or Inline, and with another
// number of arguments Init is an error.
func malformed(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) {
		file := s.lower(t, m, true).file
		p := s.load(t, file, executor.LoadOptions{})
		w := &watcher{Backend: s.Runtime}
		s.instance(t, file, executor.LoadOptions{Backends: []rtbackend.Backend{w}}).Close()
		r := rand.New(rand.NewPCG(11, 12))
		for at := range w.payloads {
			for range mutations {
				swap := &swapper{Backend: s.Runtime, at: at, data: damage(r, w.payloads[at])}
				try(t, s, p, file, swap, swap)
				if i, ok := s.Runtime.(rtbackend.Inliner); ok {
					swap.calls, swap.at = 0, -1
					try(t, s, p, file, swap, inlineSwapper{swap, i, w.payloads[at]})
				}
			}
		}
	})
}

// damage is a copy of b that is cut off, or has some bytes changed.
func damage(r *rand.Rand, b []byte) []byte {
	c := bytes.Clone(b)
	if len(c) == 0 || r.IntN(8) == 0 {
		return c[:r.IntN(len(c)+1)]
	}
	for range 1 + r.IntN(4) {
		c[r.IntN(len(c))] = byte(r.IntN(256))
	}
	return c
}

// try loads and runs the program with a damaged payload; only a panic is a failure.
func try(t *testing.T, s *Suite, p *executor.Program, file []byte, swap *swapper, b rtbackend.Backend) {
	t.Helper()
	loaded, err := executor.Load(file, executor.LoadOptions{Kernels: op.Kernels, Backends: []rtbackend.Backend{b}, Threads: 1})
	var inst *executor.Instance
	if err == nil {
		defer loaded.Close()
		inst, err = loaded.NewInstance()
	}
	if err == nil {
		defer inst.Close()
		_, err = inst.Method("forward").Run(context.Background(), inputsOf(t, p, "forward", 0))
	}
	if swap.panicked != nil {
		t.Errorf("payload %q: panic: %v (%v)", swap.data, swap.panicked, err)
	}
}

// swapper gives another payload to Init number at.
type swapper struct {
	rtbackend.Backend
	at, calls int
	data      []byte
	panicked  any
}

// errPanic stands for a panic, which the executor would turn into an error of its own.
var errPanic = errors.New("panic")

func (s *swapper) guard(err *error) {
	if r := recover(); r != nil {
		s.panicked, *err = r, errPanic
	}
}

func (s *swapper) Init(ctx *rtbackend.InitContext, processed *rtbackend.FreeableBuffer, specs []rtbackend.CompileSpec) (h rtbackend.Handle, err error) {
	defer s.guard(&err)
	if s.calls++; s.calls == s.at+1 {
		processed = rtbackend.NewFreeableBuffer(s.data, nil)
	}
	return s.Backend.Init(ctx, processed, specs)
}

func (s *swapper) Execute(ctx *rtbackend.ExecuteContext, h rtbackend.Handle, args []*rtbackend.Value) (err error) {
	defer s.guard(&err)
	return s.Backend.Execute(ctx, h, args)
}

// inlineSwapper gives another payload to Inline than of.
type inlineSwapper struct {
	*swapper
	inliner rtbackend.Inliner
	of      []byte
}

func (s inlineSwapper) Inline(ctx *rtbackend.InitContext, processed []byte, specs []rtbackend.CompileSpec) (calls *rtbackend.Inlined) {
	var err error
	defer s.guard(&err)
	if bytes.Equal(processed, s.of) {
		processed = s.data
	}
	return s.inliner.Inline(ctx, processed, specs)
}
