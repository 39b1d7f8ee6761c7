// Package etrecord writes and reads ETRecord files, which ExecuTorch's Inspector reads beside an ETDump: the graph of the Edge
// dialect before anything was delegated, and from which of its nodes each instruction came. Format: executorch's
// devtools/etrecord/_etrecord.py and exir/serde, schema 5.4.
package etrecord

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Record collects what goes into an ETRecord.
type Record struct {
	graphs []methodGraph
}

type methodGraph struct {
	method  string
	program *exportedProgram
}

// The names of members.
const (
	handleMap   = "debug_handle_map"
	delegateMap = "delegate_map"
	outsMap     = "instruction_id_to_num_outs_map"
	edgeProgram = "edge_dialect_exported_program"
)

// parts follow the name of a graph: the members with its tensors.
var parts = []string{"_state_dict", "_constants", "_example_inputs"}

// member is a file in an ETRecord: JSON, or empty.
type member struct {
	name  string
	value any
}

// Add notes the graphs of p as they are now. size gives the size that a tensor had at export. A nil Record takes nothing.
func (r *Record) Add(p *exir.Program, size func(d tensor.Dim) int64) {
	if r == nil {
		return
	}
	for _, m := range p.Methods {
		r.graphs = append(r.graphs, methodGraph{m.Name, graphOf(m, size)})
	}
}

// Write writes the file, with the instructions in d.
func (r *Record) Write(w io.Writer, d *debuginfo.File) error {
	z := zip.NewWriter(w)
	for _, m := range r.members(d) {
		if err := m.write(z); err != nil {
			return fmt.Errorf("write ETRecord: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write ETRecord: %w", err)
	}
	return nil
}

// members are the files in r. A graph has no values of weights and no example inputs.
func (r *Record) members(d *debuginfo.File) []member {
	list := []member{{"ETRECORD_V0", nil}, {handleMap, d.Handles}, {delegateMap, d.Delegates}, {outsMap, d.Outs}, {"export_graph_id", 0}}
	for _, g := range r.graphs {
		name := edgeProgram + "/" + g.method
		list = append(list, member{name, g.program})
		for _, part := range parts {
			list = append(list, member{name + part, nil})
		}
	}
	return list
}

func (m *member) write(z *zip.Writer) error {
	f, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Deflate})
	if err != nil || m.value == nil {
		return err
	}
	return json.NewEncoder(f).Encode(m.value)
}
