package pte

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/decomp"
	"github.com/rules-pte/rules_pte/lowerer/internal/functionalize"
	"github.com/rules-pte/rules_pte/runtime/op"
)

const opsPage = `# Operators

Made by ` + "`pte ops --markdown`" + `: every overload of ATen that torch.export can put into a program, and what becomes of it; operators of other namespaces follow.

- **kernel**: our runtime and the official one have a kernel.
- **extension**: only our runtime has one; the operator is refused where a spec wants ` + "`operators: \"official\"`" + `.
- **rule**: it lowers to other operators of this list.
- **view**: it becomes a copy, or another name of the same memory.

`

// writeOps writes docs/ops.md.
func writeOps(w io.Writer) error {
	var b strings.Builder
	const head = "| operator | becomes | element types |\n|---|---|---|\n"
	b.WriteString(opsPage + head)
	refused := map[string][]string{}
	types := map[string]string{}
	for _, r := range opRows("") {
		types[r.Name] = strings.Join(r.DTypes, " ")
	}
	states := opStates()
	row := func(name string) {
		full := strings.ReplaceAll(name, "::", ".")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", full, states[name], types[full])
	}
	names := exir.SchemaNames()
	slices.Sort(names)
	for _, name := range names {
		s := exir.LookupSchema(name)
		if !strings.HasPrefix(name, "aten::") || s.Kind == "out" || s.Kind == "inplace" {
			continue
		}
		if states[name] != "" {
			row(name)
		} else if base := s.Base(); strings.ToLower(base) == base {
			why := refusal(base)
			refused[why] = append(refused[why], strings.ReplaceAll(name, "::", "."))
		}
	}
	b.WriteString("\nIn-place overloads become their functional form and a copy.\n\n## Of other namespaces\n\n" + head)
	for _, name := range names {
		if states[name] != "" && !strings.HasPrefix(name, "aten::") {
			row(name)
		}
	}
	b.WriteString("\n## Refused\n")
	for _, r := range refusals {
		fmt.Fprintf(&b, "\n%s:\n%s\n", r.why, strings.Join(refused[r.why], ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// opStates says of each operator that lowers, as "aten::add.Tensor", what becomes of it.
func opStates() map[string]string {
	states := map[string]string{}
	for _, name := range functionalize.Views() {
		states[name] = "view"
	}
	for _, name := range decomp.Known() {
		states[name] = "rule"
	}
	for _, d := range op.Rows {
		switch {
		case d.Functional == "":
		case d.Tags&op.Extension != 0:
			states[d.Functional] = "extension"
		default:
			states[d.Functional] = "kernel"
		}
	}
	return states
}

// refusals are why operators are refused: the first one of whose words one is in the operator's name.
var refusals = []struct {
	why   string
	words []string
}{
	{"Training: programs for inference have no gradients and no optimizer", []string{"backward", "_fused_adam", "_fused_sgd", "_fused_adagrad", "_amp_", "_foreach", "requires_grad", "retain_grad"}},
	{"Other devices and libraries", []string{"cudnn", "miopen", "mkldnn", "cuda", "mps_", "_mps", "metal", "vulkan", "xnnpack", "fbgemm", "_nnpack", "_cslt", "scaled_mm",
		"_flash_attention", "_efficient_attention", "_scaled_dot_product", "_triton", "pin_memory", "_pin"}},
	{"Other layouts: sparse, nested and quantized tensors", []string{"sparse", "csr", "csc", "bsr", "bsc", "coo", "coalesce", "nested", "jagged", "quantize", "q_", "qscheme", "int_repr",
		"crow_indices", "ccol_indices", "col_indices", "row_indices", "_nnz", "_indices", "_values", "fake_quant", "choose_qparams", "_weight_int", "_dyn_quant"}},
	{"Complex numbers", []string{"complex", "fft", "stft", "imag", "polar", "conj", "view_as_real", "_chalf"}},
	{"Linear algebra beyond products and norms", []string{"linalg", "cholesky", "lu_", "_lu", "qr", "svd", "eig", "lstsq", "det", "inverse", "matrix_exp", "matrix_power", "triangular_solve",
		"solve", "geqrf", "ormqr", "orgqr", "lobpcg", "pinverse", "householder"}},
	{"No kernel and no rule yet", []string{""}},
}

func refusal(base string) string {
	for _, r := range refusals {
		for _, w := range r.words {
			if strings.Contains(base, w) {
				return r.why
			}
		}
	}
	return ""
}
