package op

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// halfOf is x in type t, nil of nil.
func halfOf(x *tensor.Tensor, t tensor.ScalarType) *tensor.Tensor {
	if x == nil {
		return nil
	}
	o := &tensor.Tensor{Meta: x.Meta.Clone()}
	o.DType = t
	o.Data = make([]byte, o.Nbytes())
	CastBytes(o.Data, t, x.Data, x.DType, x.Numel())
	return o
}

// planned is what a plan of k gives for args; only a constant has data while it is prepared.
func planned(t *testing.T, k *Kernel, tier kernel.Tier, constant bool, args ...any) *tensor.Tensor {
	t.Helper()
	return plannedIn(t, &Env{}, k, tier, constant, args...)
}

// plannedIn is planned with an environment but for temporaries.
func plannedIn(t *testing.T, env *Env, k *Kernel, tier kernel.Tier, constant bool, args ...any) *tensor.Tensor {
	t.Helper()
	env.Temp = &Temp{}
	sig := ParseSignature(k.Def.Schema)
	infer := Infer{Args: vals(args...), Out: make([]tensor.Meta, 1)}
	if err := k.Def.Infer(&infer); err != nil {
		t.Fatal(err)
	}
	known := vals(args...)
	for i := range known {
		if x := known[i].Tensor; x != nil && !constant {
			known[i].Tensor = &tensor.Tensor{Meta: x.Meta}
		}
	}
	plan, err := Prepare(k, &sig, known, infer.Out, Options{Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: make([]byte, infer.Out[0].Nbytes())}
	if err := plan.Bind(infer.Args, []*tensor.Tensor{out}, env).Call(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestProductsOfHalves holds products of half types against the same products in float32, rounded, to the bit.
func TestProductsOfHalves(t *testing.T) {
	for _, tt := range []struct {
		name             string
		float, f16, bf16 *Kernel
		args             func(m, k, n tensor.Dim) []any
	}{
		{"mm", &MmF32, &MmF16, &MmBF16, func(m, k, n tensor.Dim) []any { return []any{wave(m, k), wave(k, n)} }},
		{"mm of columns", &MmF32, &MmF16, &MmBF16, func(m, k, n tensor.Dim) []any { return []any{ordered(wave(m, k), 1, 0), ordered(wave(k, n), 1, 0)} }},
		{"linear", &LinearF32, &LinearF16, &LinearBF16, func(m, k, n tensor.Dim) []any { return []any{wave(m, k), wave(n, k), nil} }},
		{"linear with bias", &LinearF32, &LinearF16, &LinearBF16, func(m, k, n tensor.Dim) []any { return []any{wave(m, k), wave(n, k), wave(n)} }},
		{"addmm", &AddmmF32, &AddmmF16, &AddmmBF16, func(m, k, n tensor.Dim) []any { return []any{wave(n), wave(m, k), wave(k, n), 1, 1} }},
		{"addmm, scaled", &AddmmF32, &AddmmF16, &AddmmBF16, func(m, k, n tensor.Dim) []any { return []any{wave(m, 1), wave(m, k), wave(k, n), 2, 3} }},
	} {
		for _, s := range [][3]tensor.Dim{{1, 1, 1}, {1, 40, 33}, {3, 7, 5}, {13, 64, 96}, {25, 30, 17}, {2, 0, 3}, {0, 3, 4}, {70, 2000, 20}, {33, 9, 101}, {4*rowBlock + 31, 2000, 64}, {7, 33, 40}} {
			args := tt.args(s[0], s[1], s[2])
			for dt, k := range map[tensor.ScalarType]*Kernel{tensor.Half: tt.f16, tensor.BFloat16: tt.bf16} {
				t.Run(fmt.Sprintf("%s/%v/%v", tt.name, s, dt), func(t *testing.T) { checkHalves(t, tt.float, k, args) })
			}
		}
	}
}

func checkHalves(t *testing.T, float, k *Kernel, args []any) {
	halves, wide := append([]any(nil), args...), append([]any(nil), args...)
	for i, a := range args {
		if x, ok := a.(*tensor.Tensor); ok {
			h := halfOf(x, k.DType)
			halves[i], wide[i] = h, halfOf(h, tensor.Float)
		}
	}
	for _, tier := range kernel.Tiers() {
		want := halfOf(planned(t, float, tier, true, wide...), k.DType)
		for _, constant := range []bool{false, true} {
			if got := planned(t, k, tier, constant, halves...); !bytes.Equal(got.Data, want.Data) {
				t.Errorf("%v, constant %v: got %v, want %v", tier, constant, elems[uint16](got), elems[uint16](want))
			}
		}
	}
}
