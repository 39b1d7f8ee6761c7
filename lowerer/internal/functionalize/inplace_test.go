package functionalize

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// withoutForm are the in-place operators that no functional operator stands for: parts of TorchScript and of random
// number generators, which torch.export leaves in no graph.
var withoutForm = []string{
	"aten::_fill_mem_eff_dropout_mask_", "aten::_index_put_impl_.hacked_twin", "aten::_no_grad_fill_", "aten::_no_grad_normal_",
	"aten::_no_grad_uniform_", "aten::_no_grad_zero_", "aten::_sobol_engine_ff_", "aten::_sobol_engine_initialize_state_",
	"aten::_sobol_engine_scramble_", "aten::copy_.Tensor", "aten::copy_.float", "aten::copy_.int",
	"aten::set_.source_Tensor_storage_offset",
}

// TestInplaceForms checks, for every in-place operator of aten, that its functional form takes the same arguments.
func TestInplaceForms(t *testing.T) {
	var missing []string
	for _, name := range exir.SchemaNames() {
		op := exir.LookupSchema(name)
		if op.Kind != "inplace" || !strings.HasPrefix(name, "aten::") || handlers[name] != nil || views[name] != nil ||
			op.Args[0].Type != "Tensor" || !op.Args[0].Write {
			continue
		}
		n := &exir.Node{Op: op, Args: make([]exir.Arg, len(op.Args))}
		fn, _, err := functional(n)
		if err != nil {
			missing = append(missing, name)
			continue
		}
		for _, p := range fn.Args {
			if at := op.Arg(p.Name); at >= 0 && op.Args[at].Type != p.Type {
				t.Errorf("%s: argument %s of %s is %s, want %s", name, p.Name, fn.Name, p.Type, op.Args[at].Type)
			}
		}
	}
	slices.Sort(missing)
	if !slices.Equal(missing, withoutForm) {
		t.Errorf("got %q", missing)
	}
}
