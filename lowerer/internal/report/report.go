// Package report holds what a lowering says about its result: the Go side of the CUE package cue/report.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Report describes a lowered program. Its JSON is a value of #Report in cue/report, and what a spec's
// `expect` is held against.
type Report struct {
	// Packed reports that FileBytes and ConstantBytes are those of the file; before packing they are upper bounds, since
	// equal constants are stored once.
	Packed bool `json:"packed"`
	// FileBytes is the size of the .pte file.
	FileBytes int64 `json:"file_bytes"`
	// ArenaBytes is the sum over the methods' planned arenas.
	ArenaBytes int64 `json:"arena_bytes"`
	// ConstantBytes is the sum over the constants in the .pte file, each counted once, without padding.
	ConstantBytes int64 `json:"constant_bytes"`
	// ExternalBytes is the sum over the entries of each data file, by its name without .ptd; an upper bound before packing.
	ExternalBytes map[string]int64 `json:"external_bytes"`
	// Instructions is the sum over all methods.
	Instructions int `json:"instructions"`
	// OfficialRuntime reports whether ExecuTorch's own runtime can load and run the file.
	OfficialRuntime bool `json:"official_runtime"`
	// Target is the machine that the program is for.
	Target Target `json:"target"`
	// Methods by name.
	Methods map[string]*MethodReport `json:"methods"`
	// Delegation by backend id; a backend that took nothing is absent.
	Delegation map[string]*Delegation `json:"delegation"`
	// Fallback lists the nodes that no backend took, and why; empty for a program without backends.
	Fallback []Fallback `json:"fallback"`
}

