//go:build !ptefile

package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

var programName = flag.String("program", "", "name of the program; the first without it")

// load takes the program from the binary.
func load(opts executor.LoadOptions) (*executor.Program, error) {
	if flag.NArg() > 0 {
		return nil, errors.New("the program is in the binary: want no argument")
	}
	names := pteprogram.Names()
	name := *programName
	if name == "" && len(names) > 0 {
		name = names[0]
	}
	file := pteprogram.Bytes(name)
	if file == nil {
		return nil, fmt.Errorf("no program %q; there are %q", name, names)
	}
	return executor.Load(file, opts)
}
