package backend

import (
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const chain = `method forward
input %x: f32[3]
%a: f32[3] = aten::relu(%x)  # 1 model.py:1
%b: f32[3] = aten::relu(%a)  # 2 model.py:2
%c: f32[3] = aten::neg(%b)  # 3 model.py:3
%d: f32[3] = aten::relu(%c)  # 4 model.py:4
%e: f32[3] = aten::relu(%d)  # 5 model.py:5
%f: f32[3] = aten::relu(%e)  # 6 model.py:6
output %f
`

// TestGroups checks groups on a chain a b c d e f: which nodes end in one partition, written as letters by tag.
func TestGroups(t *testing.T) {
	for _, c := range []struct{ groups, want string }{
		{"ab de", "00.11."},
		{"ab bc de", "00000."},
		{"ab", "00...."},
		{"a d", "0..1.."},
		{"abd", "......"},    // c lies between
		{"abd ef", "....00"}, // the cycle is before
		{"ab cf", "00...."},  // the cycle is behind
		{"ac bd", "......"},  // each needs the other
		{"", "......"},
	} {
		table := symint.NewTable()
		m, err := exir.ParseMethod(chain, table)
		if err != nil {
			t.Fatal(err)
		}
		program := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}
		p := NewTaggedProgram(program, m, Scope{Backend: "B"})
		r := PartitionByGroups(p, DelegationSpec{BackendID: "B"}, func(g *exir.Graph) (groups [][]*exir.Node) {
			for _, letters := range strings.Fields(c.groups) {
				var group []*exir.Node
				for _, l := range letters {
					group = append(group, g.Nodes[l-'a'])
				}
				groups = append(groups, group)
			}
			return groups
		})
		if err := p.Check(r); err != nil {
			t.Errorf("%s: %v", c.groups, err)
		}
		got := tagsOf(p, m.Graph)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.groups, got, c.want)
		}
	}
}

// TestGroupKeptAway leaves a group with a node that is not offered, and says so of the others.
func TestGroupKeptAway(t *testing.T) {
	table := symint.NewTable()
	m, err := exir.ParseMethod(chain, table)
	if err != nil {
		t.Fatal(err)
	}
	p := NewTaggedProgram(&exir.Program{Methods: []*exir.Method{m}}, m, Scope{Offer: func(n *exir.Node) (string, bool) { return "the spec skips it", n.Name != "b" }})
	PartitionByGroups(p, DelegationSpec{}, func(g *exir.Graph) [][]*exir.Node { return [][]*exir.Node{g.Nodes[:2], g.Nodes[2:3]} })
	if got := tagsOf(p, m.Graph); got != "..0..." {
		t.Errorf("got %s", got)
	}
	if got, want := p.Reasons(m.Graph.Nodes[0])[0], "it is only taken together with node b: the spec skips it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// tagsOf has a digit for each node: its tag's, or a dot for none.
func tagsOf(p *TaggedProgram, g *exir.Graph) (tags string) {
	for _, n := range g.Nodes {
		if tag := p.TagOf(n); tag != "" {
			tags += strings.TrimPrefix(tag, "tag")
		} else {
			tags += "."
		}
	}
	return tags
}
