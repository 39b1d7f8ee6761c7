package lowerer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	schema "github.com/rules-pte/rules_pte/cue"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// flip is a field of #Program with two values that must lead to two results.
type flip struct {
	// model of pt2's testdata; add.pt2 if empty.
	model string
	// from and to are fields of the program. From must lower.
	from, to string
	// refused is a part of the error of to, which is at its line unless it begins with the model's name; without it, to
	// lowers, too, and something comes out differently.
	refused string
}

// flips has one or more entries for each path of programFields.
var flips = map[string][]flip{
	"methods.*.model":                       {{from: `methods: forward: model: "add.pt2"`, to: `methods: forward: model: "cond.pt2"`}},
	"methods.*.dynamic_shapes.*.*.min":      {{model: "dynamic_two.pt2", from: shapes("min: 2"), to: shapes("min: 3")}},
	"methods.*.dynamic_shapes.*.*.max":      {{model: "dynamic_two.pt2", from: shapes("max: 16"), to: shapes("max: 15")}},
	"constant_methods.*":                    {{from: `constant_methods: n: 1`, to: `constant_methods: n: 2`}, {from: `constant_methods: n: [1, 2]`, to: `constant_methods: n: [1, 3]`}},
	"target.name":                           {{from: target(), to: target("name", `"other"`)}},
	"target.os":                             {{from: target(), to: target("os", `"linux"`)}},
	"target.arch":                           {{from: target(), to: target("arch", `"arm64"`)}},
	"target.cpu_features.*":                 {{from: target(), to: target("cpu_features", `["neon"]`)}},
	"target.dtypes.*":                       {{from: target(), to: target("dtypes", `["float16"]`), refused: "target small has no float32"}},
	"target.max_rank":                       {{from: target(), to: target("max_rank", "1"), refused: "target small allows 1 dimensions"}},
	"target.page_size":                      {{from: target() + `, segment_alignment: "page"`, to: target("page_size", "4096") + `, segment_alignment: "page"`}},
	"target.banks.*.memory_id":              {{from: target(), to: target("banks", "ram: memory_id: 3")}},
	"target.banks.*.size":                   {{from: target(), to: target("banks", "ram: {memory_id: 1, size: 16}"), refused: "bank ram: needs 96 bytes, has 16"}},
	"memory_planning.alloc_graph_input":     {{from: `memory_planning: alloc_graph_input: true`, to: `memory_planning: alloc_graph_input: false`}},
	"memory_planning.alloc_graph_output":    {{from: `memory_planning: alloc_graph_output: true`, to: `memory_planning: alloc_graph_output: false`}},
	"memory_planning.alloc_mutable_buffers": {{from: `memory_planning: alloc_mutable_buffers: true`, to: `memory_planning: alloc_mutable_buffers: false`, refused: "alloc_mutable_buffers: false is not supported"}},
	"memory_planning.alignment":             {{from: `memory_planning: alignment: 16`, to: `memory_planning: alignment: 64`}},
	"memory_planning.banks.*.size":          {{from: `memory_planning: banks: ram: size: 96`, to: `memory_planning: banks: ram: size: 95`, refused: "bank ram: needs 96 bytes, has 95"}},
	"passes.*":                              {{model: "lifted.pt2", from: `passes: "fold-constants": true`, to: `passes: "fold-constants": false`}},
	"operators":                             {{model: "unbounded.pt2", from: `operators: "all"`, to: `operators: "official"`, refused: "unbounded.pt2: forward: input x: dimension 0, s17, has no upper bound"}},
	"partition.*.id":                        {{model: "tied.pt2", from: partition(""), to: `partition: [{id: "Nobody"}]`, refused: `no backend "Nobody"`}},
	"partition.*.partitioner":               {{model: "tied.pt2", from: partition(""), to: partition(`, partitioner: ops: []`)}},
	"partition.*.compile_specs":             {{model: "tied.pt2", from: partition(`, compile_specs: level: 1`), to: partition(`, compile_specs: level: 2`)}},
	"delegate_alignment":                    {{model: "tied.pt2", from: partition("") + `, delegate_alignment: 16`, to: partition("") + `, delegate_alignment: 1024`}},
	"segment_alignment":                     {{model: "lifted.pt2", from: `segment_alignment: 128`, to: `segment_alignment: 64`}},
	"constant_tensor_alignment":             {{model: "lifted.pt2", from: `constant_tensor_alignment: 16`, to: `constant_tensor_alignment: 64`}},
	"external_constants.*.file":             {{model: "tied.pt2", from: `external_constants: [{file: "a"}]`, to: `external_constants: [{file: "b"}]`}},
	"external_constants.*.name":             {{model: "tied.pt2", from: `external_constants: [{file: "a"}]`, to: `external_constants: [{file: "a", name: "none.*"}]`, refused: `no weight is left for "none.*"`}},
	"emit_stacktrace":                       {{from: `emit_stacktrace: false`, to: `emit_stacktrace: true`}},
	"expect":                                {{from: `expect: arena_bytes: 96`, to: `expect: arena_bytes: 95`, refused: "expect.arena_bytes: got 96, want 95"}},
}

