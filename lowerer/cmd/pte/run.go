package main

import "github.com/rules-pte/rules_pte/lowerer/internal/runcmd"

func runRun(e *env, args []string) error {
	return exit(runcmd.Run(args, e.stdout, e.stderr))
}

func runInspect(e *env, args []string) error {
	return exit(runcmd.Inspect(args, e.stdout, e.stderr))
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return exitError(code)
}
