package executor

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

type zooValue struct {
	NPY      string   `json:"npy"`
	Int      *int64   `json:"int"`
	Float    *float64 `json:"float"`
	Bool     *bool    `json:"bool"`
	DimOrder []uint8  `json:"dim_order"`
	Atol     float64  `json:"atol"`
}

type zooCall struct {
	Method          string
	Inputs, Outputs []zooValue
	Mutated         map[string]zooValue
}

type zooModel struct {
	Rtol  float64
	Cases []struct{ Calls []zooCall }
}

func readModel(t testing.TB, dir string) zooModel {
	t.Helper()
	var z zooModel
	b, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err == nil {
		err = json.Unmarshal(b, &z)
	}
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func (z *zooValue) load(t testing.TB, dir string) Value {
	t.Helper()
	switch {
	case z.Int != nil:
		return IntOf(*z.Int)
	case z.Float != nil:
		return FloatOf(*z.Float)
	case z.Bool != nil:
		return BoolOf(*z.Bool)
	case z.NPY == "":
		return Value{}
	}
	b, err := os.ReadFile(filepath.Join(dir, z.NPY))
	if err != nil {
		t.Fatal(err)
	}
	x, err := npy.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if z.DimOrder != nil {
		x = npy.Ordered(x, z.DimOrder)
	}
	return TensorOf(x)
}

func doubles(x *tensor.Tensor) []float64 {
	x = npy.Ordered(x, nil)
	b := make([]byte, 8*x.Numel())
	op.CastBytes(b, tensor.Double, x.Data, x.DType, x.Numel())
	f := make([]float64, x.Numel())
	for i := range f {
		f[i] = math.Float64frombits(uint64At(b[8*i:]))
	}
	return f
}

func compareValue(t testing.TB, what string, got, want Value, rtol, atol float64) {
	t.Helper()
	if want.Kind != Tensor {
		if got.Kind != want.Kind || got.Int != want.Int || got.Float != want.Float {
			t.Errorf("%s = %+v, want %+v", what, got, want)
		}
		return
	}
	if got.Kind != Tensor || got.Tensor.DType != want.Tensor.DType || op.SizesText(got.Tensor.Sizes) != op.SizesText(want.Tensor.Sizes) {
		t.Errorf("%s = %+v, want %v %v", what, got.Tensor, want.Tensor.DType, want.Tensor.Sizes)
		return
	}
	g, w := doubles(got.Tensor), doubles(want.Tensor)
	if !want.Tensor.DType.IsFloat() {
		rtol, atol = 0, 0
	}
	for i := range g {
		if !(math.Abs(g[i]-w[i]) <= atol+rtol*math.Abs(w[i])) && g[i] != w[i] && !(g[i] != g[i] && w[i] != w[i]) {
			t.Errorf("%s[%d] = %v, want %v", what, i, g[i], w[i])
			return
		}
	}
}

func runCalls(t testing.TB, p *Program, dir string, rtol float64, calls []zooCall) {
	t.Helper()
	inst := instanceOf(t, p)
	defer inst.Close()
	for c, call := range calls {
		var ins []Value
		for i := range call.Inputs {
			ins = append(ins, call.Inputs[i].load(t, dir))
		}
		outs, err := inst.Method(call.Method).Run(context.Background(), ins)
		if err != nil {
			t.Errorf("call %d: %v", c, err)
			return
		}
		// The official lowering gives mutated inputs back as extra first outputs.
		outs = outs[max(0, len(outs)-len(call.Outputs)):]
		for i := range call.Outputs {
			z := &call.Outputs[i]
			compareValue(t, "call "+itoa(c)+" output "+itoa(i), outs[i], z.load(t, dir), rtol, z.Atol)
		}
		for i := range ins {
			if z, ok := call.Mutated[itoa(i)]; ok {
				compareValue(t, "call "+itoa(c)+" mutated "+itoa(i), ins[i], z.load(t, dir), rtol, z.Atol)
			}
		}
	}
}

// TestPrograms runs the committed programs, and those under PTE_ZOO if it is set.
func TestPrograms(t *testing.T) {
	dirs, _ := filepath.Glob("testdata/*/case.json")
	if zoo := os.Getenv("PTE_ZOO"); zoo != "" {
		more, _ := filepath.Glob(filepath.Join(zoo, "*", "case.json"))
		dirs = append(dirs, more...)
	}
	for _, c := range dirs {
		dir := filepath.Dir(c)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			path := filepath.Join(dir, "portable.pte")
			if _, err := os.Stat(path); err != nil {
				t.Skip("the official lowering has no program")
			}
			p, err := LoadFile(path, LoadOptions{Kernels: op.Kernels, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			z := readModel(t, dir)
			for i := range z.Cases {
				runCalls(t, p, dir, z.Rtol, z.Cases[i].Calls)
			}
		})
	}
}
