package passes

import (
	"fmt"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pythonRules say what becomes of Python's operators that have no prim op of their name, or not for all numbers. A rule
// returns the number that the operator computes.
var pythonRules = map[string]func(b *binder, n *exir.Node) exir.Arg{
	"ne": func(b *binder, n *exir.Node) exir.Arg {
		return b.prim(exir.SymBool, "sym_not", b.prim(exir.SymBool, "eq", n.Args...))
	},
	"not_": func(b *binder, n *exir.Node) exir.Arg { return b.prim(exir.SymBool, "sym_not", n.Args...) },
	"pos":  func(b *binder, n *exir.Node) exir.Arg { return b.prim(n.Outs[0].Kind, "add", n.Args[0], exir.ToArg(0)) },
	"and_": func(b *binder, n *exir.Node) exir.Arg {
		return b.logic(n, "aten::bitwise_and.Tensor", n.Args[0], n.Args[1], n.Args[0])
	},
	"or_": func(b *binder, n *exir.Node) exir.Arg {
		return b.logic(n, "aten::bitwise_or.Tensor", n.Args[0], n.Args[0], n.Args[1])
	},
	"lshift": func(b *binder, n *exir.Node) exir.Arg {
		return b.prim(exir.SymInt, "mul", n.Args[0], b.power(exir.SymInt, exir.ToArg(2), n.Args[1]))
	},
	"rshift": func(b *binder, n *exir.Node) exir.Arg {
		return b.prim(exir.SymInt, "floordiv", n.Args[0], b.power(exir.SymInt, exir.ToArg(2), n.Args[1]))
	},
	"floor":    func(b *binder, n *exir.Node) exir.Arg { return b.floor(n.Args[0]) },
	"mod":      (*binder).modulo,
	"pow":      func(b *binder, n *exir.Node) exir.Arg { return b.power(n.Outs[0].Kind, n.Args[0], n.Args[1]) },
	"sym_sqrt": func(b *binder, n *exir.Node) exir.Arg { return b.sqrt(n.Args[0]) },
}

// python makes a prim op, or several, of one of Python's operators on numbers.
func (b *binder) python(n *exir.Node) error {
	base := strings.TrimPrefix(n.Op.Name, "python::")
	if rule := pythonRules[base]; rule != nil {
		b.same(n, rule(b, n))
		return nil
	}
	s := exir.LookupSchema("executorch_prim::" + base + ".Scalar")
	if s == nil {
		return fmt.Errorf("%s has no prim op", n.Op.Name)
	}
	n.Op = s
	b.nodes = append(b.nodes, n)
	return nil
}

// same makes n, which keeps its result, of the node that was appended last and computes got; of a plain number, a sum.
func (b *binder) same(n *exir.Node, got exir.Arg) {
	if last := len(b.nodes) - 1; got.Kind == exir.ArgValue && last >= 0 && b.nodes[last].Outs[0] == got.Value {
		n.Op, n.Args = b.nodes[last].Op, b.nodes[last].Args
		b.nodes = b.nodes[:last]
	} else {
		n.Op, n.Args = exir.MustSchema("executorch_prim::add.Scalar"), []exir.Arg{got, exir.ToArg(0)}
	}
	b.nodes = append(b.nodes, n)
}

// prim appends a prim op whose result is of this kind.
func (b *binder) prim(kind exir.ValueKind, name string, args ...exir.Arg) exir.Arg {
	v := b.call("executorch_prim::"+name+".Scalar", 0, args...)
	v.Kind = kind
	return exir.ToArg(v)
}

func isFloat(a exir.Arg) bool {
	return a.Kind == exir.ArgFloat || a.Kind == exir.ArgValue && a.Value.Kind == exir.SymFloat
}

// floor is the largest integer that is not above a.
func (b *binder) floor(a exir.Arg) exir.Arg {
	return b.prim(exir.SymInt, "sym_int", b.prim(exir.SymFloat, "floordiv", a, exir.ToArg(1.0)))
}

// modulo is the prim op of integers, and for others, of which it knows nothing, a - b·⌊a/b⌋.
func (b *binder) modulo(n *exir.Node) exir.Arg {
	x, y := n.Args[0], n.Args[1]
	if !isFloat(x) && !isFloat(y) {
		return b.prim(exir.SymInt, "mod", x, y)
	}
	whole := b.prim(exir.SymFloat, "floordiv", x, y)
	return b.prim(exir.SymFloat, "sub", x, b.prim(exir.SymFloat, "mul", y, whole))
}

// logic is yes where the condition holds and no elsewhere; of integers, their bits by the operator op.
func (b *binder) logic(n *exir.Node, op string, cond, yes, no exir.Arg) exir.Arg {
	if n.Outs[0].Kind == exir.SymBool {
		return b.prim(exir.SymBool, "sym_ite", cond, yes, no)
	}
	return b.item(exir.SymInt, b.tensor(tensor.Long, op, b.full(tensor.Long, n.Args[0]), b.full(tensor.Long, n.Args[1])))
}

// maxFactors is up to which exponent a power of an integer is a product.
const maxFactors = 16

// power is base to the power exponent; there is no prim op of it.
func (b *binder) power(kind exir.ValueKind, base, exponent exir.Arg) exir.Arg {
	if kind == exir.SymInt && exponent.Kind == exir.ArgInt && exponent.Int > 0 && exponent.Int <= maxFactors {
		product := base
		for range exponent.Int - 1 {
			product = b.prim(exir.SymInt, "mul", product, base)
		}
		return product
	}
	dtype := tensor.Double
	if kind == exir.SymInt {
		dtype = tensor.Long
	}
	return b.item(kind, b.tensor(dtype, "aten::pow.Tensor_Tensor", b.full(dtype, base), b.full(dtype, exponent)))
}

func (b *binder) sqrt(a exir.Arg) exir.Arg {
	return b.item(exir.SymFloat, b.tensor(tensor.Double, "aten::sqrt", b.full(tensor.Double, a)))
}

// full is a tensor of no dimensions with the number a.
func (b *binder) full(dtype tensor.ScalarType, a exir.Arg) exir.Arg {
	return exir.ToArg(b.tensor(dtype, "aten::full", exir.ToArg([]int64{}), a, exir.ToArg(dtype)))
}

// tensor appends a node that computes a tensor of no dimensions; arguments that are not given have their defaults.
func (b *binder) tensor(dtype tensor.ScalarType, name string, args ...exir.Arg) *exir.Value {
	v := b.call(name, 0, args...)
	for _, p := range v.Node.Op.Args[len(args):] {
		v.Node.Args = append(v.Node.Args, p.Default)
	}
	v.Kind, v.Spec = exir.TensorValue, tensor.Meta{DType: dtype}
	return v
}

// item is the number in a tensor.
func (b *binder) item(kind exir.ValueKind, v *exir.Value) exir.Arg {
	n := b.call("aten::_local_scalar_dense", 0, exir.ToArg(v))
	n.Kind = kind
	return exir.ToArg(n)
}

// rounding is the rounded real number r, equal to d; op is symint's name of the rounding.
func (b *binder) rounding(d tensor.Dim, op string, r *symint.Real) (exir.Arg, error) {
	x, err := b.real(r)
	if err != nil {
		return exir.Arg{}, err
	}
	v := exir.Arg{}
	if op == "floor" {
		v = b.floor(x)
	} else {
		v = b.prim(exir.SymInt, op, x)
	}
	v.Value.Sym = d
	b.known[d] = v.Value
	return v, nil
}

// real computes r.
func (b *binder) real(r *symint.Real) (exir.Arg, error) {
	switch r.Op {
	case "const":
		return exir.ToArg(r.Value), nil
	case "int":
		return b.value(r.Dim)
	}
	acc, err := b.real(r.Args[0])
	if r.Op == "sqrt" && err == nil {
		return b.sqrt(acc), nil
	}
	for _, a := range r.Args[1:] {
		var x exir.Arg
		if err == nil {
			x, err = b.real(a)
		}
		if err != nil {
			return exir.Arg{}, err
		}
		switch r.Op {
		case "pow":
			acc = b.power(exir.SymFloat, acc, x)
		case "max", "min":
			acc = b.prim(exir.SymFloat, "sym_"+r.Op, acc, x)
		default:
			acc = b.prim(exir.SymFloat, r.Op, acc, x)
		}
	}
	return acc, err
}
