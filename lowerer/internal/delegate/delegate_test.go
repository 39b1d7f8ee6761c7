package delegate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// stub is a backend whose partitioner and compiler are functions.
type stub struct {
	id         string
	owns       bool
	tag        func(t *backend.TaggedProgram, spec backend.DelegationSpec) *backend.PartitionResult
	preprocess func(p *exir.EdgeProgram) (*backend.PreprocessResult, error)
}

func (s *stub) ID() string                                               { return s.id }
func (s *stub) OwnsState() bool                                          { return s.owns }
func (s *stub) Schema() backend.Schema                                   { return backend.Schema{} }
func (s *stub) Partitioner(backend.Options) (backend.Partitioner, error) { return s, nil }
func (s *stub) Spec() backend.DelegationSpec                             { return backend.DelegationSpec{BackendID: s.id} }
func (s *stub) OpsToNotDecompose() ([]string, func(*exir.Node) bool)     { return nil, nil }
func (s *stub) Partition(t *backend.TaggedProgram) (*backend.PartitionResult, error) {
	return s.tag(t, s.Spec()), nil
}

func (s *stub) Preprocess(_ *backend.Context, p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
	if s.preprocess != nil {
		return s.preprocess(p)
	}
	return &backend.PreprocessResult{}, nil
}

// takes is a stub that takes these operators.
func takes(id string, ops ...string) *stub {
	s := &stub{id: id}
	s.tag = func(t *backend.TaggedProgram, spec backend.DelegationSpec) *backend.PartitionResult {
		return backend.PartitionByCapability(t, spec, func(n *exir.Node) (string, bool) {
			for _, op := range ops {
				if n.Op.Name == op {
					return "", true
				}
			}
			return "not of " + id, false
		})
	}
	return s
}

// tags is a stub that tags nodes by name, and whatever else more does.
func tags(byName map[string]string, more func(t *backend.TaggedProgram)) *stub {
	s := &stub{id: "B"}
	s.tag = func(t *backend.TaggedProgram, spec backend.DelegationSpec) *backend.PartitionResult {
		r := &backend.PartitionResult{TaggedProgram: t, PartitionTags: map[string]backend.DelegationSpec{}}
		for _, g := range t.Graphs() {
			for _, n := range g.Nodes {
				if tag := byName[n.Name]; tag != "" {
					t.Tag(n, tag)
					r.PartitionTags[tag] = spec
				}
			}
		}
		if more != nil {
			more(t)
		}
		return r
	}
	return s
}

const text = `method forward
const @w: f32[3] = weight(record="w", size=12, strides=[1])
const @state: f32[3] = initial(000000000000000000000000)
input %x: f32[3]
parameter w %p_w: f32[3] = @w
buffer state %b_state: f32[3] = @state
%relu: f32[3] = aten::relu(%x)  # 1 model.py:10 enc
%mul: f32[3] = aten::mul.Tensor(%relu, %p_w)  # 2 model.py:11 enc.last
%tan: f32[3] = aten::tan(%mul)  # 3 model.py:12 dec
%add: f32[3] = aten::add.Tensor(%tan, %p_w, 1)  # 4 model.py:13 dec
%next: f32[3] = aten::add.Tensor(%b_state, %add, 1)  # 5 model.py:14
mutate buffer state = %next
output %add
`

func program(t *testing.T, methods ...string) *exir.EdgeProgram {
	t.Helper()
	table := symint.NewTable()
	p := &exir.EdgeProgram{Program: exir.Program{Shapes: &tensor.Shapes{Table: table}}}
	for i, m := range methods {
		method, err := exir.ParseMethod(m, table)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			method.Name = fmt.Sprint("method", i)
		}
		p.Methods = append(p.Methods, method)
	}
	return p
}

func entriesOf(backends ...*stub) (list []Entry) {
	for _, b := range backends {
		list = append(list, Entry{Backend: b, Partitioner: b, Where: "spec.cue:1:1"})
	}
	return list
}

func find(t *backend.TaggedProgram, name string) *exir.Value {
	for _, v := range t.Method.Graph.Inputs {
		if v.Name == name {
			return v
		}
	}
	panic("no input " + name)
}

