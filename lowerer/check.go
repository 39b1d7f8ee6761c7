package lowerer

import (
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/passes"
)

// CheckSpec refuses what the schema of a spec allows and the lowerer does not: passes that there are not or that must run,
// and what this version does not do. So no field is silently ignored. Models are not read. The error is a diag.List.
func CheckSpec(spec *config.Spec) error {
	var errs diag.List
	errs.Add(diag.UnknownPass, checkPasses(spec))
	if a := spec.MemoryPlanning.AllocMutableBuffers; !a.V {
		errs = append(errs, diag.New(diag.UnsupportedFeature, spec.Where(a.Pos), "alloc_mutable_buffers: false is not supported").
			WithHint("mutable buffers always lie in a planned arena; leave the field out"))
	}
	errs.Sort()
	return errs.Err()
}

// checkPasses holds the passes that the spec switches against those that there are.
func checkPasses(spec *config.Spec) error {
	var errs diag.List
	optional := map[string]bool{}
	var names []string
	for _, p := range passes.Table {
		if optional[p.Name] = p.Optional; p.Optional {
			names = append(names, p.Name)
		}
	}
	for _, s := range spec.Passes {
		is, known := optional[s.Name.V]
		msg := "pass %q is not optional"
		if !known {
			msg = "no pass %q"
		}
		if !is {
			errs = append(errs, diag.New(diag.UnknownPass, spec.Where(s.Name.Pos), msg, s.Name.V).
				WithHint("optional passes: %s", strings.Join(names, ", ")))
		}
	}
	return errs.Err()
}
