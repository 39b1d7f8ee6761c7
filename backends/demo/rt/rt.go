// Package rt is the run-time half of the demo backend: it runs the instructions that the ahead-of-time half wrote.
package rt

import (
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/rules-pte/rules_pte/backends/demo/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Backend runs payloads of the delegate-mapping backend.
type Backend struct{}

// ID is the backend's name in programs.
func (Backend) ID() string { return "BackendWithDelegateMappingDemo" }

// All runs payloads of the backend that preprocesses all methods together; they are the same.
type All struct{ Backend }

// ID is the backend's name in programs.
func (All) ID() string { return "BackendWithPreprocessAllDemo" }

// Available is always true.
func (Backend) Available() bool { return true }

// Inputs is how many inputs a payload has, or -1 if it is none.
func (Backend) Inputs(processed []byte) int {
	b, err := blob.Decode(processed)
	if err != nil {
		return -1
	}
	return b.Inputs
}

// step is an instruction with its weights.
type step struct {
	blob.Instruction
	weight, bias []float32
}

// program is a handle.
type program struct {
	inputs  int
	outputs []int
	steps   []step
	values  []value
}

// value is a tensor within the delegate.
type value struct {
	data  []float32
	sizes []tensor.Dim
}

// Init reads the payload and finds its weights; nothing is copied.
func (Backend) Init(ctx *backend.InitContext, processed *backend.FreeableBuffer, _ []backend.CompileSpec) (backend.Handle, error) {
	b, err := blob.Decode(processed.Data())
	if err != nil {
		return nil, backend.Fail(pte.DelegateInvalidCompatibility, err.Error())
	}
	if len(ctx.Args) != b.Inputs+len(b.Outputs) {
		return nil, backend.Fail(pte.DelegateInvalidCompatibility, "the call has ", strconv.Itoa(len(ctx.Args)), " arguments, the payload ",
			strconv.Itoa(b.Inputs), " inputs and ", strconv.Itoa(len(b.Outputs)), " outputs")
	}
	p := &program{inputs: b.Inputs, outputs: b.Outputs, values: make([]value, b.Inputs+len(b.Instructions))}
	for _, in := range b.Instructions {
		s := step{Instruction: in}
		if c := in.Conv; c != nil {
			if s.weight, err = weights(ctx, c.Weight, c.Sizes[:]); err != nil {
				return nil, err
			}
			if c.Bias != "" {
				if s.bias, err = weights(ctx, c.Bias, c.Sizes[:1]); err != nil {
					return nil, err
				}
			}
		}
		p.steps = append(p.steps, s)
	}
	processed.Free()
	return p, nil
}

// weights is the named data of this key as floats of these sizes.
func weights(ctx *backend.InitContext, key string, sizes []tensor.Dim) ([]float32, error) {
	data := ctx.NamedData(key)
	if data == nil {
		return nil, backend.Fail(pte.NotFound, "no named data ", key)
	}
	if want, err := bytesFor(sizes); err != nil || len(data) != want {
		return nil, backend.Fail(pte.DelegateInvalidCompatibility, "named data ", key, " has ", strconv.Itoa(len(data)), " bytes, want ",
			strconv.Itoa(want))
	}
	return floats(data), nil
}

// bytesFor is how many bytes floats of these sizes have.
func bytesFor(sizes []tensor.Dim) (int, error) {
	m := tensor.Meta{DType: tensor.Float, Sizes: sizes}
	n, ok := m.BoundedBytes(math.MaxInt)
	if !ok {
		return 0, backend.Fail(pte.InvalidArgument, "a tensor is too large")
	}
	return int(n), nil
}

// floats views bytes, which the file's format aligns, as floats.
func floats(data []byte) []float32 {
	if len(data) < 4 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&data[0])), len(data)/4)
}

// bytesOf is the bytes of list.
func bytesOf(list []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
}