// TestRules checks that each break of a rule of tagging is an error with its code.
func TestRules(t *testing.T) {
	chain := map[string]string{"relu": "a", "mul": "a"}
	for _, c := range []struct {
		name    string
		backend *stub
		code    diag.Code
		want    string
	}{
		{"user input", tags(nil, func(t *backend.TaggedProgram) { t.TagConstant(find(t, "x"), "a") }), diag.IllegalTag, "input of the user"},
		{"no constant", tags(nil, func(t *backend.TaggedProgram) { t.TagConstant(t.Method.Graph.Nodes[0].Outs[0], "a") }), diag.IllegalTag, "no constant"},
		{"stranger", tags(nil, func(t *backend.TaggedProgram) { t.Tag(&exir.Node{Name: "other"}, "a") }), diag.IllegalTag, "not of this program"},
		{"empty tag", tags(nil, func(t *backend.TaggedProgram) { t.Tag(t.Method.Graph.Nodes[0], "") }), diag.IllegalTag, "tag is empty"},
		{"no spec", tags(nil, func(t *backend.TaggedProgram) { t.Tag(t.Method.Graph.Nodes[0], "z") }), diag.IllegalTag, `"z" has no delegation spec`},
		{"other backend", &stub{id: "B", tag: func(t *backend.TaggedProgram, _ backend.DelegationSpec) *backend.PartitionResult {
			t.Tag(t.Method.Graph.Nodes[0], "a")
			return &backend.PartitionResult{TaggedProgram: t, PartitionTags: map[string]backend.DelegationSpec{"a": {BackendID: "C"}}}
		}}, diag.IllegalTag, `for backend "C"`},
		{"other program", &stub{id: "B", tag: func(t *backend.TaggedProgram, _ backend.DelegationSpec) *backend.PartitionResult {
			return &backend.PartitionResult{TaggedProgram: &backend.TaggedProgram{}}
		}}, diag.IllegalTag, "another program"},
		{"not convex", tags(map[string]string{"relu": "a", "tan": "a"}, nil), diag.NotConvex, `partition "a" is not convex`},
		{"two that need each other", tags(map[string]string{"relu": "a", "mul": "b", "tan": "a", "add": "b"}, nil), diag.NotConvex, "not convex"},
		{"changed graph", tags(chain, func(t *backend.TaggedProgram) { t.Method.Graph.Nodes[0].Name = "new" }), diag.PartitionerChangedGraph, "changed the graph"},
		{"changed argument", tags(chain, func(t *backend.TaggedProgram) { t.Method.Graph.Nodes[3].Args[2].Int = 2 }), diag.PartitionerChangedGraph, "changed the graph"},
		{"shared constant", tags(chain, func(t *backend.TaggedProgram) {
			t.NoCopy(find(t, "p_w"))
			t.TagConstants()
		}), diag.SharedConstant, "constant p_w"},
		{"mutated constant", tags(chain, func(t *backend.TaggedProgram) { t.TagConstant(find(t, "b_state"), "a") }), diag.MutatedBufferTagged, "written by the program"},
		{"mutated buffer", tags(chain, func(t *backend.TaggedProgram) { t.TagMutatedBuffer(find(t, "b_state"), "a") }), diag.MutatedBufferTagged, "does not own state"},
		{"preprocess", &stub{id: "B", tag: tags(chain, nil).tag, preprocess: func(*exir.EdgeProgram) (*backend.PreprocessResult, error) {
			return nil, errors.New("too hard")
		}}, diag.PreprocessFailed, "preprocess lowered_module_0: too hard"},
		{"no result", &stub{id: "B", tag: tags(chain, nil).tag, preprocess: func(*exir.EdgeProgram) (*backend.PreprocessResult, error) {
			return nil, nil
		}}, diag.PreprocessFailed, "no result"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(program(t, text), entriesOf(c.backend), &backend.Context{})
			var list diag.List
			list.Add("", err)
			if len(list) == 0 || list[0].Code != c.code || !strings.Contains(list[0].Error(), c.want) || !strings.Contains(list[0].Error(), "B: ") && !strings.Contains(list[0].Error(), "of B") {
				t.Errorf("got %v, want %s with %q", list, c.code, c.want)
			}
		})
	}
}

const branches = `method forward
input %x: f32[3]
input %flag: bool
%tan: f32[3] = aten::tan(%x)  # 1 model.py:10
%y: f32[3] = higher_order::cond(%flag, graph, graph, [%tan]) as cond  # 2 model.py:11
  graph:
    input %a: f32[3]
    %sin: f32[3] = aten::sin(%a)  # 3 model.py:12
    return [%sin]
  graph:
    input %b: f32[3]
    %cos: f32[3] = aten::cos(%b)  # 4 model.py:13
    return [%cos]
output %y
`

