package diag

import (
	"sort"
	"strings"

	"github.com/rules-pte/rules_pte/docs"
)

// The codes: 1 the spec, 2 the model, 3 the lowering, 4 memory and layout, 5 programs and runs, 8 files, 9 bugs.
const (
	SpecRead         Code = "PTE1001" // the spec is missing, or no CUE
	UnknownField     Code = "PTE1002" // a field that the schema lacks
	WrongValue       Code = "PTE1003" // a value of the wrong type or range
	MissingField     Code = "PTE1004" // a required field is absent, or has no concrete value
	NoProgram        Code = "PTE1005" // the spec has no #Program
	WhichProgram     Code = "PTE1006" // several programs, or none of that name
	UnknownReference Code = "PTE1007" // a name that is not defined, such as an unknown target
	UnknownImport    Code = "PTE1008" // an import that the tool does not have
	IllegalTarget    Code = "PTE1009" // a combination that the target forbids
	ExpectFailed     Code = "PTE1010" // the report misses `expect`
	UnknownPass      Code = "PTE1011" // `passes` names no optional pass
	UnknownInput     Code = "PTE1012" // `dynamic_shapes` names no dynamic dimension
	UnknownModel     Code = "PTE1013" // a model that no file or key stands for
	UnknownBackend   Code = "PTE1014" // a backend that is not linked into the tool
	BadPartition     Code = "PTE1015" // a `partition` entry that its backend refuses
	PinFailed        Code = "PTE1016" // `pin` or `skip` names nothing, or a pinned node was not taken

	ModelRead      Code = "PTE2001" // the .pt2 cannot be opened
	ModelFormat    Code = "PTE2002" // no PT2 archive, or a damaged one
	ModelVersion   Code = "PTE2003" // an archive of an older or newer layout
	ModelMalformed Code = "PTE2004" // the graph contradicts itself

	UnsupportedOperator Code = "PTE3001" // neither kernel nor rule
	UnsupportedDType    Code = "PTE3002" // no kernel for the element type
	UnboundedDimension  Code = "PTE3003" // a dynamic dimension without upper bound
	UnsupportedFeature  Code = "PTE3004" // a construct that this version does not lower
	BadRange            Code = "PTE3005" // a range outside of the exported one

	UndeclaredData Code = "PTE3006" // a data file that the build does not declare, or that the program does not have

	IllegalTag              Code = "PTE3101" // a partitioner tagged what may not be tagged
	NotConvex               Code = "PTE3102" // a partition is not one convex part of one graph
	PartitionerChangedGraph Code = "PTE3103" // a partitioner changed the graph
	SharedConstant          Code = "PTE3104" // a constant that may not be duplicated is shared
	MutatedBufferTagged     Code = "PTE3105" // a mutated buffer was tagged by a backend that does not own state
	PreservedLeft           Code = "PTE3106" // an operator was kept from decomposition, and no backend took it
	PreprocessFailed        Code = "PTE3107" // a backend could not make a payload of what it took
	NamedDataConflict       Code = "PTE3108" // one key stands for two different contents
	RequirementFailed       Code = "PTE3109" // a weight is not what a backend took it to be

	BankOverflow Code = "PTE4001" // the plan does not fit the memory bank

	ProgramMalformed Code = "PTE5001" // the .pte is truncated, damaged or of another version
	RunInputs        Code = "PTE5002" // inputs of the wrong number, type or shape
	NotRunnable      Code = "PTE5003" // a kernel or backend that this binary lacks
	ResultDiffers    Code = "PTE5004" // outputs differ from the expected ones
	NoMethod         Code = "PTE5005" // a method that the program does not have
	ProgramLimits    Code = "PTE5006" // more memory or instructions than are allowed

	FileWrite Code = "PTE8001" // an output cannot be written
	FileRead  Code = "PTE8002" // an input cannot be read
	StaleStep Code = "PTE8003" // a step's input is no output of the step before
	StaleFile Code = "PTE8004" // a generated file is not what would be generated

	Bug Code = "PTE9001" // a fault of the tool
)

// Codes are all codes, sorted.
func Codes() []Code {
	entries, err := docs.Errors.ReadDir("errors")
	if err != nil {
		return nil
	}
	var codes []Code
	for _, e := range entries {
		codes = append(codes, Code(strings.TrimSuffix(e.Name(), ".md")))
	}
	sort.Slice(codes, func(i, j int) bool { return codes[i] < codes[j] })
	return codes
}

// Explain is the page of code, in Markdown, and whether there is one.
func Explain(code Code) (string, bool) {
	page, err := docs.Errors.ReadFile("errors/" + string(code) + ".md")
	return string(page), err == nil
}
