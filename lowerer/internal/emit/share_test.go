package emit

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// TestShare finds each literal again, and takes none for another that looks alike.
func TestShare(t *testing.T) {
	list := func(typ pte.ValueType, items ...int64) pte.EValue { return pte.EValue{Type: typ, Items: items} }
	doubles := func(x ...float64) pte.EValue { return pte.EValue{Type: pte.DoubleList, Doubles: x} }
	all := []pte.EValue{
		{Type: pte.Null}, {Type: pte.Int}, {Type: pte.Int, Int: 1}, {Type: pte.Int, Int: -1}, {Type: pte.Bool}, {Type: pte.Bool, Int: 1},
		{Type: pte.Double}, {Type: pte.Double, Double: math.Copysign(0, -1)}, {Type: pte.Double, Double: 1}, {Type: pte.Double, Double: math.NaN()},
		{Type: pte.String}, {Type: pte.String, String: "1"}, list(pte.IntList), list(pte.IntList, 1), list(pte.IntList, 1, 2), list(pte.IntList, 2, 1),
		list(pte.IntList, 258), list(pte.BoolList, 1), list(pte.TensorList, 1), list(pte.OptionalTensorList, 1), list(pte.OptionalTensorList, -1),
		doubles(), doubles(0), doubles(math.Copysign(0, -1)), doubles(1, 2), doubles(2, 1),
	}
	e := emitter{plan: &pte.ExecutionPlan{}, literals: map[content]int32{}}
	for range 2 {
		for i, v := range all {
			if got := e.share(v); got != int32(i) {
				t.Errorf("%+v is value %d, want %d", v, got, i)
			}
		}
	}
	if n := len(e.plan.Values); n != len(all) {
		t.Errorf("there are %d values, want %d", n, len(all))
	}
}
