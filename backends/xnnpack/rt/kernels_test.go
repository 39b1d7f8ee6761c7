package rt

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// TestKernels checks that no kernel which Kernels names can be left out, of Execute's graphs or of what Inline gives.
// That they are enough is what all tests show that call run.
func TestKernels(t *testing.T) {
	for i := range nodeCases {
		c := &nodeCases[i]
		for _, typ := range []blob.DataType{blob.FP32, blob.FP16, blob.BF16} {
			g, named := c.graphOf(typ, typ)
			file := programOf(t, g, named)
			needed := kernelsOf(t, file)
			for k := range needed {
				left := slices.Delete(slices.Clone(needed), k, k+1)
				err := loads(file, left)
				if err == nil && !inlinedWith(t, file, left) && inlinedWith(t, file, needed) {
					continue
				}
				if executor.CodeOf(err) != pte.NotImplemented || !strings.Contains(err.Error(), "no kernel aten::") {
					t.Errorf("%s in %v without %s in %v: %v", c.name, typ, needed[k].Def.Schema, needed[k].DType, err)
				}
			}
		}
	}
}

// inlinedWith reports whether a graph becomes calls of operators with these kernels.
func inlinedWith(t *testing.T, file []byte, kernels []*op.Kernel) bool {
	t.Helper()
	p, err := pte.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &compiler{ctx: &backend.InitContext{Kernels: op.TableOf(kernels), Share: func(_ string, f func() (any, error)) (any, error) { return f() },
		NamedData: func(string) []byte { return make([]byte, 1<<12) }}, inlined: newInliner()}
	return c.read(p.DelegateData[0]) == nil && !c.inlined.refused
}

// loads loads a program with these kernels.
func loads(file []byte, kernels []*op.Kernel) error {
	p, err := executor.Load(file, executor.LoadOptions{Kernels: kernels, Backends: []backend.Backend{New()}})
	if err != nil {
		return err
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err == nil {
		inst.Close()
	}
	return err
}
