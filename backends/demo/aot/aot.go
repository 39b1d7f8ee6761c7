// Package aot is the ahead-of-time half of the demo backend.
package aot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/backends/demo"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The ids.
const (
	// ID is Backend's.
	ID = "BackendWithDelegateMappingDemo"
	// AllID is All's.
	AllID = "BackendWithPreprocessAllDemo"
)

// Backend preprocesses its partitions one by one.
type Backend struct{}

// ID is the backend's name in programs.
func (Backend) ID() string { return ID }

// Schema is the CUE package demo.
func (Backend) Schema() backend.Schema { return schema }

var schema = backend.Schema{ImportPath: demo.ImportPath, Files: demo.Files}

// Partitioner takes convolution, relu and tan.
func (Backend) Partitioner(o backend.Options) (backend.Partitioner, error) {
	return newPartitioner(ID, o)
}

// Preprocess makes the instructions of one partition.
func (Backend) Preprocess(_ *backend.Context, p *exir.EdgeProgram, specs []backend.CompileSpec) (*backend.PreprocessResult, error) {
	return compile(p, specs, new(backend.NamedDataStore))
}

// All preprocesses the partitions of all methods together, with one store for the weights that they share.
type All struct{ Backend }

// ID is the backend's name in programs.
func (All) ID() string { return AllID }

// Partitioner takes what Backend's takes.
func (All) Partitioner(o backend.Options) (backend.Partitioner, error) {
	return newPartitioner(AllID, o)
}

// PreprocessMultiMethod makes the instructions of every partition.
func (All) PreprocessMultiMethod(_ *backend.Context, programs map[string][]*exir.EdgeProgram, specs map[string][][]backend.CompileSpec) (map[string][]*backend.PreprocessResult, error) {
	shared := new(backend.NamedDataStore)
	return backend.PreprocessEach(programs, specs, func(p *exir.EdgeProgram, specs []backend.CompileSpec) (*backend.PreprocessResult, error) {
		return compile(p, specs, shared)
	})
}

// options are #Backend.partitioner in backend.cue.
type options struct {
	Take []string `json:"take"`
}

type partitioner struct {
	spec backend.DelegationSpec
	options
}

func newPartitioner(id string, o backend.Options) (backend.Partitioner, error) {
	var opts options
	if err := json.Unmarshal(o.Partitioner, &opts); err != nil {
		return nil, fmt.Errorf("read options: %w", err)
	}
	return &partitioner{backend.DelegationSpec{BackendID: id, CompileSpecs: o.CompileSpecs}, opts}, nil
}

// Spec has the program's compile specs.
func (p *partitioner) Spec() backend.DelegationSpec { return p.spec }

// OpsToNotDecompose is none.
func (p *partitioner) OpsToNotDecompose() ([]string, func(*exir.Node) bool) { return nil, nil }

// Partition tags convolutions, relu and tan of float32.
func (p *partitioner) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	return backend.PartitionByCapability(t, p.spec, func(n *exir.Node) (string, bool) { return p.takes(t, n) }), nil
}

// takes says whether there is an instruction for n.
func (p *partitioner) takes(t *backend.TaggedProgram, n *exir.Node) (string, bool) {
	if p.Take != nil && !slices.Contains(p.Take, n.Op.Base()) {
		return "the option take leaves it out", false
	}
	switch n.Op.Name {
	case "aten::relu", "aten::tan":
	case "aten::convolution":
		if reason := refuseConv(t, n); reason != "" {
			return reason, false
		}
	default:
		return "no instruction for this operator", false
	}
	switch out := n.Outs[0].Spec; {
	case out.DType != tensor.Float:
		return "its element type is " + out.DType.String(), false
	case !n.Args[0].Value.Spec.Contiguous() || !out.Contiguous():
		return "its dim order is not contiguous", false
	}
	return "", true
}

func refuseConv(t *backend.TaggedProgram, n *exir.Node) string {
	weight, bias := n.Args[1].Value, &n.Args[2]
	switch {
	case n.Outs[0].Spec.Rank() != 4:
		return "it is no 2-d convolution"
	case n.Args[6].Int != 0:
		return "it is transposed"
	case !t.IsConstant(weight) || bias.Kind == exir.ArgValue && !t.IsConstant(bias.Value):
		return "its weights are not constant"
	}
	return ""
}
