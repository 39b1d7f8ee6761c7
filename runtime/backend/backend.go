// Package backend is the run-time contract of a delegate.
//
// Names and meaning are ExecuTorch's BackendInterface. There is no registry: a
// program is loaded with the list of backends that it may use.
package backend

import (
	"context"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Value is an argument of a delegate call, ExecuTorch's EValue.
type Value = op.Value

// CompileSpec is a key with bytes, as the ahead-of-time half wrote it.
type CompileSpec = pte.CompileSpec

// Handle is what Init made of one payload; only its backend looks inside.
type Handle any

// Backend runs the parts of programs that were delegated to it. Its methods may be called by several
// instances at once, but never at once with the same Handle.
type Backend interface {
	// ID is the name in BackendDelegate.id, such as "XnnpackBackend".
	ID() string
	// Available reports whether this machine can run it.
	Available() bool
	// Init makes a handle of a payload, once for each delegate call of each instance.
	// The payload stays valid until the program is closed.
	Init(ctx *InitContext, processed []byte, specs []CompileSpec) (Handle, error)
	// Execute runs a handle. args are the inputs and then the outputs of the delegated part. Outputs hold their largest
	// sizes or those of the call before; Execute gives them their sizes with ctx.Resize.
	Execute(ctx *ExecuteContext, h Handle, args []*Value) error
	// Destroy frees a handle.
	Destroy(h Handle)
}

// OptionSetter is a Backend with options that can change between calls.
type OptionSetter interface {
	SetOption(key string, v Value) error
}

// OptionGetter is a Backend whose options can be read.
type OptionGetter interface {
	GetOption(key string) (Value, error)
}

// InitContext is what Init gets.
type InitContext struct {
	// Method is the name of the method that the delegate call is in.
	Method string
	// Args are the arguments of the delegate call, tensors with their largest sizes.
	Args []*Value
	// NamedData is the data of this key in the program, or nil.
	NamedData func(key string) []byte
	// Share returns what was made before for this key in the same program, or makes it: for packed weights,
	// which instances share and nobody writes.
	Share func(key string, make func() (any, error)) (any, error)
	// Threads is how many threads Parallel uses at most.
	Threads int
}

// ExecuteContext is what Execute gets; it is valid for the call.
type ExecuteContext struct {
	Context context.Context
	// Parallel runs f over [0,n) in chunks of at least grain, on several threads or on this one.
	Parallel func(n, grain int, f func(lo, hi int))
	// Alloc gives n bytes, 64-byte aligned, valid until Execute returns.
	Alloc func(n int) ([]byte, error)
	// Resize sets the sizes of an output, whose rank cannot change; an error if they exceed its capacity.
	Resize func(t *tensor.Tensor, sizes []tensor.Dim) error
}
