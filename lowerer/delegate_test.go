package lowerer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

//bazel:data //backends/backendtest:testdata

// odd is a backend with one oddity.
type odd struct {
	fake
	keep   []string
	reads  bool
	tagged string
	seen   *int // bytes of constants that Preprocess read
}

func (o odd) ReadsWeights() bool { return o.reads }

func (o odd) Partitioner(opts backend.Options) (backend.Partitioner, error) {
	p, err := o.fake.Partitioner(opts)
	return oddPartitioner{p, o.keep}, err
}

func (o odd) Preprocess(c *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	r := &backend.PreprocessResult{NamedData: new(backend.NamedDataStore)}
	if o.tagged != "" {
		return r, r.NamedData.Add("data", []byte{1}, 0, o.tagged)
	}
	for _, v := range p.Methods[0].Graph.Inputs {
		if v.Const == nil {
			continue
		}
		if c.Constant == nil {
			return nil, fmt.Errorf("no way to read %s", v.Name)
		}
		data, err := c.Constant(v.Const)
		if err != nil {
			return nil, err
		}
		*o.seen += len(data)
	}
	return r, nil
}

type oddPartitioner struct {
	backend.Partitioner
	keep []string
}

func (p oddPartitioner) OpsToNotDecompose() ([]string, func(*exir.Node) bool) { return p.keep, nil }

// oddLower lowers chain.pt2, two convolutions with relu and a tan, with o taking ops.
func oddLower(t *testing.T, o odd, ops string) error {
	t.Helper()
	model, err := filepath.Abs("../backends/backendtest/testdata/chain.pt2")
	if err != nil {
		t.Fatal(err)
	}
	text := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\nlower.#Program & {\nmethods: forward: model: \"" + model +
		"\"\npartition: [{id: \"Fake\", partitioner: ops: " + ops + "}]\n}\n"
	file := filepath.Join(t.TempDir(), "spec.cue")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.fake = fake{id: "Fake"}
	spec, err := config.Load(file, config.Options{Backends: []backend.Backend{o}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = LowerFile(context.Background(), spec, nil, new(bytes.Buffer), Options{})
	return err
}

// TestOddBackends checks what a lowering says to a backend that wants operators kept, weights, or files of its own.
func TestOddBackends(t *testing.T) {
	seen := 0
	for _, c := range []struct {
		name string
		odd  odd
		ops  string
		want string
	}{
		{"kept and taken", odd{keep: []string{"aten::conv2d"}, reads: true, seen: &seen}, `["aten::conv2d"]`, ""},
		{"kept and left", odd{keep: []string{"aten::conv2d"}}, `[]`, "it was kept from decomposition, and no backend took it"},
		{"kept and skipped", odd{keep: []string{"aten::conv2d"}}, `[], skip: op: "aten.conv2d.default"`, ""},
		{"may not read", odd{seen: &seen}, `["aten::convolution"]`, "no way to read"},
		{"reads", odd{reads: true, seen: &seen}, `["aten::convolution"]`, ""},
		{"external", odd{tagged: "big"}, `["aten::convolution"]`, `in a data file "big"`},
	} {
		seen = 0
		err := oddLower(t, c.odd, c.ops)
		if got := fmt.Sprint(err); c.want != "" && !strings.Contains(got, c.want) || c.want == "" && err != nil {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if c.odd.reads && seen == 0 {
			t.Errorf("%s: no constant was read", c.name)
		}
	}
}