// Target is what a row of cue/targets says about the result.
type Target struct {
	Name string `json:"name"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// PageSize is in bytes.
	PageSize    int      `json:"page_size"`
	CPUFeatures []string `json:"cpu_features"`
}

// MethodReport describes one method.
type MethodReport struct {
	// Instructions is the number of instructions over all chains.
	Instructions int `json:"instructions"`
	// Operators counts the nodes left to kernels, by full ATen name such as "aten.add.Tensor".
	Operators map[string]int `json:"operators"`
	// Nodes are those that Operators counts, in the order in which they run.
	Nodes []Node `json:"nodes"`
	// Kernels are the kernels the method calls, sorted, each once.
	Kernels []Kernel `json:"kernels"`
	// Arenas are the planned sizes in bytes, by memory id from 1 on.
	Arenas []int64 `json:"arenas"`
	// Banks are the planned bytes in each bank of the target, by its name.
	Banks map[string]int64 `json:"banks"`
	// LowerBound is the peak of live planned bytes: no plan can be smaller.
	LowerBound int64 `json:"lower_bound"`
}

// Kernel is one kernel of runtime/op.
type Kernel struct {
	// Op is the operator's full ATen name.
	Op string `json:"op"`
	// DType is the element type that selects the kernel, such as "float32".
	DType string `json:"dtype"`
	// Name is the Go variable in runtime/op, such as "AddF32".
	Name string `json:"name"`
}

// Delegation says what one backend took.
type Delegation struct {
	// Partitions is the number of delegate calls.
	Partitions int `json:"partitions"`
	// Nodes is the share of nodes, 0 to 1.
	Nodes float64 `json:"nodes"`
	// Macs is the share of multiply-accumulates, 0 to 1.
	Macs float64 `json:"macs"`
	// Operators counts the nodes that it took, by full ATen name.
	Operators map[string]int `json:"operators"`
	// Bytes is the size of the backend's payloads.
	Bytes int64 `json:"bytes"`
	// BorderBytes is the size of the tensors that go into and out of the backend, at their largest.
	BorderBytes int64 `json:"border_bytes"`
	// CompileSpecs are those of the payloads, each once: the values that the backend's schema has for them,
	// else text, or hex where they are none.
	CompileSpecs map[string][]string `json:"compile_specs"`
	// Tolerance is how far, relative to its value, a result of one operator may be from that in the program's own element
	// type since the backend computes in a narrower one; 0 if it does not.
	Tolerance float64 `json:"tolerance"`
}

// Fallback is a node that stayed with the portable kernels although backends were asked for.
type Fallback struct {
	// Method and Node name the place.
	Method string `json:"method"`
	Node   string `json:"node"`
	// Op is the operator's full ATen name.
	Op string `json:"op"`
	// Module is the path of the innermost nn.Module.
	Module string `json:"module"`
	// Reasons are those of every backend that refused it, in their order.
	Reasons []Reason `json:"reasons"`
	// Where is the user's Python line, "" if the model has none.
	Where string `json:"where"`
}

// Reason is why one backend refused a node.
type Reason struct {
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
}

// Text is all reasons in a row: "XnnpackBackend: its dtype; DemoBackend: its rank".
func (f *Fallback) Text() string {
	parts := make([]string, len(f.Reasons))
	for i, r := range f.Reasons {
		parts[i] = r.Backend + ": " + r.Reason
	}
	return strings.Join(parts, "; ")
}

// Node is a call of a kernel and its origin.
type Node struct {
	Name string `json:"name"`
	// Op is the operator's full ATen name.
	Op string `json:"op"`
	// Module is the path of the innermost nn.Module, such as "encoder.layer.0".
	Module string `json:"module"`
	// Where is the user's Python line, "" if the model has none.
	Where string `json:"where"`
}

// Manifest says what a runtime needs to run a program: the input of selective build.
type Manifest struct {
	// Kernels are Go variables in runtime/op, such as "AddF32", sorted, each once.
	Kernels []string `json:"kernels"`
	// Backends are the delegates' ids, sorted.
	Backends []string `json:"backends"`
	// Methods in the order of the file.
	Methods []string `json:"methods"`
	// FileBytes is the size of the .pte file, ConstantBytes that of its constants without padding.
	FileBytes     int64 `json:"file_bytes"`
	ConstantBytes int64 `json:"constant_bytes"`
	// DataFiles are the names of the data files that belong to the program, without .ptd, sorted.
	DataFiles []string `json:"data_files"`
	// Target is the machine that the program was lowered for.
	Target ManifestTarget `json:"target"`
}

// ManifestTarget is what the platform of a runtime is held against.
type ManifestTarget struct {
	Name string `json:"name"`
	// OS and Arch are "any" if any will do.
	OS          string   `json:"os"`
	Arch        string   `json:"arch"`
	CPUFeatures []string `json:"cpu_features"`
}

// Write writes r as indented JSON with a final newline; maps come out sorted.
func (r *Report) Write(w io.Writer) error { return writeJSON(w, r.withoutNil()) }

// Write writes m as indented JSON with a final newline.
func (m *Manifest) Write(w io.Writer) error {
	c := *m
	c.Kernels, c.Backends, c.Methods, c.DataFiles = orEmpty(c.Kernels), orEmpty(c.Backends), orEmpty(c.Methods), orEmpty(c.DataFiles)
	c.Target.CPUFeatures = orEmpty(c.Target.CPUFeatures)
	return writeJSON(w, &c)
}

// Read reads what Report.Write wrote. Unknown fields are errors.
func Read(r io.Reader) (*Report, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	rep := new(Report)
	if err := dec.Decode(rep); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	return rep, nil
}

// withoutNil is r with empty lists and maps in place of nil ones, since null is not in the schema.
func (r *Report) withoutNil() *Report {
	c := *r
	c.Fallback = orEmpty(r.Fallback)
	c.ExternalBytes = orEmptyMap(r.ExternalBytes)
	c.Target.CPUFeatures = orEmpty(r.Target.CPUFeatures)
	c.Delegation = map[string]*Delegation{}
	for id, d := range r.Delegation {
		dc := *d
		dc.Operators, dc.CompileSpecs = orEmptyMap(d.Operators), orEmptyMap(d.CompileSpecs)
		c.Delegation[id] = &dc
	}
	c.Methods = map[string]*MethodReport{}
	for name, m := range r.Methods {
		mc := *m
		mc.Nodes, mc.Kernels, mc.Arenas = orEmpty(m.Nodes), orEmpty(m.Kernels), orEmpty(m.Arenas)
		mc.Operators, mc.Banks = orEmptyMap(m.Operators), orEmptyMap(m.Banks)
		c.Methods[name] = &mc
	}
	return &c
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func orEmptyMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
