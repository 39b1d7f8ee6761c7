package rt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// zooValue is an input or a golden output of a case.
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
}

type zooModel struct {
	Rtol  float64
	Cases []struct{ Calls []zooCall }
}

func (z *zooValue) load(t testing.TB, dir string) executor.Value {
	t.Helper()
	switch {
	case z.Int != nil:
		return executor.IntOf(*z.Int)
	case z.Float != nil:
		return executor.FloatOf(*z.Float)
	case z.Bool != nil:
		return executor.BoolOf(*z.Bool)
	case z.NPY == "":
		return executor.Value{}
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
		y := *x
		y.DimOrder, y.Data = z.DimOrder, make([]byte, len(x.Data))
		op.Reorder(&y, x)
		x = &y
	}
	return executor.TensorOf(x)
}

func loadModel(t testing.TB, program string) (*executor.Program, zooModel) {
	t.Helper()
	var m zooModel
	b, err := os.ReadFile(filepath.Join(filepath.Dir(program), "case.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := executor.LoadFile(program, executor.LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{New()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, m
}

// runCalls runs the calls of a case on one instance and gives the first difference from the goldens.
func runCalls(t testing.TB, p *executor.Program, dir string, rtol float64, calls []zooCall) error {
	t.Helper()
	inst, err := p.NewInstance()
	if err != nil {
		return err
	}
	defer inst.Close()
	for i, call := range calls {
		var ins []executor.Value
		for k := range call.Inputs {
			ins = append(ins, call.Inputs[k].load(t, dir))
		}
		outs, err := inst.Method(call.Method).Run(context.Background(), ins)
		if err != nil {
			return err
		}
		outs = outs[max(0, len(outs)-len(call.Outputs)):] // mutated inputs come first
		for k := range call.Outputs {
			want := call.Outputs[k].load(t, dir)
			if outs[k].Tensor == nil || want.Tensor == nil {
				continue
			}
			if err := golden.Same(outs[k].Tensor, want.Tensor, rtol, call.Outputs[k].Atol); err != nil {
				return errors.New("call " + strconv.Itoa(i) + " output " + strconv.Itoa(k) + ": " + err.Error())
			}
		}
	}
	return nil
}

// TestOfficialPrograms runs the committed programs of the official XNNPACK exporter, and those under PTE_ZOO if it is set.
func TestOfficialPrograms(t *testing.T) {
	programs, _ := filepath.Glob("testdata/*/xnnpack.pte")
	if zoo := os.Getenv("PTE_ZOO"); zoo != "" {
		more, _ := filepath.Glob(filepath.Join(zoo, "*", "xnnpack*.pte"))
		programs = append(programs, more...)
	}
	for _, name := range programs {
		dir := filepath.Dir(name)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p, m := loadModel(t, name)
			for i := range m.Cases {
				if err := runCalls(t, p, dir, m.Rtol, m.Cases[i].Calls); err != nil {
					t.Errorf("case %d: %v", i, err)
				}
			}
		})
	}
}
