package decomp

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var names = flag.String("names", "", "write the names of the operators without a case to this file, for tools/oracle/rules.py")

// ruleCase is a line of testdata/rules.jsonl: an operator, random arguments, and what PyTorch computes.
type ruleCase struct {
	Op     string
	Args   map[string]ruleValue
	Outs   []ruleValue
	Random bool // only types and sizes can be compared
}

// ruleValue is an argument or result; one without any field is None.
type ruleValue struct {
	DType string
	Sizes []int64
	Data  []any // numbers, truth values, and "nan", "inf" and "-inf"
	Type  string
	Bool  *bool
	Int   *int64
	Float *float64
	Str   *string
	List  []ruleValue
}

// uncovered are the operators without a case, and why.
var uncovered = map[string]string{
	"aten::log_sigmoid_forward":           "eager mode gives its buffer, which nothing reads, another size than export",
	"aten::repeat_interleave.self_Tensor": "the size of its result depends on values",
	"aten::allclose":                      "its result is no tensor",
	"aten::geometric":                     "writes random numbers; the generator finds no arguments",
	"aten::max_unpool3d":                  "the generator finds no arguments",
	"aten::nonzero_static":                "PyTorch's own kernel is on GPUs only",
	"torchao::choose_qparams_affine":      "PyTorch without torchao has no such operator",
	"torchao::dequantize_affine":          "PyTorch without torchao has no such operator",
	"torchao::quantize_affine":            "PyTorch without torchao has no such operator",
}

