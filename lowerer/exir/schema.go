package exir

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Schema is the signature of an operator overload.
type Schema struct {
	// Name is "namespace::op.overload"; the default overload has no dot.
	Name string
	Args []Param
	// Returns has one entry a result, such as {Type: "Tensor"} or {Type: "Tensor[]"}.
	Returns []Param
	// Kind is functional, inplace, out, view or hop (a higher-order operator, without Args).
	Kind string
	// Out names the out variant, or is empty.
	Out string
	// Tags are PyTorch's: core, pointwise, view_copy, inplace, …
	Tags string
}

// AnyType is the type of the arguments and results of an operator whose schema is not known.
const AnyType = "any?"

// Param is one argument or result of a Schema.
type Param struct {
	Name string
	// Type is ATen's without alias marks: Tensor, Tensor?, Tensor[], Tensor?[], Scalar, int, SymInt, SymInt[], float?, …
	Type    string
	Default Arg
	// HasDefault says that Default counts; KwOnly that the argument stands after the *.
	HasDefault, KwOnly bool
	// Alias is the alias set, such as "a"; Write that the operator writes to it.
	Alias string
	Write bool
}

// Arg is the index of the argument called name, or -1.
func (s *Schema) Arg(name string) int {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// Base is the name without namespace and overload: "add" of "aten::add.Tensor".
func (s *Schema) Base() string {
	_, op, _ := strings.Cut(s.Name, "::")
	op, _, _ = strings.Cut(op, ".")
	return op
}

//go:embed zschemas.tsv.gz
var schemaTable []byte

type schemaRow struct {
	fields []string
	parsed *Schema
}

var schemas = struct {
	once sync.Once
	mu   sync.Mutex
	rows map[string]*schemaRow
}{}

func loadSchemas() {
	zr, err := gzip.NewReader(bytes.NewReader(schemaTable))
	if err != nil {
		panic(err)
	}
	rows := make(map[string]*schemaRow, 4096)
	for sc := bufio.NewScanner(zr); sc.Scan(); {
		f := strings.Split(sc.Text(), "\t")
		if len(f) == 6 && f[0] != "name" {
			rows[f[0]] = &schemaRow{fields: f}
		}
	}
	schemas.rows = rows
}

// LookupSchema is the schema of an operator, such as "aten::add.Tensor" or "python::floordiv", or nil.
func LookupSchema(name string) *Schema {
	schemas.once.Do(loadSchemas)
	schemas.mu.Lock()
	defer schemas.mu.Unlock()
	row := schemas.rows[name]
	if row == nil {
		return pythonSchemas()[name]
	}
	if row.parsed == nil {
		s, err := ParseSchema(row.fields[1])
		if err != nil {
			panic(fmt.Sprintf("embedded schema table: %v", err))
		}
		s.Kind, s.Tags = row.fields[2], row.fields[3]
		if row.fields[5] != "-" {
			s.Out = row.fields[5]
		}
		row.parsed = s
	}
	return row.parsed
}

// MustSchema is LookupSchema for a name that is known to be in the table.
func MustSchema(name string) *Schema {
	s := LookupSchema(name)
	if s == nil {
		panic("no schema for " + name)
	}
	return s
}

// SchemaNames lists every name in the table, in no order.
func SchemaNames() []string {
	schemas.once.Do(loadSchemas)
	names := make([]string, 0, len(schemas.rows))
	for n := range schemas.rows {
		names = append(names, n)
	}
	return names
}

// ParseSchema reads ATen's notation: "aten::relu(Tensor self) -> Tensor".
func ParseSchema(text string) (*Schema, error) {
	open := strings.IndexByte(text, '(')
	arrow := strings.LastIndex(text, ") -> ")
	if open < 0 || arrow < open {
		return nil, fmt.Errorf("parse schema %q: want NAME(ARGS) -> RETURNS", text)
	}
	s := &Schema{Name: text[:open], Kind: "functional"}
	kwOnly := false
	for _, part := range splitTop(text[open+1 : arrow]) {
		if part == "*" {
			kwOnly = true
			continue
		}
		p, err := parseParam(part)
		if err != nil {
			return nil, fmt.Errorf("parse schema %q: %w", text, err)
		}
		p.KwOnly = kwOnly
		s.Args = append(s.Args, p)
	}
	returns := strings.TrimSpace(text[arrow+5:])
	if strings.HasPrefix(returns, "(") && strings.HasSuffix(returns, ")") {
		returns = returns[1 : len(returns)-1]
	}
	for _, part := range splitTop(returns) {
		p, err := parseParam(part)
		if err != nil {
			return nil, fmt.Errorf("parse schema %q: %w", text, err)
		}
		s.Returns = append(s.Returns, p)
	}
	return s, nil
}

// splitTop splits at the commas outside of brackets.
func splitTop(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(s[start:]); rest != "" {
		parts = append(parts, rest)
	}
	return parts
}

func parseParam(text string) (Param, error) {
	var p Param
	decl, def, hasDefault := strings.Cut(text, "=")
	if open := strings.IndexByte(decl, '('); open >= 0 {
		shut := strings.IndexByte(decl, ')')
		if shut < open {
			return p, fmt.Errorf("argument %q: bracket not closed", text)
		}
		alias := decl[open+1 : shut]
		p.Write = strings.Contains(alias, "!")
		p.Alias, _, _ = strings.Cut(strings.TrimSuffix(alias, "!"), " ")
		p.Alias = strings.TrimSuffix(p.Alias, "!")
		decl = decl[:open] + decl[shut+1:]
	}
	p.Type, p.Name, _ = strings.Cut(strings.TrimSpace(decl), " ")
	if open := strings.IndexByte(p.Type, '['); open >= 0 { // int[2] → int[]
		shut := strings.IndexByte(p.Type, ']')
		p.Type = p.Type[:open+1] + p.Type[shut:]
	}
	if hasDefault {
		p.HasDefault = true
		var err error
		if p.Default, err = parseDefault(p.Type, strings.TrimSpace(def)); err != nil {
			return p, fmt.Errorf("argument %q: %w", text, err)
		}
	}
	return p, nil
}

var namedDefaults = map[string]Arg{
	"None": {}, "True": {Kind: ArgBool, Int: 1}, "False": {Kind: ArgBool},
	"Mean": {Kind: ArgInt, Int: 1}, "contiguous_format": {Kind: ArgMemoryFormat},
	"strided": {Kind: ArgLayout}, "long": {Kind: ArgDType, Int: int64(tensor.Long)},
	"cpu": {Kind: ArgDevice, Str: "cpu"}, "inf": {Kind: ArgFloat, Float: math.Inf(1)},
}

func parseDefault(typ, text string) (Arg, error) {
	if a, ok := namedDefaults[text]; ok {
		return a, nil
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		list := Arg{Kind: ArgList, List: []Arg{}}
		for _, part := range splitTop(text[1 : len(text)-1]) {
			a, err := parseDefault(strings.TrimSuffix(typ, "[]"), part)
			if err != nil {
				return Arg{}, err
			}
			list.List = append(list.List, a)
		}
		return list, nil
	}
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') {
		return Arg{Kind: ArgString, Str: text[1 : len(text)-1]}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch {
		case strings.HasPrefix(typ, "float"):
			return Arg{Kind: ArgFloat, Float: float64(n)}, nil
		case strings.HasPrefix(typ, "ScalarType"):
			return Arg{Kind: ArgDType, Int: n}, nil
		case strings.HasPrefix(typ, "MemoryFormat"):
			return Arg{Kind: ArgMemoryFormat, Int: n}, nil
		case strings.HasSuffix(typ, "[]"): // int[2] x=1 stands for [1, 1]; its length follows from the operator
			return Arg{Kind: ArgList, List: []Arg{{Kind: ArgInt, Int: n}}}, nil
		}
		return Arg{Kind: ArgInt, Int: n}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Arg{}, fmt.Errorf("unknown default %q", text)
	}
	return Arg{Kind: ArgFloat, Float: f}, nil
}
