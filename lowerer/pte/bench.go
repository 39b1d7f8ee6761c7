package pte

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

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
		return wantProgram(rest, inputsHint)
	}
	o.Program, o.Version = rest[0], version()
	if msg := o.Conflict(); msg != "" {
		return usageError(msg)
	}
	if err := checkTier(e); err != nil {
		return err
	}
	warnThreads(e, o.Threads)
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
	if len(rest) > 0 {
		return usageError("want no arguments")
	}
	if msg := runcmd.ThreadsConflict(*threads); msg != "" {
		return usageError(msg)
	}
	if err := checkTier(e); err != nil {
		return err
	}
	return bench.Measure(kernel.Best(), *threads).Write(e.stdout, *asJSON)
}

// warnThreads says that threads are more than run at a time.
func warnThreads(e *env, threads int) {
	if most := runtime.GOMAXPROCS(0); threads > most {
		fmt.Fprintf(e.stderr, "warning: --threads is %d, and %d run at a time here: more make calls slower\n", threads, most)
	}
}

// checkTier refuses a PTE_ISA that is no tier, and says of one that this machine lacks what kernels run as.
func checkTier(e *env) error {
	if err := kernel.TierError(); err != nil {
		return usageError(err.Error())
	}
	want := os.Getenv(kernel.TierVar)
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.String())
	}
	if want != "" && !slices.Contains(names, want) {
		fmt.Fprintf(e.stderr, "warning: %s is %s, and this machine has %s: kernels run as %s\n", kernel.TierVar, want, strings.Join(names, ", "), kernel.Best())
	}
	return nil
}
