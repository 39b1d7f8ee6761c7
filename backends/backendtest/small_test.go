package backendtest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rules-pte/rules_pte/backends/backendtest"
	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// This file is a whole backend, as small as one can be that keeps all rules: it adds, multiplies and clips float32 tensors
// of equal fixed sizes. docs/add-a-backend.md sends its readers here. It leaves weights outside and names no steps;
// backends/demo does both. Out of a test the halves are packages of their own, so that run-time has none of the other.

const id = "SmallBackend"

// The first number of a record: what it computes.
const add, mul, relu int32 = 1, 2, 3

var ops = map[string]int32{"aten::add.Tensor": add, "aten::mul.Tensor": mul, "aten::relu": relu}

// schema has no options, and says so: what is left out here, or is {} without a definition, may hold anything.
const schema = `package small

import "github.com/rules-pte/rules_pte/cue/backend"

#Backend: backend.#Backend & {id: "SmallBackend", partitioner?: #None, compile_specs?: #None}
#None: {}
`

// small is the ahead-of-time half, and its own partitioner.
type small struct{}

func (small) ID() string { return id }

func (small) Schema() backend.Schema {
	return backend.Schema{ImportPath: "example.com/small", Files: fstest.MapFS{"backend.cue": {Data: []byte(schema)}}}
}

func (s small) Partitioner(o backend.Options) (backend.Partitioner, error) {
	return s, json.Unmarshal(o.Partitioner, &struct{}{})
}

func (small) Spec() backend.DelegationSpec { return backend.DelegationSpec{BackendID: id} }

func (small) OpsToNotDecompose() ([]string, func(*exir.Node) bool) { return nil, nil }

func (s small) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	return backend.PartitionByCapability(t, s.Spec(), func(n *exir.Node) (string, bool) {
		if ops[n.Op.Name] == 0 {
			return "it has no such operator", false
		} else if i := n.Op.Arg("alpha"); i >= 0 && (n.Args[i].Kind != exir.ArgInt || n.Args[i].Int != 1) {
			return "its alpha is not 1", false
		}
		for _, a := range n.Args[:min(2, len(n.Args))] {
			m := &a.Value.Spec
			if m.DType != tensor.Float || !m.Static() || !m.Contiguous() || !slices.Equal(m.Sizes, n.Outs[0].Spec.Sizes) {
				return "an operand is not float32, contiguous, and of the fixed sizes of the result", false
			}
			t.LeaveOutside(a.Value)
		}
		return "", true
	}), nil
}

// Preprocess writes four numbers for each node: what it computes, its operands, and the argument of the call that it is,
// or 0. Values are numbered: the arguments, which are inputs and then outputs, and then the nodes.
func (small) Preprocess(_ *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	g, values, outputs, r := p.Methods[0].Graph, map[*exir.Value]int32{}, map[*exir.Value]int32{}, &backend.PreprocessResult{}
	for i, v := range g.Inputs {
		values[v] = int32(i)
	}
	for i, o := range g.Outputs {
		outputs[o.Value] = int32(len(g.Inputs) + i)
	}
	for i, n := range g.Nodes {
		a, b, out := n.Args[0].Value, n.Args[min(1, len(n.Args)-1)].Value, n.Outs[0]
		r.ProcessedBytes = append(r.ProcessedBytes, tensor.Of([]int32{ops[n.Op.Name], values[a], values[b], outputs[out]}, 4).Data...)
		values[out] = int32(len(g.Inputs) + len(g.Outputs) + i)
	}
	return r, nil
}

// smallRT is the run-time half.
type smallRT struct{}

func (smallRT) ID() string { return id }

func (smallRT) Available() bool { return true }

func (smallRT) Init(ctx *rtbackend.InitContext, processed *rtbackend.FreeableBuffer, _ []rtbackend.CompileSpec) (rtbackend.Handle, error) {
	sizes := []tensor.Dim{int64(len(processed.Data()) / 4)}
	code := tensor.Elements[int32](&tensor.Tensor{Meta: tensor.Meta{DType: tensor.Int, Sizes: sizes}, Data: processed.Data()})
	return code, run(code, ctx.Args, nil)
}

func (smallRT) Execute(ctx *rtbackend.ExecuteContext, h rtbackend.Handle, args []*rtbackend.Value) error {
	return run(h.([]int32), args, ctx)
}

func (smallRT) Destroy(rtbackend.Handle) {}

var errPayload = rtbackend.Fail(pte.DelegateInvalidCompatibility, "no payload for these arguments")

// run holds a payload against the arguments of a call, and runs it where there is a context.
func run(code []int32, args []*rtbackend.Value, ctx *rtbackend.ExecuteContext) (err error) {
	var values []*tensor.Tensor
	for _, a := range args {
		if a.Kind != op.Tensor || a.Tensor.DType != tensor.Float {
			return errPayload
		}
		values = append(values, a.Tensor)
	}
	for ; len(code) > 0; code = code[4:] {
		n := uint32(len(values))
		if len(code) < 4 || uint32(code[1]) >= n || uint32(code[2]) >= n || uint32(code[3]) >= uint32(len(args)) {
			return errPayload
		}
		a, b, o := values[code[1]], values[code[2]], &tensor.Tensor{Meta: values[code[1]].Meta.Clone()}
		if a.Numel() != b.Numel() || code[0] < add || code[0] > relu {
			return errPayload
		} else if code[3] > 0 {
			o = args[code[3]].Tensor
		}
		if values = append(values, o); ctx == nil {
			continue
		} else if code[3] > 0 {
			err = ctx.Resize(o, a.Sizes) // an error, too, if o may not be written
		} else {
			o.Data, err = ctx.Alloc(a.Nbytes())
		}
		if err != nil {
			return err
		}
		compute(code[0], tensor.Elements[float32](a), tensor.Elements[float32](b), tensor.Elements[float32](o))
	}
	return nil
}

func compute(what int32, x, y, z []float32) {
	for i := range z {
		switch what {
		case add:
			z[i] = x[i] + y[i]
		case mul:
			z[i] = x[i] * y[i]
		case relu:
			z[i] = max(x[i], 0)
		}
	}
}

func TestSmall(t *testing.T) {
	(&backendtest.Suite{AOT: small{}, Runtime: smallRT{}}).Run(t)
}

// TestClosed has options that the schema has not: they are errors.
func TestClosed(t *testing.T) {
	for _, entry := range []string{`partitioner: ops: ["add"]`, "compile_specs: tile: 3"} {
		path := filepath.Join(t.TempDir(), "p.cue")
		text := "import (\n\t\"example.com/small\"\n\t\"github.com/rules-pte/rules_pte/cue/lower\"\n)\n\n" +
			"lower.#Program & {methods: forward: model: \"m.pt2\", partition: [small.#Backend & {" + entry + "}]}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lowerer.ReadSpec(path, []backend.Backend{small{}}); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", entry, err)
		}
	}
}
