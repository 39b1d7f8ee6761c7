package backendtest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

// mutations is how many damaged copies of each payload are tried.
const mutations = 40

// malformed: no bytes in place of a payload make the backend panic, neither in Init nor in Execute, and with another
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
				try(t, s, p, file, swap)
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
func try(t *testing.T, s *Suite, p *executor.Program, file []byte, swap *swapper) {
	t.Helper()
	inst, err := s.load(t, file, executor.LoadOptions{Backends: []rtbackend.Backend{swap}, Threads: 1}).NewInstance()
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
