package lowerer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// specWith is a spec of one method from a model of testdata, with more fields of the method in line 5.
func specWith(t *testing.T, model, fields string) *config.Spec {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("internal", "pt2", "testdata", model))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spec.cue")
	text := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program & {methods: forward: {model: \"" +
		path + "\"\n\n" + fields + "\n}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := config.Load(file, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestInputs checks what is said about open dimensions, before and after the spec bounds them.
func TestInputs(t *testing.T) {
	for _, c := range []struct{ fields, want string }{
		{"", `{"dim":0,"size":"s17","min":0,"max":null,"exported":6}`},
		{`dynamic_shapes: x: "0": max: 64`, `{"dim":0,"size":"s17","min":0,"max":64,"exported":6}`},
		{`dynamic_shapes: {x: "0": {min: 2, max: 64}, y: "0": max: 16}`, `{"dim":0,"size":"s17","min":2,"max":16,"exported":6}`},
	} {
		l, err := Load(specWith(t, "unbounded.pt2", c.fields), nil)
		if err != nil {
			t.Errorf("%s: %v", c.fields, err)
			continue
		}
		inputs := l.Inputs()[0].Inputs
		if len(inputs) != 3 || inputs[2].Kind != "constant" {
			t.Fatalf("%s: inputs %+v", c.fields, inputs)
		}
		for _, in := range inputs[:2] {
			if got, err := json.Marshal(in.Dynamic[0]); err != nil || string(got) != c.want {
				t.Errorf("%s: %s: got %s, %v, want %s", c.fields, in.Name, got, err, c.want)
			}
		}
	}
}

// TestDynamicShapesErrors checks the text and the line of each mistake.
func TestDynamicShapesErrors(t *testing.T) {
	for _, c := range []struct{ model, fields, want string }{
		{"unbounded.pt2", `dynamic_shapes: z: "0": max: 3`, `:5:17: method "forward" has no tensor input "z"`},
		{"unbounded.pt2", `dynamic_shapes: x: "1": max: 3`, `:5:20: dimension 1 of input "x" is not dynamic`},
		{"unbounded.pt2", `dynamic_shapes: {x: "0": max: 3, y: "0": min: 4}`,
			`:5:37: bound dimension 0 of input "y": set range of "s17": [0, 3] and [4, open] have no value in common`},
		{"dynamic_two.pt2", `dynamic_shapes: args_0: "0": max: 17`, `:5:35: max 17 of dimension 0 of input "args_0" is outside of the exported range, 2 to 16`},
		{"dynamic_two.pt2", `dynamic_shapes: args_0: "0": max: 1`, `:5:35: max 1 of dimension 0 of input "args_0" is outside of the exported range, 2 to 16`},
		{"dynamic_two.pt2", `dynamic_shapes: args_0: "0": min: 1`, `:5:35: min 1 of dimension 0 of input "args_0" is outside of the exported range, 2 to 16`},
		{"dynamic_two.pt2", `dynamic_shapes: args_0: "0": min: 17`, `:5:35: min 17 of dimension 0 of input "args_0" is outside of the exported range, 2 to 16`},
		{"dynamic_two.pt2", `dynamic_shapes: args_1: "0": max: 9`, `:5:25: dimension 0 of input "args_1" is an expression, 2*s33 + 1`},
	} {
		_, err := Load(specWith(t, c.model, c.fields), nil)
		if err == nil || !strings.HasSuffix(err.Error(), "spec.cue"+c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.fields, err, c.want)
		}
	}
}