func init() {
	for name, value := range embedding {
		for _, list := range []bool{false, true} {
			nodes, path := fmt.Sprintf("{%s: %q}", name, value), "."+name
			if list {
				nodes, path = "["+nodes+"]", ".*."+name
			}
			flips["partition.*.skip"+path] = []flip{{model: "tied.pt2", from: partition(""), to: partition(", skip: " + nodes)}}
			// Without the pin, Other takes the node.
			other := `{id: "Other", partitioner: ops: ["aten::embedding"]}, `
			flips["partition.*.pin"+path] = []flip{{model: "tied.pt2", from: partition("", other), to: partition(", pin: "+nodes, other)}}
		}
	}
}

// embedding selects the node of aten.embedding in tied.pt2, by each field of #Nodes.
var embedding = map[string]string{"name": "embed*", "module": "embed", "op": "aten.embedding.default", "line": "features.py:281"}

// partition has an entry that takes aten.embedding, with more fields, after others.
func partition(fields string, others ...string) string {
	return `partition: [` + strings.Join(others, "") + `{id: "Fake"` + fields + `}]`
}

func shapes(r string) string { return `methods: forward: dynamic_shapes: args_0: "0": ` + r }

// target is a small machine; fields are names and values that replace its own.
func target(fields ...string) string {
	all := map[string]string{"name": `"small"`, "os": `"any"`, "arch": `"any"`, "cpu_features": "[]", "dtypes": `["float32"]`,
		"max_rank": "4", "page_size": "1024", "banks": "ram: memory_id: 1"}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	var text []string
	for name, value := range all {
		if name == "banks" {
			value = "{" + value + "}"
		}
		text = append(text, name+": "+value)
	}
	sort.Strings(text)
	return "target: {" + strings.Join(text, ", ") + "}"
}

// TestFlips flips every field of #Program and wants another output, report, dump or verdict. The fields are those of the
// schema, so a new one fails here until it has a flip, and a flip that makes no difference fails, too.
func TestFlips(t *testing.T) {
	fields := programFields(t)
	for _, path := range fields {
		if flips[path] == nil {
			t.Errorf("%s: no flip", path)
		}
		for _, f := range flips[path] {
			t.Run(path, func(t *testing.T) { f.check(t) })
		}
	}
	for path := range flips {
		if at := sort.SearchStrings(fields, path); at == len(fields) || fields[at] != path {
			t.Errorf("%s: a flip, but no such field", path)
		}
	}
}

// outcomes are those of what flips begin with, which many share, by model and fields.
var outcomes = map[string]string{}

