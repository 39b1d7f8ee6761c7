// Package backend is the run-time contract of a delegate.
//
// Names and meaning are ExecuTorch's BackendInterface. There is no registry: a
// program is loaded with the list of backends that it may use.
package backend

import (
	"context"

	"github.com/rules-pte/rules_pte/runtime/kernel"
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
	// Init makes a handle of a payload, once for each delegate of each method of each instance. specs are byte for byte
	// those that the ahead-of-time half was given. A payload that another version wrote is an Error with code
	// DelegateInvalidCompatibility. Nothing is left to free when Init gives an error.
	Init(ctx *InitContext, processed *FreeableBuffer, specs []CompileSpec) (Handle, error)
	// Execute runs a handle. args are the inputs, which it only reads, and then the outputs of the delegated part. Outputs hold
	// their largest sizes or those of the call before; Execute gives them their sizes with ctx.Resize.
	Execute(ctx *ExecuteContext, h Handle, args []*Value) error
	// Destroy frees a handle. It is called exactly once for each that Init gave, also when a later step of making the
	// instance fails.
	Destroy(h Handle)
}

// Option is a run-time option of a backend, ExecuTorch's BackendOption. Its Value is a Bool, an Int or a String.
type Option struct {
	Key   string
	Value Value
}

// OptionSetter is a Backend with options that can change between calls.
type OptionSetter interface {
	SetOption(key string, v Value) error
}

// OptionGetter is a Backend whose options can be read.
type OptionGetter interface {
	GetOption(key string) (Value, error)
}

// KernelUser is a Backend that runs portable kernels, which InitContext.Kernels has. Tools that link a program ask it for them,
// so that its package references none.
type KernelUser interface {
	// Kernels are those of all that a payload runs, each once and in any order. No named data is there to be read. A payload
	// that Init refuses has those that are found before the reason.
	Kernels(processed []byte, all *op.Table) []*op.Kernel
}

// InputCounter is a Backend that tells, before Init, how many of Execute's arguments are inputs. Without that, an argument may be
// an input or an output to those who load a program: what kernels around it compute stays at its place, and is computed at each call.
type InputCounter interface {
	// Inputs is how many inputs a payload has, or -1 if it is none that Init would take. No named data is there to be read.
	Inputs(processed []byte) int
}

// Inliner is a Backend that tells which calls of portable operators compute a payload. Who loads a program runs these in place of
// Execute, and may fuse them with what is around; Init then gets but what is left. They run with the kernels that a KernelUser names,
// if the backend is one.
type Inliner interface {
	// Inline is what a payload computes, also for other calls of it whose arguments have the same types, sizes and orders; nil if Init is to
	// get it, also for one that Init refuses. Nobody changes it. Of ctx there are Method, Args, the tensors of one call, with their largest
	// sizes, Options, NamedData, Share, Kernels and Tier.
	Inline(ctx *InitContext, processed []byte, specs []CompileSpec) *Inlined
}

// NoHandle is the number of what has none.
const NoHandle = -1

// Inlined are calls of operators that compute a payload.
type Inlined struct {
	// Values are as in a plan. A tensor with a DataBufferIdx is that one of Constants; others, but for Args, are written before they are
	// read, and have a place only between. Nobody writes constants, nor what is no tensor. Sizes are the largest ones.
	Values    []pte.EValue
	Operators []pte.Operator
	// Calls run in order: each calls one of Operators. Their outs are outputs among Args, or tensors without a place. What no operator
	// computes is a DelegateCall of one of Parts, with inputs and then outputs as arguments; B is how many of them are inputs.
	Calls []pte.Instruction
	// Parts are what Init gets for them, as InitContext.Part: for each call of the payload, and each instance.
	Parts []any
	// Handles are what traces call each call, as StartProfilingDelegate takes it: a number, or NoHandle for the operator's name.
	Handles []int64
	// Constants are bytes in the program's file or in what Share has made; entry 0 stands for none.
	Constants [][]byte
	// Args are the values that the arguments of Execute are; the first Inputs of them are inputs, which no call writes.
	Args   []int32
	Inputs int
}

// FreeableBuffer is the bytes of a payload, which lie in the program's file.
type FreeableBuffer struct {
	data []byte
	free func([]byte)
}

// NewFreeableBuffer is a buffer of data; free, unless nil, is called once with it by the first Free.
func NewFreeableBuffer(data []byte, free func([]byte)) *FreeableBuffer {
	return &FreeableBuffer{data, free}
}

// Data is the bytes, which nobody writes; nil after Free. Without Free they stay valid until the program is closed.
func (b *FreeableBuffer) Data() []byte { return b.data }

// Free says that the bytes are not needed any more; their memory goes back to the system if the file is mapped.
func (b *FreeableBuffer) Free() {
	data, free := b.data, b.free
	b.data, b.free = nil, nil
	if free != nil {
		free(data)
	}
}

// Packing is a job that writes packed constants.
type Packing struct {
	// Bytes is how many it writes, about.
	Bytes int
	// Into is what it writes, if that lies in what Constants gave.
	Into []byte
	Run  func()
}

