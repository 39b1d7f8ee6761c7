//go:build ptefile

package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

var dataName = flag.String("data", "", "the program's data file, if it has one")

// load maps the program that the argument names, and its data file.
func load(opts executor.LoadOptions) (*executor.Program, error) {
	if flag.NArg() != 1 {
		return nil, errors.New("want one argument, the .pte")
	}
	if *dataName != "" {
		file, _, err := executor.MapFile(place(*dataName))
		if err != nil {
			return nil, err
		}
		if opts.NamedData, err = ptd.Read(file); err != nil {
			return nil, err
		}
	}
	return executor.LoadFile(place(flag.Arg(0)), opts)
}

// place is a path as the user means it; `bazel run` says where its user stands.
func place(name string) string {
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}
