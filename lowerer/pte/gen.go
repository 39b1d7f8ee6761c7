package pte

import (
	"cmp"
	"os"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/buildgen"
)

// generators are what gen writes, by the first argument.
var generators = map[string]func(o buildgen.Options) error{
	"build":    buildgen.Run,
	"packages": buildgen.Packages,
}

func runGen(e *env, args []string) error {
	f := newFlags()
	mode := f.String("mode", "fix", "fix writes the files; diff prints what would change, and fails if anything would")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) == 0 || len(rest) > 2 || generators[rest[0]] == nil {
		return usageError("want build or packages")
	}
	if *mode != "fix" && *mode != "diff" {
		return usageError("--mode is \"" + *mode + "\", want fix or diff")
	}
	// Under `bazel run` the workspace is elsewhere.
	root := cmp.Or(os.Getenv("BUILD_WORKSPACE_DIRECTORY"), ".")
	if len(rest) == 2 {
		root = rest[1]
	}
	err = generators[rest[0]](buildgen.Options{Root: root, Backends: e.backends.AOT, Diff: *mode == "diff", Out: e.stdout, Warnings: e.stderr})
	if err == buildgen.ErrStale {
		return diag.New(diag.StaleFile, root, "%w", err).WithHint("run `pte gen %s`, or `bazel run` the pte_gen target", rest[0])
	}
	return err
}
