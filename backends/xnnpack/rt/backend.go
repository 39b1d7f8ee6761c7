// Package rt runs the payloads of the XNNPACK delegate, on the kernels of the portable operators that a program is loaded with.
//
// A payload becomes a program of steps, once, which the instances of the .pte share with its packed weights. Values
// lie in XNNPACK's order, row-major in the graph's dimensions; an image in NHWC is seen by a kernel as NCHW in
// channels-last order. What has no kernel in its own type runs in float32.
package rt

import (
	"strconv"
	"unsafe"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// ID is the delegate's name in a program.
const ID = "XnnpackBackend"

// Backend is the delegate. It is safe for concurrent use.
type Backend struct{}

// New is the delegate.
func New() *Backend { return &Backend{} }

// ID is "XnnpackBackend".
func (*Backend) ID() string { return ID }

// Available is true: the kernels run everywhere.
func (*Backend) Available() bool { return true }

// Init makes a handle of a payload, and frees it unless constants lie in it. Errors: DelegateInvalidCompatibility for one
// that is malformed or of another version, NotFound for named data that is missing, NotImplemented for what the official
// runtime has no kernel for, InvalidArgument for unknown options.
func (*Backend) Init(ctx *backend.InitContext, processed *backend.FreeableBuffer, specs []backend.CompileSpec) (backend.Handle, error) {
	opts, err := readOptions(ctx.Options)
	if err != nil {
		return nil, err
	}
	key, graph := "xnnpack graph "+address(processed.Data()), func() (*blob.Graph, error) { return read(processed.Data()) }
	if part, ok := ctx.Part.(*part); ok {
		key, graph = key+" "+strconv.Itoa(part.number), func() (*blob.Graph, error) { return part.graph, nil }
	}
	p, err := ctx.Share(key, func() (any, error) {
		g, err := graph()
		if err != nil {
			return nil, err
		}
		return compile(ctx, g)
	})
	if err != nil {
		return nil, err
	}
	prog := p.(*program)
	if !prog.inline {
		processed.Free()
	}
	return newInstance(ctx, prog, opts)
}

// Kernels are the portable kernels that the steps of a payload call, or what Inline makes of it.
func (*Backend) Kernels(processed []byte, all *op.Table) []*op.Kernel {
	listed := map[*op.Kernel]bool{}
	for _, inlined := range []*inliner{nil, newInliner()} {
		c := &compiler{ctx: &backend.InitContext{Kernels: all}, listed: listed, inlined: inlined}
		_ = c.read(processed) // what comes before the error counts
	}
	list := make([]*op.Kernel, 0, len(listed))
	for k := range listed {
		list = append(list, k)
	}
	return list
}

// Inputs is how many inputs a graph has, -1 of what is none.
func (*Backend) Inputs(processed []byte) int { return blob.Inputs(processed) }

// Execute runs the graph. args are the graph's external values in order.
func (*Backend) Execute(ctx *backend.ExecuteContext, h backend.Handle, args []*backend.Value) error {
	return h.(*instance).execute(ctx, args)
}

// Destroy does nothing: a handle has only memory.
func (*Backend) Destroy(backend.Handle) {}

// address names bytes that stay where they are.
func address(b []byte) string {
	return strconv.FormatUint(uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), 16) + "+" + strconv.Itoa(len(b))
}

// The values of option workspace_sharing_mode.
const (
	sharingDisabled = iota
	sharingPerModel
	sharingGlobal
	numSharingModes
)

// options are the run-time options.
type options struct {
	// sharing says whose values lie in the same memory: those of one delegate, or those of all delegates of an instance.
	// Instances run concurrently, so Global means the same as PerModel.
	sharing int64
}

// readOptions reads the official runtime's options. weight_cache_enabled is accepted and changes nothing, as packed
// weights are always shared.
func readOptions(list []backend.Option) (options, error) {
	o := options{sharing: sharingPerModel}
	for _, opt := range list {
		switch v := &opt.Value; {
		case opt.Key == "workspace_sharing_mode" && v.Kind == op.Int && v.Int >= 0 && v.Int < numSharingModes:
			o.sharing = v.Int
		case opt.Key == "weight_cache_enabled" && v.Kind == op.Bool:
		default:
			return o, backend.Fail(pte.InvalidArgument, "option ", opt.Key, " is unknown or has a wrong value")
		}
	}
	return o, nil
}

// read decodes a payload; what is wrong with it is DelegateInvalidCompatibility.
func read(payload []byte) (*blob.Graph, error) {
	g, err := blob.Read(payload)
	if err != nil {
		return nil, backend.Fail(pte.DelegateInvalidCompatibility, err.Error())
	}
	return g, nil
}
