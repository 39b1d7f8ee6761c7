// Package aot is the ahead-of-time half of the null backend.
package aot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rules-pte/rules_pte/backends/null"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// ID is the backend's name in programs, also in backend.cue and in the run-time half.
const ID = "NullBackend"

// Backend is handed to the tool that lowers: see the list of backends in lowerer/cmd/pte.
type Backend struct{}

// ID is the backend's name in programs.
func (Backend) ID() string { return ID }

// Schema is the CUE package of the backend.
func (Backend) Schema() backend.Schema {
	return backend.Schema{ImportPath: null.ImportPath, Files: null.Files}
}

// Partitioner reads the options, which fit #Backend.partitioner of backend.cue.
func (Backend) Partitioner(o backend.Options) (backend.Partitioner, error) {
	p := &partitioner{spec: backend.DelegationSpec{BackendID: ID, CompileSpecs: o.CompileSpecs}}
	if err := json.Unmarshal(o.Partitioner, p); err != nil {
		return nil, fmt.Errorf("read options: %w", err)
	}
	return p, nil
}

// Preprocess makes the payload of one partition. p has one method; the constants that belong to the partition are its
// first inputs, those of the delegate call come after them. Weights are expressions: give them to a NamedDataStore and
// write the keys into the payload. A node that there is no way to take is an error that names it.
func (Backend) Preprocess(_ *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	for _, n := range p.Methods[0].Graph.Nodes {
		return nil, fmt.Errorf("node %s (%s): this backend has no instruction for it", n.Name, exir.PythonName(n.Op.Name))
	}
	return nil, errors.New("the partition is empty")
}

type partitioner struct {
	Ops  []string `json:"ops"`
	spec backend.DelegationSpec
}

// Spec is what partitions are lowered with.
func (p *partitioner) Spec() backend.DelegationSpec { return p.spec }

// OpsToNotDecompose lists composite operators that the backend wants whole.
func (p *partitioner) OpsToNotDecompose() ([]string, func(*exir.Node) bool) { return nil, nil }

// Partition takes the nodes of which takes says so, in partitions that are as large as they can be. The reason of a
// refusal comes to the user's eyes: say what is wrong with the node.
func (p *partitioner) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	return backend.PartitionByCapability(t, p.spec, func(n *exir.Node) (string, bool) {
		return "this backend has no instruction for it", slices.Contains(p.Ops, n.Op.Name)
	}), nil
}
