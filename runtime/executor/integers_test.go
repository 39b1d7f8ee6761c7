package executor

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// firstSums is what the first convolution of testdata/quantized gives before it is quantized, by instruction firstQuantization.
const (
	firstSums         = 68
	firstQuantization = 9
)

// TestFuseIntegers counts the products and convolutions of testdata/quantized that give integers: two linear operators and
// four convolutions. One of their inputs is read by others, too. Results are those of the steps one by one.
func TestFuseIntegers(t *testing.T) {
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		fused  int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, 6},
		"spans are traced":  {&scribe{}, func(*pte.ExecutionPlan) {}, 6},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 0},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			plan.Outputs = append([]int32{firstSums}, plan.Outputs...)
			plan.Values[firstSums].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			plan.NonConstBufferSizes[1] *= 2
		}, 5},
		"read again": {nil, func(plan *pte.ExecutionPlan) {
			chain := &plan.Chains[0]
			chain.Instructions = slices.Insert(chain.Instructions, firstQuantization+1, chain.Instructions[firstQuantization])
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadChanged(t, "quantized", LoadOptions{Tracer: c.tracer}, c.change).methods[0]
			got := 0
			for i := range m.steps {
				if s := &m.steps[i]; (s.name == convolutionName || s.name == linearName) && m.vals[s.outs[0]].Tensor.DType == tensor.Char {
					got++
				}
			}
			if got != c.fused {
				t.Errorf("%d steps give integers, want %d", got, c.fused)
			}
			checkPlaces(t, m)
		})
	}
}

// TestWorkOfIntegers counts the steps of testdata/quantized that multiply integers, as a benchmark sees them.
func TestWorkOfIntegers(t *testing.T) {
	m := instanceOf(t, loadTest(t, "quantized", LoadOptions{})).Method("forward")
	got := 0
	for i, c := range m.calls {
		if c.invoker != nil && workOf(m.m.steps[i].name, c.invoker).Integers {
			got++
		}
	}
	if got != 6 {
		t.Errorf("%d steps multiply integers, want 6", got)
	}
}

// TestFuseRows looks for steps of testdata/quantized_rows that compute in Float what integers can: none, but those that find the
// ranges of inputs, and quantize.
func TestFuseRows(t *testing.T) {
	m := loadChanged(t, "quantized_rows", LoadOptions{}, func(*pte.ExecutionPlan) {}).methods[0]
	var got []string
	for i := range m.steps {
		got = append(got, m.steps[i].name)
	}
	const choose, quantize = "quantized_decomposed::choose_qparams.Tensor_out", "quantized_decomposed::quantize_per_tensor.Tensor_out"
	if want := []string{choose, quantize, linearName, choose, quantize, linearName}; !slices.Equal(got, want) {
		t.Errorf("the steps are %v, want %v", got, want)
	}
	checkPlaces(t, m)
}

// TestFuseTokens counts the steps of testdata/quantized_tokens that still dequantize: none, but those that there are no tiles for, or
// whose weights somebody else writes or sees.
func TestFuseTokens(t *testing.T) {
	const firstWeights, blocks, matrix = 16, 54, 63
	groups := 0 // of 32 weights
	if kernel.NibblesOf(kernel.Best()) == nil {
		groups = 1 // row, for what is constant becomes Float at load
	}
	for name, c := range map[string]struct {
		tracer EventTracer
		change func(plan *pte.ExecutionPlan)
		want   int
	}{
		"as it is":          {nil, func(*pte.ExecutionPlan) {}, groups},
		"values are traced": {values{&scribe{}}, func(*pte.ExecutionPlan) {}, 4},
		"written again": {nil, func(plan *pte.ExecutionPlan) {
			chain := &plan.Chains[0]
			chain.Instructions = slices.Insert(chain.Instructions, firstWeights, chain.Instructions[firstWeights])
		}, 3},
		"an output": {nil, func(plan *pte.ExecutionPlan) {
			plan.Outputs = append([]int32{matrix}, plan.Outputs...)
			for _, v := range [2]int32{blocks, matrix} {
				plan.Values[v].Tensor.Allocation.Offset = uint64(plan.NonConstBufferSizes[1])
			}
			plan.NonConstBufferSizes[1] *= 2
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadChanged(t, "quantized_tokens", LoadOptions{Tracer: c.tracer}, c.change).methods[0]
			got := 0
			for i := range m.steps {
				if strings.HasPrefix(m.steps[i].name, "quantized_decomposed::dequantize_") {
					got++
				}
			}
			if got != c.want {
				t.Errorf("%d steps dequantize, want %d", got, c.want)
			}
			checkPlaces(t, m)
		})
	}
}