// TestNestedGraphs checks that a partition lies in one graph, whichever that is.
func TestNestedGraphs(t *testing.T) {
	for _, c := range []struct {
		tags map[string]string
		want string
	}{
		{map[string]string{"tan": "a", "sin": "b", "cos": "c"}, ""},
		{map[string]string{"tan": "a", "sin": "a"}, `B: partition "a" has nodes in two graphs, node tan in the second`},
		{map[string]string{"sin": "a", "cos": "a"}, `B: partition "a" has nodes in two graphs, node cos in the second`},
	} {
		r, err := Run(program(t, branches), entriesOf(tags(c.tags, nil)), &backend.Context{})
		var list diag.List
		list.Add("", err)
		switch {
		case c.want == "" && (err != nil || len(r.Modules) != 3):
			t.Errorf("%v: got %v, want three modules", c.tags, err)
		case c.want != "" && (len(list) != 1 || list[0].Code != diag.NotConvex || !strings.Contains(list[0].Error(), c.want)):
			t.Errorf("%v: got %v, want %s", c.tags, err, c.want)
		}
	}
}

// TestOwnedBuffer checks that a buffer which a backend owns leaves the program, and that its uses outside are errors.
func TestOwnedBuffer(t *testing.T) {
	own := func(byName map[string]string) *stub {
		s := tags(byName, func(t *backend.TaggedProgram) { t.TagMutatedBuffer(find(t, "b_state"), "a") })
		s.owns = true
		return s
	}
	p := program(t, text)
	r, err := Run(p, entriesOf(own(map[string]string{"add": "a", "next": "a"})), &backend.Context{})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Methods[0]
	if len(m.Outputs) != 1 || m.Outputs[0].Kind != exir.UserOutput || len(m.Inputs) != 2 {
		t.Errorf("the method has inputs %v and outputs %v", m.Inputs, m.Outputs)
	}
	sub := r.Modules[0].Program.Methods[0]
	if len(sub.Outputs) != 2 || sub.Outputs[0].Kind != exir.BufferMutation || sub.Inputs[0].Kind != exir.Buffer || len(m.Graph.Nodes[3].Outs) != 1 {
		t.Errorf("the module has inputs %v and outputs %v", sub.Inputs, sub.Outputs)
	}
	_, err = Run(program(t, text), entriesOf(own(map[string]string{"relu": "a"})), &backend.Context{})
	if err == nil || !strings.Contains(err.Error(), "buffer state is owned") {
		t.Errorf("got %v", err)
	}
}