// Execute runs the instructions one after another.
func (Backend) Execute(ctx *backend.ExecuteContext, h backend.Handle, args []*backend.Value) error {
	p := h.(*program)
	for i, a := range args[:p.inputs] {
		if a.Kind != op.Tensor || a.Tensor.DType != tensor.Float {
			return backend.Fail(pte.InvalidArgument, "input ", strconv.Itoa(i), " is no tensor of float32")
		}
		p.values[i] = value{floats(a.Tensor.Data), a.Tensor.Sizes}
	}
	for i := range p.steps {
		if err := p.run(ctx, i); err != nil {
			return err
		}
	}
	for i, v := range p.outputs {
		if err := output(ctx, args[p.inputs+i], &p.values[v]); err != nil {
			return err
		}
	}
	return nil
}

func output(ctx *backend.ExecuteContext, a *backend.Value, v *value) error {
	if a.Kind != op.Tensor || a.Tensor.DType != tensor.Float {
		return backend.Fail(pte.InvalidArgument, "an output is no tensor of float32")
	}
	if err := ctx.Resize(a.Tensor, v.sizes); err != nil {
		return err
	}
	copy(floats(a.Tensor.Data), v.data)
	return nil
}

// run makes the value of step i, as an event if somebody traces.
func (p *program) run(ctx *backend.ExecuteContext, i int) error {
	t, id := ctx.Tracer, int64(p.steps[i].ID)
	if t == nil {
		return p.compute(ctx, i)
	}
	e := t.StartProfilingDelegate("", id)
	err := p.compute(ctx, i)
	t.EndProfilingDelegate(e, nil)
	if err == nil {
		out := &p.values[p.inputs+i]
		t.LogIntermediateOutputDelegate("", id, &backend.Value{Kind: op.Tensor, Tensor: &tensor.Tensor{
			Meta: tensor.Meta{DType: tensor.Float, Sizes: out.sizes}, Data: bytesOf(out.data)}})
	}
	return err
}

// compute makes the value of step i.
func (p *program) compute(ctx *backend.ExecuteContext, i int) error {
	s := &p.steps[i]
	x := &p.values[s.Args[0]]
	out := &p.values[p.inputs+i]
	out.sizes = x.sizes
	if s.Conv != nil {
		sizes, err := convSizes(s.Conv, x.sizes)
		if err != nil {
			return err
		}
		out.sizes = sizes
	}
	for _, at := range s.Args[1:] {
		if !slices.Equal(p.values[at].sizes, x.sizes) {
			return backend.Fail(pte.InvalidArgument, "the operands of a quotient differ in their sizes")
		}
	}
	n, err := bytesFor(out.sizes)
	if err != nil {
		return err
	}
	data, err := ctx.Alloc(n)
	if err != nil {
		return err
	}
	out.data = floats(data)
	if s.Conv != nil {
		s.convolve(ctx, x, out)
		return nil
	}
	s.pointwise(ctx, p.values, out.data)
	return nil
}

// functions are those of one argument.
var functions = map[blob.Op]func(x float32) float32{
	blob.Relu: func(x float32) float32 {
		if x < 0 { // NaN stays
			return 0
		}
		return x
	},
	blob.Sin: func(x float32) float32 { return float32(math.Sin(float64(x))) },
	blob.Cos: func(x float32) float32 { return float32(math.Cos(float64(x))) },
}

// grain is how many elements are worth a thread.
const grain = 4096

func (s *step) pointwise(ctx *backend.ExecuteContext, values []value, out []float32) {
	x := values[s.Args[0]].data
	f := functions[s.Op]
	ctx.Parallel(len(out), grain, func(lo, hi int) {
		if f == nil { // Div
			y := values[s.Args[1]].data
			for i := lo; i < hi; i++ {
				out[i] = x[i] / y[i]
			}
			return
		}
		for i := lo; i < hi; i++ {
			out[i] = f(x[i])
		}
	})
}

// Destroy has nothing to free.
func (Backend) Destroy(backend.Handle) {}
