package pt2

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// equate tells the symbols what torch.export found equal of the sizes of inputs, such as (L['x'].size()[1] // 4) == 3.
// Guards that say something else, or in another way, are left out.
func (s *symbolTable) equate(p *programJSON) {
	var sources []string // and their names in known
	known := map[string]tensor.Dim{}
	add := func(source string, v symJSON) {
		if d, err := s.dim(v); err == nil {
			name := "i" + strconv.Itoa(len(known))
			known[name] = d
			sources = append(sources, source, name)
		}
	}
	call := p.Module.call()
	paths := call.inputPaths()
	for i, u := range p.Module.Signature.Inputs {
		if u.tag != "user_input" || i >= len(p.Module.Graph.Inputs) || len(paths) == 0 {
			continue
		}
		source := "L" + paths[0]
		paths = paths[1:]
		arg := p.Module.Graph.Inputs[i]
		name, _ := nameIn(arg)
		if n, ok := p.Module.Graph.SymInts[name]; ok && arg.tag == "as_sym_int" {
			add(source, n)
		}
		for d, n := range p.Module.Graph.Tensors[name].Sizes {
			add(fmt.Sprintf("%s.size()[%d]", source, d), n)
		}
	}
	named, single := strings.NewReplacer(sources...), call.variableArguments()
	for _, g := range p.Guards {
		left, right, ok := strings.Cut(named.Replace(single.Replace(g)), "==")
		if !ok {
			continue
		}
		a, errA := exir.ParseDim(left, s.t, known)
		b, errB := exir.ParseDim(right, s.t, known)
		if errA == nil && errB == nil {
			s.t.Equate(a, b)
		}
	}
	clear(s.parsed)
}

// treeSpec is a pytree spec: a leaf has no type.
type treeSpec struct {
	Type     *string    `json:"type"`
	Context  string     `json:"context"`
	Children []treeSpec `json:"children_spec"`
}

// inputPaths are where the user's inputs are among the arguments of forward, as pytree.keystr writes it: ['x'][0].
func (c *callSignature) inputPaths() (paths []string) {
	var spec []json.RawMessage
	var tree treeSpec
	if json.Unmarshal([]byte(c.InSpec), &spec) != nil || len(spec) != 2 || json.Unmarshal(spec[1], &tree) != nil {
		return nil
	}
	var arguments []treeSpec
	for _, t := range tree.Children { // the positional ones, and those with keywords
		arguments = append(arguments, t.Children...)
	}
	if len(arguments) != len(c.ArgNames) {
		return nil
	}
	for i, name := range c.ArgNames {
		paths = arguments[i].leaves(paths, "['"+name+"']")
	}
	return paths
}

// variableArguments names those of *args as ArgNames does: L['args'][0] of a guard is the argument args_0.
func (c *callSignature) variableArguments() *strings.Replacer {
	var pairs []string
	for _, name := range c.ArgNames {
		if i := strings.LastIndexByte(name, '_'); i >= 0 && !slices.Contains(c.ArgNames, name[:i]) {
			pairs = append(pairs, fmt.Sprintf("L['%s'][%s]", name[:i], name[i+1:]), "L['"+name+"']")
		}
	}
	return strings.NewReplacer(pairs...)
}

// leaves appends the paths of the leaves below path.
func (t *treeSpec) leaves(paths []string, path string) []string {
	if t.Type == nil {
		return append(paths, path)
	}
	var keys []any // of a dict
	_ = json.Unmarshal([]byte(t.Context), &keys)
	for i := range t.Children {
		key := fmt.Sprintf("[%d]", i)
		if len(keys) == len(t.Children) {
			key = fmt.Sprintf("['%v']", keys[i])
		}
		paths = t.Children[i].leaves(paths, path+key)
	}
	return paths
}
