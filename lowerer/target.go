package lowerer

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// checkSpec refuses what a spec may say and this version does not do, so that no field is silently ignored.
func checkSpec(spec *config.Spec) error {
	var errs diag.List
	for _, b := range spec.Partition {
		errs = append(errs, diag.New(diag.UnsupportedFeature, spec.Where(b.ID.Pos), "no backend %q is linked into this tool", b.ID.V).
			WithHint("leave `partition` empty: every node goes to the portable kernels"))
	}
	if a := spec.MemoryPlanning.AllocMutableBuffers; !a.V {
		errs = append(errs, diag.New(diag.UnsupportedFeature, spec.Where(a.Pos), "alloc_mutable_buffers: false is not supported").
			WithHint("mutable buffers always lie in a planned arena; leave the field out"))
	}
	return errs.Err()
}

// checkTarget holds every tensor of p against the element types and ranks that the target allows.
func checkTarget(spec *config.Spec, p *exir.Program) error {
	var errs diag.List
	for _, m := range p.Methods {
		for _, v := range m.Graph.Inputs {
			errs = append(errs, checkValue(spec, m, "input", v)...)
		}
		for _, n := range m.Graph.Nodes {
			for _, v := range n.Outs {
				errs = append(errs, checkValue(spec, m, n.Op.Name, v)...)
			}
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
