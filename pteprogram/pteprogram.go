// Package pteprogram stands, for editors and go vet, where pte_runtime puts the
// package that it generates for a binary. It names no kernel and no program.
package pteprogram

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

var errNoProgram = errors.New("load program: this binary was not built by pte_runtime")

// Ops are the kernels that the programs call.
func Ops() []*op.Kernel { return nil }

// Backends are the backends that the programs delegate to.
func Backends() []backend.Backend { return nil }

// Options are the load options with Ops and Backends.
func Options() executor.LoadOptions { return executor.LoadOptions{} }

// Names are the names of the embedded programs.
func Names() []string { return nil }

// Bytes is the file of the embedded program of a name, or nil.
func Bytes(name string) []byte { return nil }

// Load loads the first embedded program.
func Load() (*executor.Program, error) { return nil, errNoProgram }

// LoadNamed loads the embedded program of a name, or fails if there is none.
func LoadNamed(name string) (*executor.Program, error) { return nil, errNoProgram }
