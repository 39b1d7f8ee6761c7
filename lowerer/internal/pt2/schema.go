package pt2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The structs follow torch/_export/serde/schema.py; a field that this package
// does not need is left out.

type programJSON struct {
	Module       moduleJSON           `json:"graph_module"`
	Ranges       map[string]rangeJSON `json:"range_constraints"`
	Guards       []string             `json:"guards_code"`
	Schema       versionJSON          `json:"schema_version"`
	TorchVersion string               `json:"torch_version"`
}

type versionJSON struct{ Major, Minor int }

type rangeJSON struct {
	Min bound `json:"min_val"`
	Max bound `json:"max_val"`
}

type moduleJSON struct {
	Graph     graphJSON `json:"graph"`
	Signature struct {
		Inputs  []union `json:"input_specs"`
		Outputs []union `json:"output_specs"`
	} `json:"signature"`
	Calls []struct {
		FQN       string         `json:"fqn"`
		Signature *callSignature `json:"signature"`
	} `json:"module_call_graph"`
}

// callSignature is how a module is called: InSpec and OutSpec are pytree specs.
type callSignature struct {
	InSpec   string   `json:"in_spec"`
	OutSpec  string   `json:"out_spec"`
	ArgNames []string `json:"forward_arg_names"`
}

// call is how the model itself is called.
func (m *moduleJSON) call() (s callSignature) {
	for _, c := range m.Calls {
		if c.FQN == "" && c.Signature != nil {
			s = *c.Signature
		}
	}
	return s
}

type graphJSON struct {
	Inputs    []union               `json:"inputs"`
	Outputs   []union               `json:"outputs"`
	Nodes     []nodeJSON            `json:"nodes"`
	Tensors   map[string]tensorJSON `json:"tensor_values"`
	SymInts   map[string]symJSON    `json:"sym_int_values"`
	SymFloats map[string]union      `json:"sym_float_values"`
	SymBools  map[string]union      `json:"sym_bool_values"`
}

type nodeJSON struct {
	Target   string            `json:"target"`
	Name     string            `json:"name"`
	Inputs   []namedJSON       `json:"inputs"`
	Outputs  []union           `json:"outputs"`
	Metadata map[string]string `json:"metadata"`
}

type namedJSON struct {
	Name string `json:"name"`
	Arg  union  `json:"arg"`
}

type tensorJSON struct {
	DType   int       `json:"dtype"`
	Sizes   []symJSON `json:"sizes"`
	Strides []symJSON `json:"strides"`
	Offset  symJSON   `json:"storage_offset"`
	Layout  int       `json:"layout"`
}

type symJSON struct {
	Int  *int64 `json:"as_int"`
	Expr *struct {
		Text string `json:"expr_str"`
		Hint *struct {
			Int *int64 `json:"as_int"`
		} `json:"hint"`
	} `json:"as_expr"`
}

type nameJSON struct {
	Name string `json:"name"`
}

// payloadJSON is one entry of a payload config (torch/export/pt2_archive).
type payloadJSON struct {
	Path   string      `json:"path_name"`
	Pickle bool        `json:"use_pickle"`
	Meta   *tensorJSON `json:"tensor_meta"`
}

// union is an object with one member, which tells the type of its value.
type union struct {
	tag string
	raw json.RawMessage
}

// UnmarshalJSON takes the only member that is not null: writers of the oldest schema wrote all.
func (u *union) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	for tag, raw := range m {
		if string(raw) == "null" {
			continue
		}
		if u.tag != "" {
			return fmt.Errorf("union with members %q and %q", min(u.tag, tag), max(u.tag, tag))
		}
		u.tag, u.raw = tag, raw
	}
	if u.tag == "" && len(m) != 0 {
		u.tag, u.raw = "as_none", json.RawMessage("true")
	}
	return nil
}

// bound is an end of a range; Python's integers may be larger than an int64.
type bound struct {
	n   int64
	set bool
}

func (b *bound) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	b.set = true
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil {
		b.n = n
		return nil
	}
	f, err := parseFloat(text)
	if err != nil {
		return err
	}
	b.n = math.MaxInt64
	if f < 0 {
		b.n = math.MinInt64
	}
	return nil
}

// number is a float64, also where it is written as the text "Infinity" or "NaN".
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	f, err := parseFloat(text)
	*n = number(f)
	return err
}

func parseFloat(text []byte) (float64, error) {
	f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("unusable number %.30q", text)
	}
	return f, nil
}

// decodeJSON is json.Unmarshal that also takes Python's bare NaN and Infinity.
func decodeJSON(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if _, syntax := err.(*json.SyntaxError); syntax && (bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity"))) {
		return json.Unmarshal(quoteNumbers(text), v)
	}
	return err
}

// quoteNumbers puts quotes around NaN, Infinity and -Infinity outside of strings.
func quoteNumbers(text []byte) []byte {
	out := make([]byte, 0, len(text)+64)
	inString := false
	for i := 0; i < len(text); i++ {
		if inString && text[i] == '\\' && i+1 < len(text) {
			out = append(out, text[i], text[i+1])
			i++
			continue
		}
		if text[i] == '"' {
			inString = !inString
		}
		if word := bareNumber(text[i:]); word != "" && !inString {
			out = append(append(append(out, '"'), word...), '"')
			i += len(word) - 1
			continue
		}
		out = append(out, text[i])
	}
	return out
}

func bareNumber(text []byte) string {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(text, []byte(w)) {
			return w
		}
	}
	return ""
}
