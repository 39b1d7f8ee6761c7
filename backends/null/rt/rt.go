// Package rt is the run-time half of the null backend. It imports runtime packages only.
package rt

import (
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Backend is handed to the executor, in executor.LoadOptions.Backends.
type Backend struct{}

// ID is the backend's name in programs.
func (Backend) ID() string { return "NullBackend" }

// Available reports whether this machine has what the backend needs.
func (Backend) Available() bool { return true }

// Init makes a handle of a payload, whose bytes are not to be trusted. ctx.NamedData has the weights, ctx.Share what
// instances share, and processed.Free lets go of the payload once it is read.
func (Backend) Init(*backend.InitContext, *backend.FreeableBuffer, []backend.CompileSpec) (backend.Handle, error) {
	return nil, backend.Fail(pte.DelegateInvalidCompatibility, "the null backend makes no payloads")
}

// Execute runs a handle: args are the inputs and then the outputs. It sets the outputs' sizes with ctx.Resize, and then
// their bytes.
func (Backend) Execute(*backend.ExecuteContext, backend.Handle, []*backend.Value) error {
	return backend.Fail(pte.InvalidState, "the null backend makes no handles")
}

// Destroy frees what Init made.
func (Backend) Destroy(backend.Handle) {}
