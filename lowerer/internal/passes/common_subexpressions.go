package passes

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// commonSubexpressions lets users of a node that computes what an earlier node of its graph has computed use the earlier one's results.
// What a graph returns, or writes to a buffer, stays a value of its own, which nothing else uses instead of its own.
func commonSubexpressions(ctx *Context, m *exir.Method) error {
	state := stateOf(ctx.Program, m)
	return m.Graph.Walk(func(g *exir.Graph) error {
		kept := map[*exir.Value]bool{}
		for i := range g.Outputs {
			g.Outputs[i].EachValue(func(v **exir.Value) { kept[*v] = true })
		}
		c := calls{state, map[*exir.Value]int{}, map[string]int{}}
		first, same := map[string]*exir.Node{}, replacements{}
		g.Nodes = slices.DeleteFunc(g.Nodes, func(n *exir.Node) bool {
			same.in(n.Args)
			if slices.ContainsFunc(n.Outs, func(v *exir.Value) bool { return kept[v] }) {
				return false
			}
			key, ok := c.key(n)
			if !ok {
				return false
			}
			earlier := first[key]
			if earlier == nil {
				first[key] = n
				return false
			}
			for i, v := range n.Outs {
				same[v] = earlier.Outs[i]
			}
			return true
		})
		return nil
	})
}

// calls tells calls apart that may give different results.
type calls struct {
	state  map[*exir.Value]bool // buffers that are written, whatever they hold first
	values map[*exir.Value]int  // numbers of values; constants that are computed alike, or that are the same numbers, have one
	made   map[string]int       // numbers of such constants
}

// key is the same for nodes that give the same; false for nodes of which one cannot say so: those that draw random numbers, hold
// graphs, define symbols or are unknown to the runtime.
func (c *calls) key(n *exir.Node) (string, bool) {
	row := exir.LookupRow(n.Op.Name)
	if row == nil || row.Def.Tags&op.Random != 0 || n.Op.Kind != "functional" && n.Op.Kind != "view" || n.Defines() || slices.Contains(n.Outs, nil) {
		return "", false
	}
	return c.call(n.Op, n.Args)
}

func (c *calls) call(s *exir.Schema, args []exir.Arg) (string, bool) {
	text := append([]byte(s.Name), 0)
	for i := range args {
		var ok bool
		if text, ok = c.append(text, &args[i]); !ok {
			return "", false
		}
	}
	return string(text), true
}

// append adds a to text so that no other argument reads the same.
func (c *calls) append(text []byte, a *exir.Arg) ([]byte, bool) {
	text = append(text, byte(a.Kind))
	switch a.Kind {
	case exir.ArgGraph, exir.ArgLowered:
		return nil, false
	case exir.ArgValue:
		return binary.AppendVarint(text, int64(c.number(a.Value))), true
	case exir.ArgFloat:
		return binary.LittleEndian.AppendUint64(text, math.Float64bits(a.Float)), true
	case exir.ArgString, exir.ArgDevice:
		return append(binary.AppendUvarint(text, uint64(len(a.Str))), a.Str...), true
	case exir.ArgList:
		text = binary.AppendUvarint(text, uint64(len(a.List)))
		ok := true
		for i := 0; i < len(a.List) && ok; i++ {
			text, ok = c.append(text, &a.List[i])
		}
		return text, ok
	}
	return binary.AppendVarint(text, a.Int), true
}

// number is v's.
func (c *calls) number(v *exir.Value) int {
	if n, ok := c.values[v]; ok {
		return n
	}
	key, made := "", false
	if !c.state[v] {
		key, made = c.constant(v.Const)
	}
	n := len(c.values)
	if made {
		if same, ok := c.made[key]; ok {
			n = same
		}
		c.made[key] = n
	}
	c.values[v] = n
	return n
}

// literalMost is how many bytes of a literal are compared: numbers of Python have up to 8.
const literalMost = 64

// constant is the same for constants that have the same elements; false for those that are not compared.
func (c *calls) constant(k *exir.Constant) (string, bool) {
	switch {
	case k == nil:
		return "", false
	case k.Node != nil:
		key, ok := c.call(k.Node.Op, k.Node.Args)
		return key + string(rune(k.Node.Out)), ok
	case k.Literal && len(k.Data) <= literalMost:
		return fmt.Sprint(k.Meta.DType, k.Meta.Sizes, k.Meta.DimOrder, k.Data), true
	}
	return "", false
}
