package lowerer

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// checkTarget holds every tensor of p against the element types and ranks that the target allows.
func checkTarget(spec *config.Spec, p *exir.Program) error {
	var errs diag.List
	for _, m := range p.Methods {
		for _, v := range m.Graph.Inputs {
			errs = append(errs, checkValue(spec, m, "input", v)...)
		}
		err := m.Graph.Walk(func(g *exir.Graph) error {
			for _, n := range g.Nodes {
				for _, v := range n.Outs {
					errs = append(errs, checkValue(spec, m, n.Op.Name, v)...)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return errs.Err()
}

// checkInputs does so for what callers of m give; its weights may turn out to be unused.
func checkInputs(spec *config.Spec, m *exir.Method) error {
	var errs diag.List
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind == exir.UserInput {
			errs = append(errs, checkValue(spec, m, "input", v)...)
		}
	}
	return errs.Err()
}

func checkValue(spec *config.Spec, m *exir.Method, what string, v *exir.Value) diag.List {
	if v == nil || v.Kind != exir.TensorValue {
		return nil
	}
	where := spec.Where(spec.Target.Pos)
	if dtype := v.Spec.DType.String(); len(spec.Target.DTypes) > 0 && !slices.Contains(spec.Target.DTypes, dtype) {
		return diag.List{diag.New(diag.IllegalTarget, where, "target %s has no %s, which %s (%s) of method %s is",
			spec.Target.Name.V, dtype, v.Name, what, m.Name)}
	}
	if limit := spec.Target.MaxRank; limit > 0 && v.Spec.Rank() > limit {
		return diag.List{diag.New(diag.IllegalTarget, where, "target %s allows %d dimensions, and %s (%s) of method %s has %d",
			spec.Target.Name.V, limit, v.Name, what, m.Name, v.Spec.Rank())}
	}
	return nil
}
