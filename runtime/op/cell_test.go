package op

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func sigmoid64(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

// tanhPlan is the plan of a tanh, which has the cells.
func tanhPlan(t *testing.T, tier kernel.Tier) *Plan {
	t.Helper()
	sig := ParseSignature(Tanh.Schema)
	p, err := Prepare(&TanhF32, &sig, vals(wave(1)), []tensor.Meta{wave(1).Meta}, Options{Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runPlan runs a cell.
func runPlan(t *testing.T, p *Plan, args []Value, outs ...*tensor.Tensor) {
	t.Helper()
	v := p.Bind(args, outs, &Env{Temp: new(Temp)})
	v.Fixed = true
	if err := v.Call(); err != nil {
		t.Fatal(err)
	}
}

// nearZero is a tensor of numbers around zero.
func nearZero(sizes ...int64) *tensor.Tensor {
	x := wave(sizes...)
	for i := range elems[float32](x) {
		elems[float32](x)[i] = float32(i*37%101)/25 - 2
	}
	return x
}

func wantCell(t *testing.T, what string, got []float32, want func(i int) float64) {
	t.Helper()
	for i, x := range got {
		if y := want(i); math.Abs(float64(x)-y) > 2e-6 {
			t.Errorf("%s %d: %v, want %v", what, i, x, y)
		}
	}
}

// TestLSTM holds cells of all tiers against float64, with the gates in one tensor and as a sum of two, and with results that go
// to where the gates are.
func TestLSTM(t *testing.T) {
	c := LSTM{Input: 2, Forget: 0, Candidate: 3, Output: 1}
	for _, tier := range kernel.Tiers() {
		for _, size := range [][2]int64{{1, 1}, {1, 40}, {3, 5}, {2, 16}, {5, 33}} {
			for _, summed := range []bool{false, true} {
				rows, n := size[0], size[1]
				c.N = int(n)
				a, b, state := nearZero(rows, 4*n), nearZero(rows, 4*n), nearZero(rows, n)
				gates := make([]float32, 4*rows*n)
				args := vals(a, state)
				copy(gates, elems[float32](a))
				if summed {
					args = vals(a, b, state)
					for i, y := range elems[float32](b) {
						gates[i] += y
					}
				}
				gate := func(i, k int) float32 { return gates[(i/c.N*4+k)*c.N+i%c.N] }
				before := append([]float32(nil), elems[float32](state)...)
				next := func(i int) float64 {
					return sigmoid64(gate(i, c.Forget))*float64(before[i]) + sigmoid64(gate(i, c.Input))*math.Tanh(float64(gate(i, c.Candidate)))
				}
				hidden := &tensor.Tensor{Meta: state.Meta, Data: a.Data}
				runPlan(t, PrepareLSTM(tanhPlan(t, tier), c, hidden.Meta, state.Meta), args, hidden, state)
				wantCell(t, "state", elems[float32](state), next)
				wantCell(t, "hidden", elems[float32](hidden), func(i int) float64 { return sigmoid64(gate(i, c.Output)) * math.Tanh(next(i)) })
			}
		}
	}
}

// TestLSTMTogether lets both results lie in one place, as in a program where nobody reads the state after hidden is there: it has that.
func TestLSTMTogether(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		c := LSTM{Input: 0, Forget: 1, Candidate: 2, Output: 3, N: 16}
		gates, state, want, both := nearZero(2, 64), nearZero(2, 16), nearZero(2, 16), nearZero(2, 16)
		plan := PrepareLSTM(tanhPlan(t, tier), c, want.Meta, want.Meta)
		runPlan(t, plan, vals(gates, state), want, nearZero(2, 16))
		runPlan(t, plan, vals(gates, state), both, &tensor.Tensor{Meta: both.Meta, Data: both.Data})
		if err := sameResults(want, both); err != nil {
			t.Errorf("%v: %v", tier, err)
		}
	}
}

// TestGRU is TestLSTM for the cell of a GRU, whose results go to where its first input is.
func TestGRU(t *testing.T) {
	g := GRU{Reset: 1, Update: 0, New: 2}
	for _, tier := range kernel.Tiers() {
		for _, size := range [][2]int64{{1, 1}, {1, 40}, {3, 5}, {2, 16}, {5, 33}} {
			rows, n := size[0], size[1]
			g.N = int(n)
			a, b, hidden := nearZero(rows, 3*n), nearZero(rows, 3*n), nearZero(rows, n)
			for i, x := range elems[float32](a) {
				elems[float32](a)[i] = 0.25 - x/2
			}
			before, gates := append([]float32(nil), elems[float32](hidden)...), append([]float32(nil), elems[float32](a)...)
			want := func(i int) float64 {
				part := func(of []float32, k int) float32 { return of[(i/g.N*3+k)*g.N+i%g.N] }
				both := func(k int) float64 { return sigmoid64(part(gates, k) + part(elems[float32](b), k)) }
				x := math.Tanh(float64(part(gates, g.New)) + both(g.Reset)*float64(part(elems[float32](b), g.New)))
				return (float64(before[i])-x)*both(g.Update) + x
			}
			out := &tensor.Tensor{Meta: hidden.Meta, Data: a.Data}
			runPlan(t, PrepareGRU(tanhPlan(t, tier), g, hidden.Meta), vals(a, b, hidden), out)
			wantCell(t, "hidden", elems[float32](out), want)
		}
	}
}