// InitContext is what Init gets; it is valid for the call, its functions as long as the handle.
type InitContext struct {
	// Method is the name of the method that the delegate belongs to.
	Method string
	// Args are the arguments of the first call of the delegate, tensors with their largest sizes. All calls have as many.
	Args []*Value
	// Part is which one of Inlined.Parts the handle is to run, if Inline has said the payload otherwise; else nil.
	Part any
	// Options are the run-time options that the program was loaded with for this backend.
	Options []Option
	// Tracer gets events; nil if nobody traces.
	Tracer EventTracer
	// NamedData is the data of this key in the program, or nil.
	NamedData func(key string) []byte
	// Alloc gives n zero bytes, 64-byte aligned, that last as long as the handle; they count against the program's memory
	// limit, and going over it is an error.
	Alloc func(n int) ([]byte, error)
	// Share returns what was made before for this key in the same program, or makes it: for packed weights,
	// which instances share and nobody writes. make may call Share with other keys.
	Share func(key string, make func() (any, error)) (any, error)
	// Release says that a constant's bytes, which lie in the program's file or its named data, are not needed any more, as they were
	// packed: their memory goes back to the system if the file is mapped, and is read anew if they are used again. It may be nil.
	Release func(b []byte)
	// Constants gives n bytes, 64-byte aligned, for what Share makes: they last as long as the program, count against its
	// memory limit, and going over that is an error. They are zeros; or, if packed is true, they are what was written there when
	// a program was loaded before, with a weight cache, and nobody writes them. key says in which layout the backend writes
	// there, before the first Execute, what it makes of the constants from, with a version if the layout can change. The
	// same key and the same bytes of from have the same result. Under "" nothing is kept. Constants may be nil.
	Constants func(n int, key string, from ...[]byte) (b []byte, packed bool, err error)
	// Pack lets jobs run that write packed constants, on several threads: after Init and before the first Execute. A backend
	// runs them itself where it is nil.
	Pack func(jobs []Packing)
	// Temp is what ExecuteContext.Alloc takes from, and what a backend may take the temporaries of its steps from: Execute holds
	// what it needs for longer, begins a round with every step, and releases in the end. It may be nil.
	Temp *op.Temp
	// MaxMemory is the program's memory limit in bytes, for memory that does not come from Alloc and Constants.
	MaxMemory int64
	// Threads is how many threads Parallel uses at most.
	Threads int
	// Kernels are the portable kernels that the program was loaded with. A backend that runs some, and names them as a KernelUser,
	// finds them here.
	Kernels *op.Table
	// Tier is the instruction set that kernels use where there is a choice.
	Tier kernel.Tier
}

// ExecuteContext is what Execute gets; it is valid for the call.
type ExecuteContext struct {
	Context context.Context
	// Tracer gets events; nil if nobody traces.
	Tracer EventTracer
	// Parallel runs f over [0,n) in chunks of at least grain, on several threads or on this one.
	Parallel func(n, grain int, f func(lo, hi int))
	// Alloc gives n bytes of any content, 64-byte aligned, valid until Execute returns.
	Alloc func(n int) ([]byte, error)
	// Resize sets the sizes of an output, whose rank cannot change; an error if they exceed its capacity, or if the output is
	// a constant of the file, whose memory may be read-only: call it before anything is written.
	Resize func(t *tensor.Tensor, sizes []tensor.Dim) error
}

// EventTracer takes a delegate's events, as ExecuTorch's does. A step has the name or, if that is "", the id that the
// ahead-of-time half put into the debug handle map.
type EventTracer interface {
	// StartProfilingDelegate begins a step.
	StartProfilingDelegate(name string, id int64) EventTracerEntry
	// EndProfilingDelegate ends a step; metadata is the backend's own.
	EndProfilingDelegate(e EventTracerEntry, metadata []byte)
	// LogIntermediateOutputDelegate takes what a step made; it keeps no reference to v.
	LogIntermediateOutputDelegate(name string, id int64, v *Value)
}

// WorkTracer is an EventTracer that also takes how much there was to do.
type WorkTracer interface {
	EventTracer
	// LogWork takes the work of the step or instruction that ended last.
	LogWork(w Work)
}

// Work is what a step or an instruction has to do at least.
type Work struct {
	// MACs are the multiply-accumulates of convolutions and products of matrices; 0 of anything else.
	MACs int64
	// Integers says that they multiply integers of at most 8 bits.
	Integers bool
	// Bytes are those of operands, weights and results, each counted once.
	Bytes int64
	// Window is how a convolution or a pooling goes through its input; zero of anything else.
	Window Window
}

// Window is a window of a convolution or a pooling. Its arrays end with the innermost dimension of the image; what an image does not
// have is 0.
type Window struct {
	Size, Stride, Dilation [3]int64
	// Groups are those of a convolution's channels; 0 of a pooling.
	Groups int64
}

// IntermediateTracer is an EventTracer that may look at the values between steps. While it does, each step of a program runs by
// itself, and leaves its results as the file says they lie.
type IntermediateTracer interface {
	EventTracer
	// TracesIntermediates reports whether somebody looks at values that are no outputs.
	TracesIntermediates() bool
}

// TracesIntermediates reports whether t is one that looks at values that are no outputs.
func TracesIntermediates(t EventTracer) bool {
	looks, ok := t.(IntermediateTracer)
	return ok && looks.TracesIntermediates()
}

// EventTracerEntry is a step that has begun.
type EventTracerEntry int

// Error is a failure of a backend with ExecuTorch's code for it. Fail makes one.
type Error struct {
	Code pte.Code
	Msg  string
}

// Error is the message; who shows it adds the code.
func (e *Error) Error() string { return e.Msg }

// Fail is an Error with the parts in a row as its message.
func Fail(code pte.Code, parts ...string) error {
	e := &Error{Code: code}
	for _, p := range parts {
		e.Msg += p
	}
	return e
}
