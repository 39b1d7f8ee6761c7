package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// ours is a program on our runtime.
type ours struct {
	program *executor.Program
	method  *executor.Method
	inputs  []executor.Value
}

func loadOurs(p *program) (*ours, error) {
	loaded, err := executor.Load(p.file, executor.LoadOptions{Kernels: op.Kernels, Threads: 1})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.call.text, err)
	}
	inst, err := loaded.NewInstance()
	if err != nil {
		loaded.Close()
		return nil, fmt.Errorf("load %s: %w", p.call.text, err)
	}
	return &ours{loaded, inst.Method("forward"), executor.Values(p.inputs...)}, nil
}

func (o *ours) close() { o.program.Close() }

// minRuns is how many runs a turn has at least.
const minRuns = 4

// time runs the program for a while and gives the shortest Run.
func (o *ours) time(limit time.Duration) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	start := time.Now()
	for runs := 0; runs < minRuns || time.Since(start) < limit; runs++ {
		begin := time.Now()
		if _, err := o.method.Run(context.Background(), o.inputs); err != nil {
			return 0, fmt.Errorf("run: %w", err)
		}
		best = min(best, time.Since(begin))
	}
	return best, nil
}
