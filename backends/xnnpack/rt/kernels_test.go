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

// TestKernels checks that no kernel which Kernels names can be left out. That they are enough is what all tests show that call
// run.
func TestKernels(t *testing.T) {
	for i := range nodeCases {
		c := &nodeCases[i]
		for _, typ := range []blob.DataType{blob.FP32, blob.FP16, blob.BF16} {
			g, named := c.graphOf(typ, typ)
			file := programOf(t, g, named)
			needed := kernelsOf(t, file)
			for k := range needed {
				err := loads(file, slices.Delete(slices.Clone(needed), k, k+1))
				if executor.CodeOf(err) != pte.NotImplemented || !strings.Contains(err.Error(), "no kernel aten::") {
					t.Errorf("%s in %v without %s in %v: %v", c.name, typ, needed[k].Def.Schema, needed[k].DType, err)
				}
			}
		}
	}
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
