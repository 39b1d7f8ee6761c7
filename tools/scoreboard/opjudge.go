package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// opLimit is the time that an operator's program may take.
const opLimit = 20 * time.Second

// opJudge lowers and runs programs of the conformance set, in this process. One at a time.
type opJudge struct {
	lower func(model string) ([]byte, error)
	model string // a file for the program's .pt2
	trace bool   // give the stack of a panic
	guard guardSide
}

func newOpJudge(tmp string, trace bool) (*opJudge, error) {
	const key = "model.pt2"
	spec, err := lowerer.DefaultSpec(key)
	if err != nil {
		return nil, err
	}
	lower := func(model string) ([]byte, error) {
		var b bytes.Buffer
		_, err := lowerer.LowerFile(context.Background(), spec, map[string]string{key: model}, &b, lowerer.Options{})
		return b.Bytes(), err
	}
	f, err := os.CreateTemp(tmp, "*.pt2")
	if err != nil {
		return nil, fmt.Errorf("make file: %w", err)
	}
	return &opJudge{lower: lower, model: f.Name(), trace: trace}, f.Close()
}

// pack judges the programs of a file.
func (j *opJudge) pack(path string) ([]opVerdict, error) {
	p, err := openPack(path)
	if err != nil {
		return nil, err
	}
	defer p.zip.Close()
	var list []opVerdict
	for i := range p.cases {
		c := &p.cases[i]
		v := opVerdict{op: p.name, id: c.ID, class: c.Class, dtype: c.DType, official: c.Official["portable"].Equal}
		v.verdict = j.inTime(p, c)
		list = append(list, v)
	}
	return list, nil
}

// inTime is judge with a limit of time. A program that passes it is left behind, running.
func (j *opJudge) inTime(p *pack, c *opCase) verdict {
	if c.complexValued() {
		return verdict{"skip", "complex numbers are not supported"}
	}
	done := make(chan verdict, 1)
	go func() { done <- j.guarded(p, c) }()
	select {
	case v := <-done:
		return v
	case <-time.After(opLimit):
		return fail(fmt.Sprintf("bug: takes more than %v", opLimit))
	}
}

// guarded is judge with panics made into failures.
func (j *opJudge) guarded(p *pack, c *opCase) (v verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = fail(fmt.Sprintf("bug: panic: %v", r))
			if j.trace {
				v.reason += "\n" + string(debug.Stack())
			}
		}
	}()
	return j.judge(p, c)
}

func (j *opJudge) judge(p *pack, c *opCase) verdict {
	model, err := p.read(c.Dir + "/model.pt2")
	if err == nil {
		err = os.WriteFile(j.model, model, 0o600)
	}
	if err != nil {
		return fail(err.Error())
	}
	program, err := j.lower(j.model)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), filepath.Clean(j.model)+": ", "")
		return fail("lower: " + lowerReason(text, err))
	}
	if err := j.run(program, p, c); err != nil {
		return fail(err.Error())
	}
	return verdict{state: "ok"}
}

// run makes all calls of c, with guard pages around every tensor if j says so, and compares.
func (j *opJudge) run(program []byte, p *pack, c *opCase) error {
	opts := executor.LoadOptions{Kernels: op.Kernels, Threads: 1}
	if j.guard != unguarded {
		var err error
		if program, err = apart(program); err != nil {
			return err
		}
		f := &fence{side: j.guard}
		defer f.free()
		defer trap()()
		opts.Alloc = f.alloc
	}
	loaded, err := executor.Load(program, opts)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer loaded.Close()
	for i := range c.Runs {
		if err := runOnce(loaded, p, c, i, opts.Alloc); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	return nil
}

// runOnce makes a call of c on an instance of its own and compares. Inputs lie in memory from alloc unless that is nil.
func runOnce(program *executor.Program, p *pack, c *opCase, i int, alloc func(n int) []byte) error {
	inst, err := program.NewInstance()
	if err != nil {
		return err
	}
	defer inst.Close()
	r := &c.Runs[i]
	var inputs []executor.Value
	for k := range r.Inputs {
		v, err := p.value(c, &r.Inputs[k])
		if err != nil {
			return fmt.Errorf("input %d: %w", k, err)
		}
		if alloc != nil {
			v = moved(v, alloc)
		}
		inputs = append(inputs, v)
	}
	outs, err := inst.Method("forward").Run(context.Background(), inputs)
	switch {
	case r.Refused != "":
		return wantRefusal(err, r.Refused)
	case err != nil:
		return err
	}
	if len(outs) != len(r.Outputs) {
		return fmt.Errorf("got %d outputs, want %d", len(outs), len(r.Outputs))
	}
	for k := range outs {
		if err := p.compare(c, outs[k], r.Outputs[k]); err != nil {
			return fmt.Errorf("output %d: %w", k, err)
		}
	}
	for k, want := range r.Mutated {
		want.tolerate()
		if err := p.compare(c, inputs[k], want); err != nil {
			return fmt.Errorf("mutated input %d: %w", k, err)
		}
	}
	return nil
}

// wantRefusal is what is wrong with err as the result of a run that PyTorch refuses.
func wantRefusal(err error, reason string) error {
	var coded *executor.Error
	switch {
	case err == nil:
		return fmt.Errorf("no error, want one: PyTorch says %q", reason)
	case !errors.As(err, &coded) || coded.Code == pte.Internal:
		return fmt.Errorf("%w: an error without a code of its own", err)
	}
	return nil
}

func (p *pack) compare(c *opCase, got executor.Value, want opValue) error {
	w, err := p.value(c, &want)
	switch {
	case err != nil:
		return err
	case got.Kind != w.Kind:
		return fmt.Errorf("got a value of kind %d, want %d", got.Kind, w.Kind)
	case w.Kind != executor.Tensor:
		if got.Int != w.Int || !golden.Near(got.Float, w.Float, want.Rtol, want.Atol) {
			return fmt.Errorf("got %v, want %v", got, w)
		}
		return nil
	case slices.Contains(c.Flags, "nondeterministic"):
		return golden.SameMeta(got.Tensor, w.Tensor)
	}
	return golden.Same(got.Tensor, w.Tensor, want.Rtol, want.Atol)
}
