//go:build !ptefile

package main

import (
	"errors"
	"flag"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

var programName = flag.String("program", "", "name of the program; the first without it")

// load takes the program from the binary.
func load() (*executor.Program, error) {
	if flag.NArg() > 0 {
		return nil, errors.New("the program is in the binary: want no argument")
	}
	if *programName != "" {
		return pteprogram.LoadNamed(*programName)
	}
	return pteprogram.Load()
}
