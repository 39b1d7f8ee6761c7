// Package backend is the ahead-of-time contract of a delegate: a Partitioner says which nodes a backend takes, and
// Preprocess makes a payload of each part of the graph that it got.
//
// Names and meaning are those of ExecuTorch's exir/backend. There is no registry: a tool is built with the list of its
// backends.
package backend

import (
	"io/fs"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// CompileSpec is a key with bytes that goes into the .pte, and from there to the backend's run-time half.
type CompileSpec = pte.CompileSpec

// DelegationSpec says who takes a partition, and with which compile specs.
type DelegationSpec struct {
	BackendID    string
	CompileSpecs []CompileSpec
}

// PartitionResult is what a Partitioner decided.
type PartitionResult struct {
	// TaggedProgram is what Partition was given.
	TaggedProgram *TaggedProgram
	// PartitionTags has an entry for every tag that was given, and no others.
	PartitionTags map[string]DelegationSpec
}

// Partitioner decides which nodes of a method its backend takes.
type Partitioner interface {
	// Partition tags nodes of one method, nested graphs included, and changes nothing else.
	Partition(p *TaggedProgram) (*PartitionResult, error)
	// Spec is what the partitions are lowered with, unless Partition says something else of one of them.
	Spec() DelegationSpec
	// OpsToNotDecompose are composite operators, such as "aten::linear", that the backend wants to see as they are. A
	// filter that is not nil keeps only the nodes for which it is true. A kept node that is not delegated then is an error.
	OpsToNotDecompose() (ops []string, filter func(n *exir.Node) bool)
}

// Preserver is a Partitioner that wants further composite operators kept, by what is around them.
type Preserver interface {
	// Preserve gives the nodes of a graph of ATen operators to keep as they are; offered is false for those that the
	// program's spec skips. A kept node that is not delegated then is an error.
	Preserve(g *exir.Graph, offered func(n *exir.Node) bool) []*exir.Node
}

// Narrower is a Partitioner whose options let the backend compute in a narrower element type than the program's.
type Narrower interface {
	// Tolerance is how far, relative to its value, a result of one operator may be from that in the program's own type.
	Tolerance() float64
}

// Options are what a program's `partition` entry says to its backend.
type Options struct {
	// CompileSpecs are the entry's compile_specs in the order of the backend's schema.
	CompileSpecs []CompileSpec
	// Partitioner is the entry's `partitioner` as JSON, "{}" where it has none; it fits the backend's schema. Other
	// text than JSON is an error.
	Partitioner []byte
	// Bounds are the smallest and the largest value of a dimension; the largest is math.MaxInt64 if there is none.
	Bounds func(d tensor.Dim) (lo, hi int64) `json:"-"`
}

// Schema is the CUE package of a backend. Its #Backend is what a program's `partition` embeds.
type Schema struct {
	// ImportPath is the package's, such as "github.com/rules-pte/rules_pte/backends/demo".
	ImportPath string
	// Files has the package's .cue files at its top.
	Files fs.FS
}

// Backend is the ahead-of-time half of a delegate.
type Backend interface {
	// ID is the name in BackendDelegate.id, such as "XnnpackBackend".
	ID() string
	// Schema is the backend's CUE package.
	Schema() Schema
	// Partitioner makes the partitioner that o describes.
	Partitioner(o Options) (Partitioner, error)
	// Preprocess makes the payload of one partition: a program of one method whose inputs are the constants that it
	// owns, the buffers, and then the inputs of the delegate call; its outputs are those of the call, in order.
	Preprocess(c *Context, p *exir.EdgeProgram, specs []CompileSpec) (*PreprocessResult, error)
}

// MultiMethodPreprocessor is a Backend that sees all partitions of all methods at once. Without it they are
// preprocessed one by one.
type MultiMethodPreprocessor interface {
	// PreprocessMultiMethod gives one result for each partition, by method and in the same order.
	PreprocessMultiMethod(c *Context, p map[string][]*exir.EdgeProgram, specs map[string][][]CompileSpec) (map[string][]*PreprocessResult, error)
}

// WeightReader is a Backend whose compiler may have to see the values of weights.
type WeightReader interface {
	// ReadsWeights reports whether Context.Constant must work, for which lowering needs the .pt2 and not only its graph.
	ReadsWeights() bool
}

// StateOwner is a Backend that keeps mutated buffers itself.
type StateOwner interface {
	// OwnsState reports whether its partitioner may use TaggedProgram.TagMutatedBuffer.
	OwnsState() bool
}

// WorkCounter is a Backend that can say how much work is in its payloads.
type WorkCounter interface {
	// MACs are the multiply-accumulates of convolutions and matrix products in a payload, at the largest sizes.
	MACs(processed []byte) (int64, error)
}

// ReadsWeights reports what b says as a WeightReader, false if it is none.
func ReadsWeights(b Backend) bool {
	r, ok := b.(WeightReader)
	return ok && r.ReadsWeights()
}

// OwnsState reports what b says as a StateOwner, false if it is none.
func OwnsState(b Backend) bool {
	o, ok := b.(StateOwner)
	return ok && o.OwnsState()
}

// Context is what Preprocess gets beside its program.
type Context struct {
	// Constant evaluates a constant to its bytes, in the order of its dims. It is nil unless the backend reads weights.
	Constant func(c *exir.Constant) ([]byte, error)
	// Bounds are the smallest and the largest value of a dimension; the largest is math.MaxInt64 if there is none.
	Bounds func(d tensor.Dim) (lo, hi int64)
	// Partitioner is the one that made the partitions, for options of it that do not go into the program.
	Partitioner Partitioner
}

// PreprocessResult is what a backend made of a partition.
type PreprocessResult struct {
	// ProcessedBytes are handed to the run-time half. A key that NamedData.AddConstant gave may stand anywhere in them.
	ProcessedBytes []byte
	// DebugHandleMap maps the backend's ids of its steps to debug handles of nodes; see DelegateMappingBuilder.
	DebugHandleMap DebugHandleMap
	// NamedData is what the payload refers to by key; may be nil.
	NamedData *NamedDataStore
	// Requirements are what the payload takes for granted of constants; packing refuses a program that does not have it.
	Requirements []exir.Requirement
	// ArenaPadding is how many bytes the run-time half may read past the end of an arena.
	ArenaPadding int
}
