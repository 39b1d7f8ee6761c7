package lowerer

import (
	"encoding/json"
	"slices"
	"testing/fstest"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// fake is a backend that takes the operators that its options list, and whose payloads are their names.
type fake struct {
	id string
	// padding is what it reads past the end of an arena, in bytes.
	padding int
}

const fakeSchema = `package fake

import "github.com/rules-pte/rules_pte/cue/backend"

#Backend: {
	backend.#Backend
	id: "Fake" | "Other"
	partitioner?: ops: *["aten::embedding", "aten::linear"] | [...string]
	compile_specs?: level?: int
}
`

func (f fake) ID() string { return f.id }

func (fake) Schema() backend.Schema {
	return backend.Schema{ImportPath: "example.com/fake", Files: fstest.MapFS{"fake.cue": {Data: []byte(fakeSchema)}}}
}

func (f fake) Partitioner(o backend.Options) (backend.Partitioner, error) {
	p := fakePartitioner{Ops: []string{"aten::embedding", "aten::linear"}, spec: backend.DelegationSpec{BackendID: f.id, CompileSpecs: o.CompileSpecs}}
	return &p, json.Unmarshal(o.Partitioner, &p)
}

func (f fake) Preprocess(_ *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	r := &backend.PreprocessResult{ArenaPadding: f.padding}
	for _, n := range p.Methods[0].Graph.Nodes {
		r.ProcessedBytes = append(r.ProcessedBytes, n.Op.Name...)
	}
	return r, nil
}

type fakePartitioner struct {
	Ops  []string `json:"ops"`
	spec backend.DelegationSpec
}

func (p *fakePartitioner) Spec() backend.DelegationSpec { return p.spec }

func (p *fakePartitioner) OpsToNotDecompose() ([]string, func(*exir.Node) bool) { return nil, nil }

func (p *fakePartitioner) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	return backend.PartitionByCapability(t, p.spec, func(n *exir.Node) (string, bool) {
		return "not in ops", slices.Contains(p.Ops, n.Op.Name)
	}), nil
}
