package config

import (
	"path/filepath"
	"sort"

	"cuelang.org/go/cue"

	"github.com/rules-pte/rules_pte/lowerer/backend"
)

// Pos is a place in the user's files as errors print it, such as "net.cue:3:7"; "" is none.
type Pos string

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p != "" }

// Value is a value of a spec and where the user wrote it.
type Value[T any] struct {
	V T
	// Pos is the user's position; it is not valid for a default.
	Pos Pos `json:"-"`
	// Set reports whether the user gave the value; V is the default otherwise.
	Set bool
}

// Spec is a #Program, decoded: everything that a lowering reads, in a fixed order.
type Spec struct {
	// Path is the spec's file as the user gave it; "" for a default one.
	Path string
	// Name is the program's, as in the file; "" if it is the file's top level.
	Name Value[string]
	// Methods in the order of the file.
	Methods         []MethodSpec
	ConstantMethods []ConstantMethod
	Target          Target
	Partition       []BackendSpec
	MemoryPlanning  MemoryPlanning
	// Passes are the optional passes that the user switched, in the order of the file.
	Passes []PassSwitch
	// Operators is "all" or "official".
	Operators               Value[string]
	SegmentAlignment        Value[int]
	ConstantTensorAlignment Value[int]
	// DelegateAlignment is SegmentAlignment's value if not Set.
	DelegateAlignment Value[int]
	EmitStacktrace    Value[bool]
	// ExternalConstants are asked in their order; the first whose Name fits a weight has it.
	ExternalConstants []ExternalConstants

	expect cue.Value
	loader *loader
}

// ExternalConstants are the weights of one data file.
type ExternalConstants struct {
	// File is the data file's name without .ptd; Name a pattern of fully qualified names.
	File, Name Value[string]
}

// MethodSpec is one method.
type MethodSpec struct {
	Name Value[string]
	// Model is a path relative to the spec, or a key.
	Model         Value[string]
	DynamicShapes []DimRange
}

// DimRange narrows one dimension of one input.
type DimRange struct {
	Input Value[string]
	Dim   Value[int]
	// Min and Max are inclusive; not Set means as exported.
	Min, Max Value[int64]
}

// ConstantMethod is a method that returns a constant.
type ConstantMethod struct {
	Name Value[string]
	// Value is a bool, int64, float64, string, []bool, []int64 or []float64.
	Value Value[any]
}

// Target is a row of cue/targets.
type Target struct {
	Name, OS, Arch Value[string]
	CPUFeatures    []string
	// DTypes are the allowed element types by PyTorch's name.
	DTypes   []string
	MaxRank  int
	PageSize int
	Banks    []Bank
	// Pos is where the user chose the target.
	Pos Pos `json:"-"`
}

// Bank is a memory of the target, after memory_planning.banks narrowed it; sorted by MemoryID.
type Bank struct {
	Name     string
	MemoryID int
	// Size is the capacity in bytes; 0 means no limit.
	Size Value[int64]
}

// BackendSpec is one entry of `partition`.
type BackendSpec struct {
	ID Value[string]
	// Pos is where the user wrote the entry.
	Pos Pos `json:"-"`
	// Backend is the linked backend of this id.
	Backend backend.Backend `json:"-"`
	Options backend.Options
	// Pin are the nodes that the backend must take, Skip those that it may not.
	Pin, Skip []Nodes
}

// Nodes is a #Nodes: it selects nodes by what is not "".
type Nodes struct {
	Name, Module, Op, Line string
	Pos                    Pos `json:"-"`
}

// MemoryPlanning says which tensors lie in planned arenas.
type MemoryPlanning struct {
	AllocGraphInput, AllocGraphOutput, AllocMutableBuffers Value[bool]
	Alignment                                              Value[int]
}

// PassSwitch turns one optional pass on or off.
type PassSwitch struct {
	Name Value[string]
	On   bool
}

// Disabled reports whether the user switched the pass off.
func (s *Spec) Disabled(pass string) bool {
	for _, p := range s.Passes {
		if p.Name.V == pass {
			return !p.On
		}
	}
	return false
}

// HasExpect reports whether the spec constrains the report.
func (s *Spec) HasExpect() bool { return s.expect.Exists() }

// Models are the models of all methods, sorted, each once.
func (s *Spec) Models() []string {
	var models []string
	seen := map[string]bool{}
	for _, m := range s.Methods {
		if !seen[m.Model.V] {
			seen[m.Model.V] = true
			models = append(models, m.Model.V)
		}
	}
	sort.Strings(models)
	return models
}

// Where prints the user's position p, for errors that later stages find; without one it is the file's name.
func (s *Spec) Where(p Pos) string {
	if p.IsValid() {
		return string(p)
	}
	return s.Path
}

// ModelPath is where model lies when nothing maps it to a file: beside the spec.
func (s *Spec) ModelPath(model string) string {
	if filepath.IsAbs(model) || s.Path == "" {
		return model
	}
	return filepath.Join(filepath.Dir(s.Path), filepath.FromSlash(model))
}

// Named is a model and the method that it becomes.
type Named struct{ Method, Model string }

// DefaultSpec is the spec of a program without a file: these methods, and every default of the schema.
func DefaultSpec(models []Named) (*Spec, error) {
	l, err := schemaLoader()
	if err != nil {
		return nil, err
	}
	v := l.schema
	for _, m := range models {
		v = v.FillPath(cue.MakePath(cue.Str("methods"), cue.Str(m.Method), cue.Str("model")), m.Model)
	}
	spec, err := l.decode(named{v: v})
	if err == nil {
		spec.Name.V = ""
	}
	return spec, err
}
