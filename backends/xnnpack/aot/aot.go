// Package aot is the ahead-of-time half of the XNNPACK delegate: it decides which nodes XNNPACK takes, and makes
// payloads of them.
//
// One table, rules, has a row for every operator: what must hold for a node to be taken, and how it becomes nodes of
// XNNPACK's graph. Both halves recognise quantization in the same way, by patterns of quantize and dequantize nodes.
package aot

import (
	"encoding/json"
	"fmt"

	"github.com/rules-pte/rules_pte/backends/xnnpack"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// ID is the delegate's name in programs.
const ID = "XnnpackBackend"

// arenaPadding is how many bytes XNNPACK may read past the end of an arena.
const arenaPadding = 64

// Backend is the delegate.
type Backend struct{}

// ID is "XnnpackBackend".
func (Backend) ID() string { return ID }

// Schema is the CUE package xnnpack.
func (Backend) Schema() backend.Schema {
	return backend.Schema{ImportPath: xnnpack.ImportPath, Files: xnnpack.Files}
}

// Partitioner takes what the table of rules has, as far as the options allow.
func (Backend) Partitioner(o backend.Options) (backend.Partitioner, error) {
	p := &partitioner{bounds: o.Bounds}
	if err := json.Unmarshal(o.Partitioner, &p.options); err != nil {
		return nil, fmt.Errorf("read options: %w", err)
	}
	p.spec = backend.DelegationSpec{BackendID: ID, CompileSpecs: o.CompileSpecs}
	return p, nil
}

// Preprocess makes the graph of one partition.
func (Backend) Preprocess(x *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	return compile(x, p)
}

// options are #Partitioner in backend.cue.
type options struct {
	Precisions     []precision `json:"config_precisions"`
	PerOp          bool        `json:"per_op_mode"`
	BFloat16       bool        `json:"enable_bf16"`
	DynamicWeights bool        `json:"force_non_static_weights_for_f32_linear"`
	Half           bool        `json:"force_fp16"`
}

// precision is how a node computes.
type precision string

// The precisions.
const (
	float        precision = "fp32"
	staticQuant  precision = "static_quant"
	dynamicQuant precision = "dynamic_quant"
)
