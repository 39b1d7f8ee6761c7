//go:build ptefile

package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

// load maps the program that the argument names; `bazel run` says where its user stands.
func load() (*executor.Program, error) {
	if flag.NArg() != 1 {
		return nil, errors.New("want one argument, the .pte")
	}
	name := flag.Arg(0)
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return executor.LoadFile(name, pteprogram.Options())
}