// TestRules holds the right side of every rule, and what every function makes, against PyTorch's left side, on random
// arguments. Every rule and function has a case, or a reason in uncovered.
func TestRules(t *testing.T) {
	all := composites()
	seen := map[string]bool{}
	for _, c := range readCases(t, "testdata/rules.jsonl") {
		seen[c.Op] = true
		if !slices.Contains(all, c.Op) {
			t.Errorf("%s has a case, and neither a rule nor a function", c.Op)
			continue
		}
		t.Run(c.Op, func(t *testing.T) {
			if err := c.check(t); err != nil {
				t.Error(err)
			}
		})
	}
	var missing []string
	for _, name := range all {
		switch reason := uncovered[name]; {
		case !seen[name] && reason == "":
			t.Errorf("%s has no case: tools/oracle/rules.py makes one", name)
			missing = append(missing, name)
		case seen[name] && reason != "":
			t.Errorf("%s has a case, and a reason to have none", name)
		}
	}
	if *names != "" {
		if err := os.WriteFile(*names, []byte(strings.Join(missing, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// composites are the names of all rules and functions, sorted.
func composites() []string {
	var all []string
	for name := range ruleTable() {
		all = append(all, name)
	}
	for name := range funcs {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// TestUnsigned holds operators of uint16, uint32 and uint64, for which there are no kernels, against PyTorch's.
func TestUnsigned(t *testing.T) {
	for _, c := range readCases(t, "testdata/unsigned.jsonl") {
		t.Run(c.Op+"/"+c.Args["self"].DType, func(t *testing.T) {
			if err := c.check(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnsignedFloats lists calls with uint64 and floats, which int64 makes of other numbers from 2^63 on.
func TestUnsignedFloats(t *testing.T) {
	value := func(dtype tensor.ScalarType) exir.Arg {
		return exir.Arg{Kind: exir.ArgValue, Value: &exir.Value{Spec: tensor.Meta{DType: dtype, Sizes: []int64{2}}}}
	}
	large, number, half := value(tensor.UInt64), value(tensor.Float), exir.Arg{Kind: exir.ArgFloat, Float: 0.5}
	float, none := exir.Arg{Kind: exir.ArgDType, Int: int64(tensor.Float)}, exir.Arg{}
	r := &rewriter{d: &decomposer{program: &exir.Program{Shapes: &tensor.Shapes{Table: symint.NewTable()}}}}
	for name, args := range map[string][]exir.Arg{
		"aten::mul.Scalar": {large, half}, "aten::mul.Tensor": {large, number}, "aten::eq.Scalar": {large, half},
		"aten::eq.Tensor": {number, large}, "aten::where.self": {value(tensor.Bool), large, number},
		"aten::prod": {large, float}, "aten::cumsum": {large, {Kind: exir.ArgInt}, float},
		"aten::sum.dim_IntList": {large, none, {Kind: exir.ArgBool}, float},
	} {
		if r.widens(exir.LookupSchema(name), args) {
			t.Errorf("%s is computed in int64", name)
		}
	}
	for _, name := range []string{"aten::mul.Tensor", "aten::eq.Tensor"} {
		if !r.widens(exir.LookupSchema(name), []exir.Arg{large, large}) {
			t.Errorf("%s of uint64 alone is not computed in int64", name)
		}
	}
}

func readCases(t *testing.T, file string) (list []ruleCase) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c ruleCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// check decomposes a graph with the operator alone, evaluates it, and compares.
func (c *ruleCase) check(t *testing.T) error {
	g := &exir.Graph{}
	n := &exir.Node{Name: "n", Op: exir.LookupSchema(c.Op)}
	n.Origin.Method = "forward"
	for _, p := range n.Op.Args {
		v, given := c.Args[p.Name]
		if !given {
			n.Args = append(n.Args, p.Default)
			continue
		}
		n.Args = append(n.Args, v.arg(g, p.Type))
	}
	if strings.Contains(c.Op, "embedding_bag") {
		c.Outs = c.Outs[:1] // the others are for training
		n.Outs = make([]*exir.Value, len(n.Op.Returns)-1)
	}
	for i := range c.Outs {
		v := &exir.Value{Name: fmt.Sprintf("out%d", i), Spec: c.Outs[i].meta(), Node: n}
		n.Outs = slices.Insert(n.Outs, i, v)
		g.Outputs = append(g.Outputs, exir.Arg{Kind: exir.ArgValue, Value: v})
	}
	g.Nodes = []*exir.Node{n}
	m := &exir.Method{Name: "forward", Graph: g, Outputs: make([]exir.OutputSpec, len(g.Outputs))}
	p := &exir.Program{Methods: []*exir.Method{m}, Shapes: &tensor.Shapes{Table: symint.NewTable()}}
	if err := Run(p, m, nil); err != nil {
		return err
	}
	if c.Random {
		return nil // Run has compared the types and sizes
	}
	return c.compare(t, m.Graph)
}

// compare evaluates the graph and holds its outputs against the case.
func (c *ruleCase) compare(t *testing.T, g *exir.Graph) error {
	s := &scratch.Scratch{}
	t.Cleanup(func() { s.Close() })
	eval := pack.Evaluator(nil, s)
	for _, n := range g.Nodes {
		for i, v := range n.Outs {
			if v != nil {
				v.Const = &exir.Constant{Name: v.Name, Meta: v.Spec, Node: &exir.ConstExpr{Op: n.Op, Args: n.Args, Out: i}}
			}
		}
	}
	for i := range c.Outs {
		b, err := eval(g.Outputs[i].Value.Const)
		if err != nil {
			return fmt.Errorf("evaluate output %d: %w", i, err)
		}
		m := c.Outs[i].meta()
		if err := golden.Same(&tensor.Tensor{Meta: m, Data: b}, &tensor.Tensor{Meta: m, Data: c.Outs[i].bytes()}, 1e-5, 2e-5); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func (v *ruleValue) meta() tensor.Meta {
	return tensor.Meta{DType: tensor.ParseScalarType(v.DType), Sizes: slices.Clone(v.Sizes)}
}

// arg is v as an argument of this type; a tensor becomes an input of g with its bytes.
func (v *ruleValue) arg(g *exir.Graph, typ string) exir.Arg {
	switch {
	case v.DType != "":
		x := &exir.Value{Name: fmt.Sprintf("in%d", len(g.Inputs)), Spec: v.meta()}
		x.Const = &exir.Constant{Name: x.Name, Meta: x.Spec, Data: v.bytes(), Literal: true}
		g.Inputs = append(g.Inputs, x)
		return exir.Arg{Kind: exir.ArgValue, Value: x}
	case v.Type != "":
		return exir.Arg{Kind: exir.ArgDType, Int: int64(tensor.ParseScalarType(v.Type))}
	case v.Bool != nil && *v.Bool:
		return exir.Arg{Kind: exir.ArgBool, Int: 1}
	case v.Bool != nil:
		return exir.Arg{Kind: exir.ArgBool}
	case v.Int != nil && strings.HasPrefix(typ, "float"):
		return exir.Arg{Kind: exir.ArgFloat, Float: float64(*v.Int)}
	case v.Int != nil && strings.Contains(typ, "[]"):
		return exir.Arg{Kind: exir.ArgList, List: []exir.Arg{{Kind: exir.ArgInt, Int: *v.Int}}}
	case v.Int != nil:
		return exir.Arg{Kind: exir.ArgInt, Int: *v.Int}
	case v.Float != nil:
		return exir.Arg{Kind: exir.ArgFloat, Float: *v.Float}
	case v.Str != nil:
		return exir.Arg{Kind: exir.ArgString, Str: *v.Str}
	case v.List != nil:
		list := exir.Arg{Kind: exir.ArgList}
		for i := range v.List {
			list.List = append(list.List, v.List[i].arg(g, strings.TrimSuffix(strings.TrimSuffix(typ, "?"), "[]")))
		}
		return list
	}
	return exir.Arg{}
}

// number is element i; a truth value is 0 or 1.
func (v *ruleValue) number(i int) float64 {
	switch x := v.Data[i].(type) {
	case float64:
		return x
	case bool:
		if x {
			return 1
		}
		return 0
	}
	return map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[v.Data[i].(string)]
}

func (v *ruleValue) bytes() []byte {
	t := v.meta().DType
	b := []byte{}
	for i := range v.Data {
		if t.IsFloat() {
			b = append(b, exir.EncodeFloat(t, v.number(i))...)
		} else {
			b = append(b, exir.EncodeInt(t, int64(v.number(i)))...)
		}
	}
	return b
}
