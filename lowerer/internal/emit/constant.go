package emit

import (
	"fmt"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// ConstantMethod is a plan without inputs that returns value: a bool, int64, float64 or string, or, as one output a
// member, a list of bool, int64 or float64.
func ConstantMethod(name string, value any) (*pte.ExecutionPlan, error) {
	plan := &pte.ExecutionPlan{Name: name, NonConstBufferSizes: []int64{0, 0}, Chains: []pte.Chain{{}}}
	var values []pte.EValue
	switch x := value.(type) {
	case []bool:
		for _, b := range x {
			values = append(values, boolValue(b))
		}
	case []int64:
		for _, n := range x {
			values = append(values, pte.EValue{Type: pte.Int, Int: n})
		}
	case []float64:
		for _, f := range x {
			values = append(values, pte.EValue{Type: pte.Double, Double: f})
		}
	case bool:
		values = append(values, boolValue(x))
	case int64:
		values = append(values, pte.EValue{Type: pte.Int, Int: x})
	case float64:
		values = append(values, pte.EValue{Type: pte.Double, Double: x})
	case string:
		values = append(values, pte.EValue{Type: pte.String, String: x})
	default:
		return nil, fmt.Errorf("a value of type %T cannot be returned", value)
	}
	plan.Values = values
	for i := range values {
		plan.Outputs = append(plan.Outputs, int32(i))
	}
	return plan, nil
}

func boolValue(b bool) pte.EValue {
	v := pte.EValue{Type: pte.Bool}
	if b {
		v.Int = 1
	}
	return v
}
