package decomp

import (
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// What an expression can be while a rule runs: *exir.Value, int64 (perhaps a
// symbolic Dim), float64, bool, string, tensor.ScalarType, nil, []any.

var constants = map[string]any{
	"None": nil, "True": true, "False": false, "inf": math.Inf(1), "nan": math.NaN(), "pi": math.Pi, "ln2": math.Ln2,
	"float16": tensor.Half, "float32": tensor.Float, "float64": tensor.Double, "int64": tensor.Long, "int32": tensor.Int, "bool": tensor.Bool,
	"uint8": tensor.Byte,
}

// env is the names of one rule's run.
type env struct {
	c    *call
	vars map[string]any
}

// apply runs r on the arguments of c.
func (r *rule) apply(c *call) []*exir.Value {
	e := &env{c: c, vars: map[string]any{}}
	narrow := tensor.Undefined
	for _, p := range r.params {
		e.vars[p] = fromArg(c.arg(p))
		if v, ok := e.vars[p].(*exir.Value); ok && r.wide && v.Spec.DType.IsFloat() {
			narrow = op.Promote(narrow, v.Spec.DType)
		}
	}
	if narrow == tensor.Half || narrow == tensor.BFloat16 {
		return r.widened(e, narrow)
	}
	return r.run(e)
}

// widened runs r in float32 for arguments of a narrower type, which its floating-point results have unless its argument
// dtype names another.
func (r *rule) widened(e *env, narrow tensor.ScalarType) []*exir.Value {
	result := narrow
	if t, ok := e.vars["dtype"].(tensor.ScalarType); ok {
		result = t
		e.vars["dtype"] = op.Promote(t, tensor.Float)
	}
	for _, p := range r.params {
		if v, ok := e.vars[p].(*exir.Value); ok && v.Spec.DType == narrow {
			e.vars[p] = e.c.to(v, tensor.Float)
		}
	}
	outs := r.run(e)
	for i, v := range outs {
		if v != nil && v.Spec.DType == tensor.Float {
			outs[i] = e.c.to(v, result)
		}
	}
	return outs
}

// run evaluates r.
func (r *rule) run(e *env) []*exir.Value {
	for _, l := range r.lets {
		e.vars[l.name] = e.eval(l.value)
	}
	switch v := e.eval(r.result).(type) {
	case *exir.Value:
		return one(v)
	case []any:
		outs := make([]*exir.Value, len(v))
		for i := range v {
			outs[i], _ = v[i].(*exir.Value)
		}
		return outs
	}
	failf("the rule gives no tensor")
	return nil
}

func fromArg(a exir.Arg) any {
	switch a.Kind {
	case exir.ArgValue:
		if a.Value.Kind == exir.SymInt {
			return a.Value.Sym
		}
		return a.Value
	case exir.ArgInt:
		return a.Int
	case exir.ArgFloat:
		return a.Float
	case exir.ArgBool:
		return a.Int != 0
	case exir.ArgString:
		return a.Str
	case exir.ArgDType:
		return tensor.ScalarType(a.Int)
	case exir.ArgList:
		list := make([]any, len(a.List))
		for i := range list {
			list[i] = fromArg(a.List[i])
		}
		return list
	case exir.ArgNone:
		return nil
	}
	return a
}

func toArg(x any) exir.Arg {
	if list, ok := x.([]any); ok {
		a := exir.Arg{Kind: exir.ArgList, List: make([]exir.Arg, len(list))}
		for i := range list {
			a.List[i] = toArg(list[i])
		}
		return a
	}
	return exir.ToArg(x)
}

func (e *env) eval(x *expr) any {
	switch x.kind {
	case "value":
		return x.num
	case "name":
		v, ok := e.vars[x.name]
		if !ok {
			failf("unknown name %s", x.name)
		}
		return v
	case "list", "tuple":
		return e.all(x.args)
	case "call":
		return e.call(x)
	case "index":
		list, _ := e.eval(x.args[0]).([]any)
		i := e.eval(x.args[1]).(int64)
		if i < 0 || int(i) >= len(list) {
			failf("index %d of %d", i, len(list))
		}
		return list[i]
	case "if":
		if truth(e.eval(x.args[0])) {
			return e.eval(x.args[1])
		}
		return e.eval(x.args[2])
	case "isnone":
		return e.eval(x.args[0]) == nil
	case "not":
		return !truth(e.eval(x.args[0]))
	case "neg":
		return e.negative(e.eval(x.args[0]))
	case "and":
		return truth(e.eval(x.args[0])) && truth(e.eval(x.args[1]))
	case "or": // as in Python the first that counts as true; a type always does
		if v := e.eval(x.args[0]); truth(v) {
			return v
		}
		return e.eval(x.args[1])
	}
	return e.binary(x.kind, e.eval(x.args[0]), e.eval(x.args[1]))
}

func (e *env) all(args []*expr) []any {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = e.eval(a)
	}
	return list
}

