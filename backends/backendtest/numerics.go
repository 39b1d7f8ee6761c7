package backendtest

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// calls is how often an instance is run, with other inputs each time.
const calls = 3

// numerics: over several calls of one instance, the results and the state are those of the program without the backend.
func numerics(t *testing.T, s *Suite) {
	s.each(t, func(t *testing.T, m map[string]string) { s.compare(t, m) })
}

// methods: the same for two methods of one program.
func methods(t *testing.T, s *Suite) {
	s.compare(t, map[string]string{"large": model(t, "chain"), "small": model(t, "chain_small")})
}

func (s *Suite) compare(t *testing.T, m map[string]string) {
	t.Helper()
	file := s.lower(t, m, true).file
	without := s.lower(t, m, false).file
	p := s.load(t, file, executor.LoadOptions{})
	for _, b := range []rtbackend.Backend{s.Runtime, &watcher{Backend: s.Runtime}} { // the second one is no Inliner
		delegated := s.instance(t, file, executor.LoadOptions{Backends: []rtbackend.Backend{b}})
		defer delegated.Close()
		plain := s.instance(t, without, executor.LoadOptions{})
		defer plain.Close()
		for call := range calls {
			for name := range m {
				got := run(t, delegated, name, inputsOf(t, p, name, uint64(call)))
				want := run(t, plain, name, inputsOf(t, p, name, uint64(call)))
				for i := range want {
					s.equal(t, call, i, &got[i], &want[i])
				}
			}
		}
	}
}

func (s *Suite) instance(t *testing.T, file []byte, opts executor.LoadOptions) *executor.Instance {
	t.Helper()
	inst, err := s.load(t, file, opts).NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func run(t *testing.T, inst *executor.Instance, method string, inputs []executor.Value) []executor.Value {
	t.Helper()
	out, err := inst.Method(method).Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// inputsOf makes inputs of the largest sizes: floats within -2 and 2, ones of other types.
func inputsOf(t *testing.T, p *executor.Program, method string, seed uint64) []executor.Value {
	t.Helper()
	info, ok := p.Method(method)
	if !ok {
		t.Fatalf("no method %s", method)
	}
	r := rand.New(rand.NewPCG(seed, 7))
	var inputs []executor.Value
	for _, in := range info.Inputs {
		if in.Kind != executor.Tensor {
			inputs = append(inputs, executor.Value{Kind: in.Kind, Int: 1, Float: 1})
			continue
		}
		x := &tensor.Tensor{Meta: in.Meta, Data: make([]byte, in.Meta.Nbytes())}
		for i := 0; i < len(x.Data); i += x.DType.Size() {
			if x.DType == tensor.Float {
				binary.LittleEndian.PutUint32(x.Data[i:], math.Float32bits(float32(4*r.Float64()-2)))
			} else {
				x.Data[i] = 1
			}
		}
		inputs = append(inputs, executor.TensorOf(x))
	}
	return inputs
}

// equal compares result i of a call.
func (s *Suite) equal(t *testing.T, call, i int, got, want *executor.Value) {
	t.Helper()
	if want.Kind != executor.Tensor {
		if got.Kind != want.Kind || got.Int != want.Int || got.Float != want.Float {
			t.Errorf("call %d, result %d: got %+v, want %+v", call, i, got, want)
		}
		return
	}
	g, w := got.Tensor, want.Tensor
	if g.DType != w.DType || len(g.Data) != len(w.Data) || g.Nbytes() != w.Nbytes() {
		t.Errorf("call %d, result %d: got %s%v, want %s%v", call, i, g.DType, g.Sizes, w.DType, w.Sizes)
		return
	}
	for at := 0; at+4 <= w.Nbytes(); at += 4 {
		x, y := value(g, at), value(w, at)
		if d := math.Abs(x - y); d > s.Tolerance*max(1, math.Abs(y)) || math.IsNaN(x) != math.IsNaN(y) {
			t.Errorf("call %d, result %d, byte %d: got %v, want %v", call, i, at, x, y)
			return
		}
	}
}

// value is four bytes of t as a number: a float, or the bits themselves.
func value(t *tensor.Tensor, at int) float64 {
	bits := binary.LittleEndian.Uint32(t.Data[at:])
	if t.DType == tensor.Float {
		return float64(math.Float32frombits(bits))
	}
	return float64(bits)
}
