package passes

import (
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// TestCallKeys holds that calls with other arguments have other keys.
func TestCallKeys(t *testing.T) {
	num := func(n int64) exir.Arg { return exir.Arg{Kind: exir.ArgInt, Int: n} }
	list := func(args ...exir.Arg) exir.Arg { return exir.Arg{Kind: exir.ArgList, List: args} }
	v, w := &exir.Value{Name: "v"}, &exir.Value{Name: "v"}
	value := func(v *exir.Value) exir.Arg { return exir.Arg{Kind: exir.ArgValue, Value: v} }
	text := func(kind exir.ArgKind, s string) exir.Arg { return exir.Arg{Kind: kind, Str: s} }
	first := func(v *exir.Value, out int) exir.Arg { // a constant that is computed
		return value(&exir.Value{Const: &exir.Constant{Node: &exir.ConstExpr{Op: &exir.Schema{Name: "aten::sort"}, Args: []exir.Arg{value(v)}, Out: out}}})
	}
	lists := [][]exir.Arg{
		{}, {{}}, {num(1)}, {num(-1)}, {{Kind: exir.ArgBool, Int: 1}}, {{Kind: exir.ArgDType, Int: 1}}, {{Kind: exir.ArgFloat, Float: 1}},
		{{Kind: exir.ArgFloat}}, {num(0)}, {list(num(1), num(2)), list(num(3))}, {list(num(1)), list(num(2), num(3))}, {num(1), num(2), num(3)},
		{list()}, {text(exir.ArgString, "a")}, {text(exir.ArgString, "b")}, {text(exir.ArgDevice, "a")}, {text(exir.ArgString, "a"), text(exir.ArgString, "b")},
		{text(exir.ArgString, "ab"), text(exir.ArgString, "")}, {value(v)}, {value(w)}, {list(value(v), value(w))}, {first(v, 0)}, {first(v, 1)}, {first(w, 0)},
	}
	zeros := func() *exir.Value { return &exir.Value{Const: &exir.Constant{Literal: true, Data: make([]byte, 4)}} }
	buffer, other := zeros(), zeros()
	lists = append(lists, []exir.Arg{value(buffer)}, []exir.Arg{value(other)}, []exir.Arg{value(zeros())})
	c := calls{map[*exir.Value]bool{buffer: true, other: true}, map[*exir.Value]int{}, map[string]int{}}
	seen := map[string]int{}
	for i, args := range lists {
		key, ok := c.call(&exir.Schema{Name: "aten::op"}, args)
		if j, twice := seen[key]; !ok || twice {
			t.Errorf("arguments %d: key %q, %v, as those of %d", i, key, ok, j)
		}
		seen[key] = i
	}
	a, _ := c.call(&exir.Schema{Name: "aten::op"}, []exir.Arg{first(v, 0)})
	if _, same := seen[a]; !same {
		t.Error("a constant that is computed again has another number")
	}
	if _, ok := c.call(&exir.Schema{Name: "aten::op"}, []exir.Arg{list(exir.Arg{Kind: exir.ArgGraph}), num(1)}); ok {
		t.Error("a graph has a key")
	}
}
