package passes

import "testing"

// TestFactsHold checks that whatever a pass needs holds when it runs, and that all that emission needs holds at the end.
func TestFactsHold(t *testing.T) {
	have := map[Fact]bool{}
	for _, f := range Given {
		have[f] = true
	}
	for _, p := range Table {
		for _, f := range p.Needs {
			if !have[f] {
				t.Errorf("pass %s needs %s, which no pass before it gives", p.Name, f)
			}
		}
		for _, f := range p.Breaks {
			delete(have, f)
		}
		for _, f := range p.Gives {
			have[f] = true
		}
		if p.Doc == "" || p.Run == nil {
			t.Errorf("pass %s has no doc or no function", p.Name)
		}
	}
	for _, f := range []Fact{Functional, CoreOps, DimOrderOps, NumbersBound, NoDeadCode} {
		if !have[f] {
			t.Errorf("%s does not hold at the end", f)
		}
	}
}
