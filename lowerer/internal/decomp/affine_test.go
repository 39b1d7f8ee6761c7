package decomp

import (
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestAffine looks at what torchao's operators become: those of rows and channels where blocks, types and zero points are as these want
// them, and else arithmetic.
func TestAffine(t *testing.T) {
	const head = "method forward\n"
	for name, c := range map[string]struct{ text, want string }{
		"rows": {`input %x: f32[4, 16]
input %s: f32[4, 1]
input %z: i32[4, 1]
%q: i8[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, %z, torch.int8, -128, 127)
`, "quantize_per_token(%x, "},
		"rows without zero points": {`input %x: f32[4, 16]
input %s: f32[4]
%q: i8[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, None, torch.int8, -128, 127)
`, "quantize_per_token(%x, "},
		"rows of float16": {`input %x: f16[4, 16]
input %s: f32[4, 1]
%q: i8[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, None, torch.int8, -128, 127)
`, "aten::round("},
		"scales of float16": {`input %x: f32[4, 16]
input %s: f16[4, 1]
%q: i8[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, None, torch.int8, -128, 127)
`, "aten::round("},
		"zero points that are no integers": {`input %x: f32[4, 16]
input %s: f32[4, 1]
input %z: f32[4, 1]
%q: i8[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, %z, torch.int8, -128, 127)
`, "aten::round("},
		"int16": {`input %x: f32[4, 16]
input %s: f32[4, 1]
%q: i16[4, 16] = torchao::quantize_affine(%x, [1, 16], %s, None, torch.int16, -128, 127)
`, "aten::round("},
		"one scale for two rows": {`input %x: f32[4, 16]
input %s: f32[2, 1]
%q: i8[4, 16] = torchao::quantize_affine(%x, [2, 16], %s, None, torch.int8, -128, 127)
`, "aten::round("},
		"rows back": {`input %x: i8[2, 3, 16]
input %s: f32[2, 3, 1]
input %z: i8[2, 3, 1]
%q: f32[2, 3, 16] = torchao::dequantize_affine(%x, [1, 1, 16], %s, %z, torch.int8, -128, 127)
`, "dequantize_per_token(%x, "},
		"rows back to float16": {`input %x: i8[4, 16]
input %s: f32[4, 1]
%q: f16[4, 16] = torchao::dequantize_affine(%x, [1, 16], %s, None, torch.int8, -128, 127, output_dtype=torch.float16)
`, "aten::mul.Tensor("},
		"parts of rows": {`input %x: i8[4, 16]
input %s: f32[4, 2]
input %z: i8[4, 2]
%q: f32[4, 16] = torchao::dequantize_affine(%x, [1, 8], %s, %z, torch.int8, -8, 7)
`, "dequantize_per_channel("},
		"parts of rows with scales of bfloat16": {`input %x: i8[4, 16]
input %s: bf16[4, 2]
%q: f32[4, 16] = torchao::dequantize_affine(%x, [1, 8], %s, None, torch.int8, -8, 7)
`, "dequantize_per_channel("},
		"rows back with scales of float16": {`input %x: i8[4, 16]
input %s: f16[4, 1]
%q: f32[4, 16] = torchao::dequantize_affine(%x, [1, 16], %s, None, torch.int8, -128, 127)
`, "dequantize_per_token(%x, "},
		"parts of rows with scales of float64": {`input %x: i8[4, 16]
input %s: f64[4, 2]
%q: f32[4, 16] = torchao::dequantize_affine(%x, [1, 8], %s, None, torch.int8, -8, 7)
`, "aten::mul.Tensor("},
		"parts of rows of images": {`input %x: i8[4, 3, 16]
input %s: f32[4, 3, 2]
%q: f32[4, 3, 16] = torchao::dequantize_affine(%x, [1, 1, 8], %s, None, torch.int8, -8, 7)
`, "aten::mul.Tensor("},
		"a constant's rows": {`const @w: i8[4, 16] = weight(record="w", size=64, strides=[16, 1])
input %s: f32[4, 1]
parameter w %x: i8[4, 16] = @w
%q: f32[4, 16] = torchao::dequantize_affine(%x, [1, 16], %s, None, torch.int8, -8, 7)
`, "dequantize_per_channel("},
	} {
		table := symint.NewTable()
		m, err := exir.ParseMethod(head+c.text+"output %q\n", table)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}
		if err := Run(p, m, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := m.Text(table); !strings.Contains(text, c.want) || strings.HasPrefix(c.want, "aten") == strings.Contains(text, "quantized_decomposed") {
			t.Errorf("%s: want %q, got\n%s", name, c.want, text)
		}
	}
}
