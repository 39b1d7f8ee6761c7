package demo_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/demo/aot"
	"github.com/rules-pte/rules_pte/backends/demo/rt"
	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

//bazel:data //backends/backendtest:testdata

const testdata = "../backendtest/testdata/"

// lower lowers models, by method, with a partition entry, and gives the file and the backend's modules.
func lower(t *testing.T, entry string, models map[string]string) ([]byte, []*exir.LoweredModule) {
	t.Helper()
	text := "package p\nimport (\n\"github.com/rules-pte/rules_pte/cue/lower\"\n\"github.com/rules-pte/rules_pte/backends/demo\"\n)\nlower.#Program & {\n"
	for method, model := range models {
		abs, err := filepath.Abs(model)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("methods: %s: model: %q\n", method, abs)
	}
	path := filepath.Join(t.TempDir(), "spec.cue")
	if err := os.WriteFile(path, []byte(text+"partition: ["+entry+"]\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := lowerer.ReadSpec(path, []backend.Backend{aot.Backend{}, aot.All{}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := lowerer.LowerFile(context.Background(), spec, nil, &out, lowerer.Options{}); err != nil {
		t.Fatal(err)
	}
	l, err := lowerer.Load(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	edge, err := l.ToEdge(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.ToBackend(spec, edge, nil, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), l.Modules()
}

const fused = "5#conv_relu_op,0,conv_relu_op,1,sin_decomp_from_tan,2,cos_decomp_from_tan,3,div_decomp_from_tan,4"

// TestMapping checks the instructions of two convolutions with relu and a tan, and which nodes each came from.
func TestMapping(t *testing.T) {
	for _, c := range []struct{ entry, list, handles string }{
		{"demo.#Backend", fused, "0:conv1+relu 1:conv2+relu 2:tan 3:tan 4:tan"},
		{"demo.#Backend & {compile_specs: fuse: true}", fused, "0:conv1+relu 1:conv2+relu 2:tan 3:tan 4:tan"},
		{"demo.#Backend & {compile_specs: fuse: false}",
			"7#conv_op,0,relu_op,1,conv_op,2,relu_op,3,sin_decomp_from_tan,4,cos_decomp_from_tan,5,div_decomp_from_tan,6",
			"0:conv1 1:relu 2:conv2 3:relu 4:tan 5:tan 6:tan"},
		{`demo.#Backend & {partitioner: take: ["convolution", "relu"]}`, "2#conv_relu_op,0,conv_relu_op,1", "0:conv1+relu 1:conv2+relu"},
	} {
		_, modules := lower(t, c.entry, map[string]string{"forward": testdata + "chain.pt2"})
		if len(modules) != 1 {
			t.Fatalf("%s: %d modules", c.entry, len(modules))
		}
		list, _, _ := strings.Cut(string(modules[0].Processed.Bytes), "\n")
		if list != c.list {
			t.Errorf("%s: got %s, want %s", c.entry, list, c.list)
		}
		if got := handles(modules[0]); got != c.handles {
			t.Errorf("%s: got %s, want %s", c.entry, got, c.handles)
		}
	}
}

// handles writes the debug handle map with what the handles stand for.
func handles(m *exir.LoweredModule) string {
	names := map[int]string{}
	for _, n := range m.Program.Methods[0].Graph.Nodes {
		names[n.DebugHandle] = n.Op.Base()
		if n.Op.Base() == "convolution" {
			names[n.DebugHandle] = n.Module
		}
	}
	var parts []string
	for id := range len(m.DebugHandles) {
		var of []string
		for _, h := range m.DebugHandles[fmt.Sprint(id)] {
			of = append(of, names[h])
		}
		parts = append(parts, fmt.Sprintf("%d:%s", id, strings.Join(of, "+")))
	}
	return strings.Join(parts, " ")
}

// TestPyTorch holds the delegated program's result against PyTorch's.
func TestPyTorch(t *testing.T) {
	file, _ := lower(t, "demo.#Backend", map[string]string{"forward": testdata + "chain.pt2"})
	p, err := executor.Load(file, executor.LoadOptions{Kernels: op.Kernels, Backends: []rtbackend.Backend{rt.Backend{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	out, err := inst.Method("forward").Run(context.Background(), []executor.Value{executor.TensorOf(read(t, "chain_in.npy"))})
	if err != nil {
		t.Fatal(err)
	}
	got, want := floats(out[0].Tensor), floats(read(t, "chain_out.npy"))
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-5*max(1, math.Abs(want[i])) {
			t.Fatalf("element %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func read(t *testing.T, name string) *tensor.Tensor {
	t.Helper()
	data, err := os.ReadFile(testdata + name)
	if err != nil {
		t.Fatal(err)
	}
	x, err := npy.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func floats(x *tensor.Tensor) []float64 {
	var out []float64
	for i := 0; i+4 <= x.Nbytes(); i += 4 {
		bits := uint32(x.Data[i]) | uint32(x.Data[i+1])<<8 | uint32(x.Data[i+2])<<16 | uint32(x.Data[i+3])<<24
		out = append(out, float64(math.Float32frombits(bits)))
	}
	return out
}

// TestSharedWeights checks that two methods with the same weights have them once, in either mode, under the same keys.
func TestSharedWeights(t *testing.T) {
	models := map[string]string{"large": testdata + "chain.pt2", "small": testdata + "chain_small.pt2"}
	var keys [][]string
	for _, entry := range []string{"demo.#Backend", `demo.#Backend & {id: "BackendWithPreprocessAllDemo"}`} {
		file, modules := lower(t, entry, models)
		if len(modules) != 2 {
			t.Fatalf("%s: %d modules, want one a method", entry, len(modules))
		}
		p, err := pte.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range p.NamedData {
			got = append(got, d.Key)
			if d.Key != exir.ContentKey(d.Data) {
				t.Errorf("%s: key %s is not the SHA-256 of its data", entry, d.Key)
			}
		}
		if len(got) != 4 || len(p.DelegateData) != 1 {
			t.Errorf("%s: %d named data and %d payloads, want 4 weights and 1 payload", entry, len(got), len(p.DelegateData))
		}
		keys = append(keys, got)
	}
	if !reflect.DeepEqual(keys[0], keys[1]) {
		t.Errorf("keys differ: %q", keys)
	}
}

// TestUnknownOperator checks that the error for a node without an instruction names the node.
func TestUnknownOperator(t *testing.T) {
	x := &exir.Value{Name: "x", Spec: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{2}}}
	n := &exir.Node{Name: "neg_1", Op: exir.MustSchema("aten::neg"), Args: []exir.Arg{exir.ToArg(x)}, Origin: exir.Origin{DebugHandle: 1}}
	n.Outs = []*exir.Value{{Name: "neg_1", Spec: x.Spec, Node: n}}
	g := &exir.Graph{Inputs: []*exir.Value{x}, Nodes: []*exir.Node{n}, Outputs: []exir.Arg{exir.ToArg(n.Outs[0])}}
	p := &exir.EdgeProgram{Program: exir.Program{Methods: []*exir.Method{{Name: "forward", Graph: g, Inputs: []exir.InputSpec{{}}, Outputs: []exir.OutputSpec{{}}}}}}
	_, err := aot.Backend{}.Preprocess(&backend.Context{}, p, nil)
	if err == nil || !strings.Contains(err.Error(), "node neg_1 (aten.neg.default)") {
		t.Errorf("got %v", err)
	}
}

// TestZoo checks the issue's own model, where PTE_ZOO has it.
func TestZoo(t *testing.T) {
	zoo := os.Getenv("PTE_ZOO")
	if zoo == "" {
		t.Skip("PTE_ZOO is not set")
	}
	_, modules := lower(t, "demo.#Backend", map[string]string{"forward": filepath.Join(zoo, "mapping_demo", "model.pt2")})
	list, _, _ := strings.Cut(string(modules[0].Processed.Bytes), "\n")
	if list != fused || len(modules) != 1 {
		t.Errorf("%d modules, the first is %s", len(modules), list)
	}
	if got, want := handles(modules[0]), "0:conv1+relu 1:conv2+relu 2:tan 3:tan 4:tan"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