func (f *flip) check(t *testing.T) {
	key := f.model + " " + f.from
	before, known := outcomes[key]
	if !known {
		var err error
		if before, err = f.outcome(t, f.from); err != nil {
			t.Fatalf("%s: %v", f.from, err)
		}
		outcomes[key] = before
	}
	after, err := f.outcome(t, f.to)
	switch {
	case f.refused != "":
		if err == nil || !strings.Contains(err.Error(), f.refused) ||
			!strings.Contains(err.Error(), "spec.cue:5:") && !strings.HasPrefix(f.refused, f.model+":") {
			t.Errorf("%s: got %v, want %q at line 5", f.to, err, f.refused)
		}
	case err != nil:
		t.Errorf("%s: %v", f.to, err)
	case before == after:
		t.Errorf("%s makes no difference to %s", f.to, f.from)
	}
}

// outcome is everything that a lowering with these fields gives: the program, the report and the dump.
func (f *flip) outcome(t *testing.T, fields string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	model := f.model
	if model == "" {
		model = "add.pt2"
	}
	text := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program & {\n\n" + fields + "\n}\n"
	if !strings.Contains(fields, "model:") {
		text += "p: methods: forward: model: \"" + model + "\"\n"
	}
	file := filepath.Join(dir, "spec.cue")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := config.Load(file, config.Options{Backends: []backend.Backend{fake{id: "Fake"}, fake{id: "Other"}}})
	if err != nil {
		return "", err
	}
	models := map[string]string{}
	for _, key := range spec.Models() {
		models[key] = filepath.Join("internal", "pt2", "testdata", key)
	}
	var program, report bytes.Buffer
	dump := filepath.Join(dir, "dump")
	data := func(name string, write func(io.Writer) error) error {
		program.WriteString(name)
		return write(&program)
	}
	rep, err := LowerFile(context.Background(), spec, models, &program, Options{Dump: dump, Data: data})
	if err != nil {
		return "", err
	}
	if err := rep.Write(&report); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n%s\n%s", digest(program.Bytes()), &report, digestDir(t, dump)), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func digestDir(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %s\n", d.Name(), digest(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// programFields are the paths of all fields of #Program that have a value, sorted; "*" stands for what users name or number.
func programFields(t *testing.T) []string {
	t.Helper()
	root := filepath.Join(string(filepath.Separator), "schema")
	overlay := map[string]load.Source{
		filepath.Join(root, "cue.mod", "module.cue"): load.FromString("module: \"" + schema.Module + "@v0\"\nlanguage: version: \"v0.17.0\"\n"),
	}
	err := fs.WalkDir(schema.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".cue") {
			data, readErr := schema.Files.ReadFile(path)
			overlay[filepath.Join(root, "cue", filepath.FromSlash(path))], err = load.FromBytes(data), readErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	insts := load.Instances([]string{"./cue/lower"}, &load.Config{Dir: root, Overlay: overlay})
	program := cuecontext.New().BuildInstance(insts[0]).LookupPath(cue.ParsePath("#Program"))
	if err := program.Err(); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	walkFields(program, "", found)
	var paths []string
	for path := range found {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths
}

// walkFields notes the leaves below v. A struct that is open to anything is one.
func walkFields(v cue.Value, path string, found map[string]bool) {
	v = cue.Dereference(v)
	if op, args := v.Expr(); op == cue.OrOp {
		for _, a := range args {
			walkFields(a, path, found)
		}
		return
	}
	inner := false
	below := func(v cue.Value, name string) {
		inner = true
		walkFields(v, strings.TrimPrefix(path+"."+name, "."), found)
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		iter, err := v.Fields(cue.Optional(true))
		for err == nil && iter.Next() {
			below(iter.Value(), iter.Selector().Unquoted())
		}
		name := cue.MakePath(cue.Str("0"))
		named := v.FillPath(name, cuecontext.New().CompileString("_")).LookupPath(name)
		if !inner && named.Err() == nil && named.IncompleteKind() != cue.TopKind {
			below(named, "*")
		}
	case cue.ListKind:
		if item := v.LookupPath(cue.MakePath(cue.AnyIndex)); item.Exists() {
			below(item, "*")
		}
	}
	if !inner {
		found[path] = true
	}
}
