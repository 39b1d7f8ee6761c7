package pte

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/runcmd"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// wantProgram says that one program is wanted, and what there is; hint is for those who gave more.
func wantProgram(rest []string, hint string) error {
	if len(rest) == 0 {
		return usageError("want one program")
	}
	return usageError(fmt.Sprintf("want one program, not %d: %s%s", len(rest), strings.Join(rest, ", "), hint))
}

// inputsHint is for programs that are run.
const inputsHint = "; inputs go by --input"

func runRun(e *env, args []string) error {
	var o runcmd.Options
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
	o.Program = rest[0]
	if msg := o.Conflict(); msg != "" {
		return usageError(msg)
	}
	if err := checkTier(e); err != nil {
		return err
	}
	warnThreads(e, o.Threads)
	defer progress(e, "running "+o.Program)()
	return runcmd.Run(&o, executor.LoadOptions{Kernels: op.Kernels, Backends: e.backends.Runtime}, e.stdout)
}

func runCompare(e *env, args []string) error {
	var o runcmd.CompareOptions
	f := newFlags()
	o.Define(f.FlagSet)
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 2 {
		return usageError("want two programs")
	}
	o.A, o.B = rest[0], rest[1]
	if msg := o.Conflict(); msg != "" {
		return usageError(msg)
	}
	if err := checkTier(e); err != nil {
		return err
	}
	defer progress(e, "comparing "+o.A+" with "+o.B)()
	return runcmd.Compare(&o, executor.LoadOptions{Kernels: op.Kernels, Backends: e.backends.Runtime}, e.stdout)
}

func runInspect(e *env, args []string) error {
	f := newFlags()
	asJSON := f.Bool("json", false, "print JSON")
	delegation := f.Bool("delegation", false, "print what each method hands to backends, and what it leaves to kernels")
	reportPath := f.String("report", "", "with --delegation, the `file` of `pte lower --report`, for the nodes and reasons")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) != 1:
		return wantProgram(rest, "")
	case *reportPath != "" && !*delegation:
		return usageError("--report goes with --delegation")
	case *reportPath != "" && *asJSON:
		return usageError("--report is JSON itself; leave out --json")
	case *delegation:
		return runcmd.Delegation(rest[0], &runcmd.DelegationOptions{Backends: e.backends.AOT, SpecText: config.SpecTexts(e.backends.AOT),
			Report: *reportPath, JSON: *asJSON}, e.stdout)
	}
	return runcmd.Inspect(rest[0], *asJSON, e.stdout)
}
