package etrecord

// The structs below are those of executorch's exir/serde/schema.py, as far as they are written.

// union is a JSON object with one member, whose name is the type of the value.
type union map[string]any

type exportedProgram struct {
	GraphModule  graphModule     `json:"graph_module"`
	OpsetVersion map[string]int  `json:"opset_version"`
	Ranges       map[string]bool `json:"range_constraints"` // always empty
	Version      schemaVersion   `json:"schema_version"`
	Verifiers    []string        `json:"verifiers"`
	Dialect      string          `json:"dialect"`
}

type schemaVersion struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

type graphModule struct {
	Graph     graph        `json:"graph"`
	Signature signature    `json:"signature"`
	Calls     []moduleCall `json:"module_call_graph"`
}

type signature struct {
	Inputs  []union `json:"input_specs"`
	Outputs []union `json:"output_specs"`
}

type moduleCall struct {
	FQN string `json:"fqn"`
}

type graph struct {
	Inputs       []union               `json:"inputs"`
	Outputs      []union               `json:"outputs"`
	Nodes        []node                `json:"nodes"`
	Tensors      map[string]tensorMeta `json:"tensor_values"`
	Ints         map[string]union      `json:"sym_int_values"`
	Bools        map[string]union      `json:"sym_bool_values"`
	SingleTensor bool                  `json:"is_single_tensor_return"`
	Objects      map[string]union      `json:"custom_obj_values"`
}

type node struct {
	Name     string            `json:"name"`
	Target   string            `json:"target"`
	Inputs   []namedArgument   `json:"inputs"`
	Outputs  []union           `json:"outputs"`
	Metadata map[string]string `json:"metadata"`
}

type namedArgument struct {
	Name string `json:"name"`
	Arg  union  `json:"arg"`
}

type tensorName struct {
	Name string `json:"name"`
}

type tensorMeta struct {
	DType         int     `json:"dtype"`
	Sizes         []union `json:"sizes"`
	RequiresGrad  bool    `json:"requires_grad"`
	Device        device  `json:"device"`
	Strides       []union `json:"strides"`
	StorageOffset union   `json:"storage_offset"`
	Layout        int     `json:"layout"`
}

type device struct {
	Type  string `json:"type"`
	Index *int   `json:"index"`
}

// strided is Layout.Strided.
const strided = 7

// memoryFormats are schema.py's numbers by those of c10.
var memoryFormats = [...]int{1, 4, 2, 3}
