package backend

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestBorder checks which partition a node is in that could be in several, written by tag: relu is taken, neg is not.
func TestBorder(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"reads what a later one reads", `%a: f32[s0] = aten::relu(%x)
%b: f32[s0] = aten::relu(%y)
%c: f32[s0] = aten::neg(%b)
%d: f32[s0] = aten::add.Tensor(%c, %x)
output %a
output %d`, "01.0"},
		{"reads what an earlier one reads", `%a: f32[s0] = aten::relu(%y)
%b: f32[s0] = aten::relu(%y)
%c: f32[s0] = aten::neg(%b)
%d: f32[s0] = aten::add.Tensor(%c, %x)
output %a
output %d`, "00.1"},
		{"is used outside in between", `%a: f32[s0] = aten::relu(%x)
%b: f32[s0] = aten::neg(%a)
%c: f32[s0] = aten::relu(%b)
%d: f32[s0] = aten::add.Tensor(%c, %x)
output %d`, "0.11"},
		{"makes room for one before it", `%a: f32[s0, 9] = aten::mul.Tensor(%x, %x)
%b: f32[s0] = aten::neg(%a)
%c: f32[s0] = aten::relu(%b)
%d: f32[s0] = aten::relu(%y)
%e: f32[s0] = aten::neg(%d)
%f: f32[s0] = aten::add.Tensor(%e, %x)
%g: f32[s0] = aten::neg(%f)
%h: f32[s0] = aten::relu(%g)
output %c
output %h`, "0.12.0.1"},
		{"saves nothing", `%a: f32[s0] = aten::relu(%x)
%b: f32[s0] = aten::relu(%y)
%c: f32[s0] = aten::neg(%b)
%d: f32[s0] = aten::relu(%c)
output %a
output %d`, "00.1"},
	} {
		if got := partitioned(t, "method forward\nsymbol s0 in [1, 8] hint 4\ninput %x: f32[s0]\ninput %y: f32[s0]\n"+c.text+"\n"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// partitioned partitions a method whose every node but neg is taken, and gives the places of its tags.
func partitioned(t *testing.T, text string) (tags string) {
	t.Helper()
	table := symint.NewTable()
	m, err := exir.ParseMethod(text, table)
	if err != nil {
		t.Fatal(err)
	}
	p := NewTaggedProgram(&exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: table}}, m, Scope{Backend: "B", Bounds: table.Bounds})
	r := PartitionByGroups(p, DelegationSpec{BackendID: "B"}, func(g *exir.Graph) (groups [][]*exir.Node) {
		for _, n := range g.Nodes {
			if n.Op.Name != "aten::neg" {
				groups = append(groups, []*exir.Node{n})
			}
		}
		return groups
	})
	if err := p.Check(r); err != nil {
		t.Fatal(err)
	}
	return tagsOf(p, m.Graph)
}

// valuesOf has a value of random size for each node, which all that use it read.
func valuesOf(r *rand.Rand, preds [][]int32, supported []bool) []crossing {
	values := make([]crossing, len(preds))
	for i := range values {
		values[i] = crossing{bytes: r.Int64N(100), maker: -1, kept: r.IntN(5) == 0}
		if supported[i] {
			values[i].maker = int32(i)
		}
	}
	for i, list := range preds {
		for _, p := range list {
			if supported[i] {
				values[p].readers = append(values[p].readers, int32(i))
			} else {
				values[p].kept = true
			}
		}
	}
	return values
}

// crossed is how many bytes go into parts and out of them.
func crossed(values []crossing, part []int32) (bytes int64) {
	for _, v := range values {
		at := int32(-1)
		if v.maker >= 0 {
			at = part[v.maker]
		}
		var into []int32
		for _, i := range v.readers {
			if part[i] != at && !slices.Contains(into, part[i]) {
				into = append(into, part[i])
			}
		}
		if bytes += v.bytes * int64(len(into)); at >= 0 && (v.kept || len(into) > 0) {
			bytes += v.bytes
		}
	}
	return bytes
}

// TestBorderIsNoMore checks on random graphs that no more bytes cross, and fewer for some, and that there are no more parts.
func TestBorderIsNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fewer := 0
	for range 500 {
		preds, supported := randomGraph(r, 60)
		values := valuesOf(r, preds, supported)
		early, late := layers(preds, supported, nil, nil), layers(preds, supported, values, nil)
		was, is := crossed(values, early), crossed(values, late)
		if is > was || slices.Max(late) > slices.Max(early) {
			t.Fatalf("%d bytes in %d parts, were %d in %d: producers %v", is, slices.Max(late)+1, was, slices.Max(early)+1, preds)
		}
		if is < was {
			fewer++
		}
	}
	if fewer < 100 {
		t.Errorf("fewer bytes in %d graphs of 500", fewer)
	}
}