// TestFirstClaimWins checks two backends in order, the reasons of both, and constants that each gets for itself.
func TestFirstClaimWins(t *testing.T) {
	p := program(t, text)
	r, err := Run(p, entriesOf(takes("A", "aten::relu", "aten::mul.Tensor"), takes("B", "aten::mul.Tensor", "aten::tan", "aten::add.Tensor")), &backend.Context{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range p.Methods[0].Graph.Nodes {
		got = append(got, n.Args[0].Lowered.BackendID)
	}
	if strings.Join(got, " ") != "A B" {
		t.Errorf("the calls are of %v", got)
	}
	for i, want := range []string{"w", "w"} {
		if in := r.Modules[i].Program.Methods[0].Inputs[0]; in.Kind != exir.Parameter || in.Target != want {
			t.Errorf("the first input of module %d is %v", i, in)
		}
	}
}

// TestReasons checks that a node that stays behind has the reason of every backend.
func TestReasons(t *testing.T) {
	p := program(t, text)
	r, err := Run(p, entriesOf(takes("A", "aten::relu"), takes("B", "aten::mul.Tensor")), &backend.Context{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Methods[0].Graph.Nodes {
		if n.Name == "tan" {
			if got := fmt.Sprint(r.Refused[n]); got != "[{A [not of A]} {B [not of B]}]" {
				t.Errorf("got %s", got)
			}
		}
	}
}

// TestPins checks pin and skip: who gets the nodes, and what is an error.
func TestPins(t *testing.T) {
	both := func(pin, skip []Match) []Entry {
		list := entriesOf(takes("A", "aten::relu", "aten::mul.Tensor", "aten::tan"), takes("B", "aten::relu", "aten::mul.Tensor"))
		list[0].Skip, list[1].Pin = skip, pin
		return list
	}
	for _, c := range []struct {
		name      string
		pin, skip []Match
		calls     string
		want      string
	}{
		{"neither", nil, nil, "A add next", ""},
		{"pin a module", []Match{{Module: "enc"}}, nil, "B A add next", ""},
		{"pin an operator", []Match{{Op: "aten.relu.default"}}, nil, "B A add next", ""},
		{"pin a line", []Match{{Line: "model.py:10"}}, nil, "B A add next", ""},
		{"pin a name", []Match{{Name: "re*"}}, nil, "B A add next", ""},
		{"skip", nil, []Match{{Module: "dec"}}, "A tan add next", ""},
		{"both fields", nil, []Match{{Module: "enc", Op: "aten::mul.Tensor"}}, "A B A add next", ""},
		{"nothing", nil, []Match{{Module: "no", Where: "spec.cue:3:4"}}, "", "spec.cue:3:4: skip names no node"},
		{"not taken", []Match{{Op: "aten::tan"}}, nil, "", "pinned node tan (aten.tan.default) was not taken by B: not of B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(t, text)
			_, err := Run(p, both(c.pin, c.skip), &backend.Context{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range p.Methods[0].Graph.Nodes {
				if n.Op == exir.CallDelegate {
					got = append(got, n.Args[0].Lowered.BackendID)
				} else {
					got = append(got, n.Name)
				}
			}
			if strings.Join(got, " ") != c.calls {
				t.Errorf("got %v, want %s", got, c.calls)
			}
		})
	}
}

// all is a stub that preprocesses everything at once.
type all struct {
	*stub
	// specs and results, if not nil, change what goes in and what comes out.
	specs   func(specs map[string][][]backend.CompileSpec)
	results func(results map[string][]*backend.PreprocessResult)
}

func (a *all) PreprocessMultiMethod(_ *backend.Context, programs map[string][]*exir.EdgeProgram, specs map[string][][]backend.CompileSpec) (map[string][]*backend.PreprocessResult, error) {
	if a.specs != nil {
		a.specs(specs)
	}
	results, err := backend.PreprocessEach(programs, specs, func(p *exir.EdgeProgram, _ []backend.CompileSpec) (*backend.PreprocessResult, error) {
		return &backend.PreprocessResult{ProcessedBytes: []byte(p.Methods[0].Name)}, nil
	})
	if a.results != nil {
		a.results(results)
	}
	return results, err
}

// TestMultiMethod checks that results map one to one onto partitions, and that a missing list or a wrong number of specs or
// results is an error that names the method.
func TestMultiMethod(t *testing.T) {
	a := &all{stub: takes("A", "aten::relu", "aten::tan")}
	r, err := Run(program(t, text, text), []Entry{{Backend: a, Partitioner: a}}, &backend.Context{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Modules {
		got = append(got, string(m.Processed.Bytes))
	}
	if strings.Join(got, " ") != "forward forward method1 method1" {
		t.Errorf("got %v", got)
	}
	for _, c := range []struct {
		all  all
		want string
	}{
		{all{specs: func(s map[string][][]backend.CompileSpec) { delete(s, "method1") }}, "method method1 has no compile specs"},
		{all{specs: func(s map[string][][]backend.CompileSpec) { s["method1"] = s["method1"][1:] }},
			"method method1 has 1 lists of compile specs for 2 partitions"},
		{all{results: func(r map[string][]*backend.PreprocessResult) { r["method1"] = r["method1"][1:] }},
			"method method1: A: preprocess gave 1 results for 2 partitions"},
	} {
		c.all.stub = a.stub
		_, err = Run(program(t, text, text), []Entry{{Backend: &c.all, Partitioner: a}}, &backend.Context{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestKeyPlaces checks that the placeholders of content keys are found in a payload, also at its end.
func TestKeyPlaces(t *testing.T) {
	s := takes("A", "aten::mul.Tensor")
	s.preprocess = func(p *exir.EdgeProgram) (*backend.PreprocessResult, error) {
		store := new(backend.NamedDataStore)
		key, err := store.AddConstant(p.Methods[0].Graph.Inputs[0].Const, 16, "")
		return &backend.PreprocessResult{ProcessedBytes: []byte("a" + key + exir.KeyPrefix + "bc" + key), NamedData: store}, err
	}
	p := program(t, text)
	r, err := Run(p, entriesOf(s), &backend.Context{})
	if err != nil {
		t.Fatal(err)
	}
	places := r.Modules[0].Processed.Places
	if len(places) != 2 || places[0].Offset != 1 || places[1].Offset != 1+exir.KeyLength+len(exir.KeyPrefix)+2 || len(p.NamedData) != 1 {
		t.Errorf("places are %v, named data %v", places, p.NamedData)
	}
}
