package passes

import (
	"slices"
	"testing"
)

// TestFactsHold checks that whatever a pass needs holds when it runs, and that all that emission needs holds at the end,
// with and without the optional passes.
func TestFactsHold(t *testing.T) {
	for _, optional := range []bool{true, false} {
		hold := Given
		for _, p := range Table {
			if p.Optional && !optional {
				continue
			}
			for _, f := range p.Needs {
				if !slices.Contains(hold, f) {
					t.Errorf("pass %s needs %s, which no pass before it gives (optional passes: %v)", p.Name, f, optional)
				}
			}
			hold = p.after(hold)
			if p.Doc == "" || p.Run == nil {
				t.Errorf("pass %s has no doc or no function", p.Name)
			}
		}
		for _, f := range []Fact{Functional, CoreOps, TensorArgs, DimOrderOps, NumbersBound, NoDeadCode} {
			if !slices.Contains(hold, f) {
				t.Errorf("%s does not hold at the end (optional passes: %v)", f, optional)
			}
		}
	}
}
