package pte

import (
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/lowerer/internal/runcmd"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
)

func runBench(e *env, args []string) error {
	var o runcmd.BenchOptions
	o.Stderr = e.stderr
	f := newFlags()
	o.Define(f.FlagSet)
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("want one program")
	}
	o.Program = rest[0]
	if msg := o.Conflict(); msg != "" {
		return usageError(msg)
	}
	defer progress(e, "measuring "+o.Program)()
	return runcmd.Bench(&o, executor.LoadOptions{Kernels: op.Kernels, Backends: e.backends.Runtime}, e.stdout)
}

func runHWBench(e *env, args []string) error {
	f := newFlags()
	asJSON := f.Bool("json", false, "print JSON")
	threads := f.Int("threads", 0, "how many `threads` work; by default one for each CPU")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || *threads < 0 {
		return usageError("want no arguments, and no negative number of --threads")
	}
	return bench.Measure(kernel.Best(), *threads).Write(e.stdout, *asJSON)
}