func truth(x any) bool {
	switch x := x.(type) {
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case []any:
		return len(x) > 0
	}
	return x != nil
}

func (e *env) call(x *expr) any {
	args := e.all(x.args)
	if f, ok := builtins[x.name]; ok {
		return f(e, args)
	}
	bound := make([]any, len(args))
	for i, a := range args {
		bound[i] = toArg(a)
		if x.keys[i] != "" {
			bound[i] = exir.KW{Name: x.keys[i], Arg: bound[i]}
		}
	}
	outs := e.c.ops(x.name, bound...)
	if len(exir.MustSchema(qualified(x.name)).Returns) == 1 && len(outs) == 1 {
		return outs[0]
	}
	list := make([]any, len(outs))
	for i := range outs {
		list[i] = outs[i]
	}
	return list
}

func (e *env) negative(x any) any {
	switch x := x.(type) {
	case int64:
		return e.c.shapes().Mul(x, -1)
	case float64:
		return -x
	case *exir.Value:
		return e.c.op("neg", x)
	}
	failf("cannot negate %v", x)
	return nil
}

// infix names the tensor operators of the infix ones.
var infix = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "div", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}

// mirrored is the operator that gives b op a for a op b.
var mirrored = map[string]string{"+": "+", "*": "*", "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (e *env) binary(op string, a, b any) any {
	va, isA := a.(*exir.Value)
	vb, isB := b.(*exir.Value)
	switch {
	case isA && isB:
		return e.c.op(infix[op]+".Tensor", va, vb)
	case isA:
		return e.withNumber(op, va, b)
	case isB && mirrored[op] != "":
		return e.withNumber(mirrored[op], vb, a)
	case isB && op == "-":
		return e.c.op("rsub.Scalar", vb, toArg(a))
	case isB && op == "/":
		return e.withNumber("*", e.c.op("reciprocal", vb), a)
	}
	if la, ok := a.([]any); ok {
		return joinLists(op, la, b)
	}
	return e.numbers(op, a, b)
}

// withNumber is v op x, without the operators that change nothing.
func (e *env) withNumber(op string, v *exir.Value, x any) any {
	if op == "*" && isOne(x, v) {
		return v
	}
	return e.c.op(infix[op]+".Scalar", v, toArg(x))
}

// isOne reports a factor 1 that does not change v's type.
func isOne(x any, v *exir.Value) bool {
	n, isInt := x.(int64)
	f, isFloat := x.(float64)
	return isInt && n == 1 && v.Spec.DType != tensor.Bool || isFloat && f == 1 && v.Spec.DType.IsFloat()
}

func joinLists(op string, a []any, b any) any {
	switch b := b.(type) {
	case []any:
		if op == "+" {
			return append(append([]any(nil), a...), b...)
		}
	case int64:
		if op == "*" {
			var list []any
			for range b {
				list = append(list, a...)
			}
			return list
		}
	}
	failf("lists do not have %s", op)
	return nil
}

func (e *env) numbers(op string, a, b any) any {
	na, aInt := a.(int64)
	nb, bInt := b.(int64)
	switch {
	case op == "==" && !(aInt && bInt):
		return equal(a, b)
	case op == "!=" && !(aInt && bInt):
		return !equal(a, b)
	case aInt && bInt && op != "/":
		return e.dims(op, na, nb)
	}
	return floats(op, float(a), float(b))
}

func equal(a, b any) bool {
	if _, ok := a.(string); ok {
		return a == b
	}
	if _, ok := a.(tensor.ScalarType); ok {
		return a == b
	}
	return float(a) == float(b)
}

func float(x any) float64 {
	switch x := x.(type) {
	case int64:
		if tensor.IsSymbol(x) {
			failf("a size that is known only at run time is no plain number")
		}
		return float64(x)
	case float64:
		return x
	case bool:
		if x {
			return 1
		}
		return 0
	}
	failf("%v is no number", x)
	return 0
}

// dims does arithmetic on sizes. A comparison that is not known is false.
func (e *env) dims(op string, a, b int64) any {
	s := e.c.shapes()
	switch op {
	case "+":
		return s.Add(a, b)
	case "-":
		return s.Sub(a, b)
	case "*":
		return s.Mul(a, b)
	case "//":
		return s.FloorDiv(a, b)
	case "==":
		return s.Equal(a, b) == tensor.Yes
	case "!=":
		return s.Equal(a, b) == tensor.No
	case "<":
		return s.Less(a, b) == tensor.Yes
	case ">":
		return s.Less(b, a) == tensor.Yes
	case "<=":
		return s.Less(b, a) == tensor.No
	case ">=":
		return s.Less(a, b) == tensor.No
	}
	failf("integers do not have %s", op)
	return nil
}

func floats(op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	failf("numbers do not have %s", op)
	return nil
}
