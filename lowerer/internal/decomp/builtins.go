package decomp

import (
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// builtins are the functions of rules that are no operators.
var builtins = map[string]func(e *env, args []any) any{
	// rank(x), size(x, dim), dtype(x) and numel(x) of a tensor.
	"rank":  func(_ *env, a []any) any { return int64(rank(tensorArg(a, 0))) },
	"size":  func(_ *env, a []any) any { return size(tensorArg(a, 0), int(intArg(a, 1))) },
	"dtype": func(_ *env, a []any) any { return tensorArg(a, 0).Spec.DType },
	"numel": func(e *env, a []any) any { return e.c.shapes().Product(tensorArg(a, 0).Spec.Sizes) },
	// sizes(x) is the list of them.
	"sizes": func(_ *env, a []any) any { return anys(tensorArg(a, 0).Spec.Sizes) },
	// broadcast(a, b) are the sizes that two lists of them broadcast to.
	"broadcast": func(e *env, a []any) any { return anys(e.c.broadcast(ints(a[0]), ints(a[1]))) },
	// dims(x) is [0, 1, … rank-1].
	"dims": func(_ *env, a []any) any { return anys(iota64(rank(tensorArg(a, 0)))) },
	// wrap(dim, x) counts dim from the front.
	"wrap": func(_ *env, a []any) any { return int64(dim(int(intArg(a, 0)), rank(tensorArg(a, 1)))) },
	// to(x, dtype) converts; None keeps the type.
	"to": func(e *env, a []any) any {
		if a[1] == nil {
			return tensorArg(a, 0)
		}
		return e.c.to(tensorArg(a, 0), a[1].(tensor.ScalarType))
	},
	// view(x, sizes) reshapes; None as x gives None.
	"view": func(e *env, a []any) any {
		if a[0] == nil {
			return nil
		}
		return e.c.view(tensorArg(a, 0), ints(a[1])...)
	},
	// expand(x, sizes) broadcasts; unsqueeze(x, dim); squeeze(x, dim); slice(x, dim, start, end).
	"expand":    func(e *env, a []any) any { return e.c.expand(tensorArg(a, 0), ints(a[1])) },
	"unsqueeze": func(e *env, a []any) any { return e.c.unsqueeze(tensorArg(a, 0), int(intArg(a, 1))) },
	"squeeze":   func(e *env, a []any) any { return e.c.squeeze(tensorArg(a, 0), int(intArg(a, 1))) },
	"transpose": func(e *env, a []any) any {
		return e.c.transpose(tensorArg(a, 0), int(intArg(a, 1)), int(intArg(a, 2)))
	},
	"slice": func(e *env, a []any) any {
		return e.c.slice(tensorArg(a, 0), int(intArg(a, 1)), intArg(a, 2), intArg(a, 3))
	},
	// nonempty(x, dims, fill) is x with one more element in each of dims whose size is known only at run time.
	"nonempty": func(e *env, a []any) any { return e.c.nonempty(tensorArg(a, 0), ints(a[1]), float(a[2])) },
	// float(x) converts an integral tensor to float32.
	"float": func(e *env, a []any) any {
		v := tensorArg(a, 0)
		if v.Spec.DType.IsFloat() {
			return v
		}
		return e.c.to(v, tensor.Float)
	},
	// isfloat(x) says whether a tensor, a type or a number is floating-point.
	"isfloat": func(_ *env, a []any) any { return typeOf(a[0]).IsFloat() },
	// lit(number, x) is a 0-dim constant of x's type; number(n, x) one of the type that n has beside x.
	"lit": func(e *env, a []any) any { return e.c.number(typeOf(a[1]), a[0]) },
	"number": func(e *env, a []any) any {
		t := typeOf(a[1])
		if own := typeOf(a[0]); category(own) > category(t) {
			t = own
		}
		return e.c.number(t, a[0])
	},
	// wrapped(n) is a 0-dim constant of n's own type.
	"wrapped": func(e *env, a []any) any { return e.c.number(typeOf(a[0]), a[0]) },
	// count(n) is the tensor [0, 1, … n-1] of int64.
	"count": func(e *env, a []any) any { return e.c.arange(intArg(a, 0)) },
	// lowest(x) and highest(x) are the limits of a floating-point type.
	"lowest":    func(_ *env, a []any) any { lo, _ := limits(typeOf(a[0])); return lo },
	"highest":   func(_ *env, a []any) any { _, hi := limits(typeOf(a[0])); return hi },
	"len":       func(_ *env, a []any) any { list, _ := a[0].([]any); return int64(len(list)) },
	"sqrtn":     func(_ *env, a []any) any { return math.Sqrt(float(a[0])) },
	"factorial": func(_ *env, a []any) any { return factorial(intArg(a, 0)) },
	"logn":      func(_ *env, a []any) any { return scalarmath.Log(float(a[0])) },
	"pown":      func(_ *env, a []any) any { return scalarmath.Pow(float(a[0]), float(a[1])) },
	// vector(x) is x, or a vector of one element for a number.
	"vector": func(e *env, a []any) any { return e.c.vector(tensorArg(a, 0)) },
	// areas(y, x, dim) are twice the areas of the trapezoids under y at places x, which may be None.
	"areas": func(e *env, a []any) any {
		x, _ := a[1].(*exir.Value)
		return e.c.areas(tensorArg(a, 0), x, int(intArg(a, 2)))
	},
	// alpha_dropped(x, p, sizes) drops whole parts of x: those that broadcasting sizes to x's makes.
	"alpha_dropped": func(e *env, a []any) any { return e.c.alphaDropped(tensorArg(a, 0), float(a[1]), ints(a[2])) },
	// steps(x) is how many whole numbers from 0 on x's type holds one by one.
	"steps": func(_ *env, a []any) any { return wholeNumbers(typeOf(a[0])) },
	// reduced(x, reduction) is x for 0, its mean for 1 and its sum for 2, as ATen counts reductions.
	"reduced": func(e *env, a []any) any {
		v := tensorArg(a, 0)
		switch intArg(a, 1) {
		case 1:
			return e.c.op("mean", v)
		case 2:
			return e.c.op("sum", v)
		}
		return v
	},
	// part(list, from, to) is a part of a list.
	"part": func(_ *env, a []any) any {
		list, _ := a[0].([]any)
		from, to := min(intArg(a, 1), int64(len(list))), min(intArg(a, 2), int64(len(list)))
		return append([]any(nil), list[from:max(from, to)]...)
	},
	// each(op, list, …) calls the operator named op on every tensor of a list, with the other arguments.
	"each": func(e *env, a []any) any {
		var out []any
		for _, v := range a[1].([]any) {
			args := []any{v}
			for _, x := range a[2:] {
				args = append(args, toArg(x))
			}
			out = append(out, e.c.op(a[0].(string), args...))
		}
		return out
	},
}

func tensorArg(a []any, i int) *exir.Value {
	v, ok := a[i].(*exir.Value)
	if !ok {
		failf("argument %d is %T, want a tensor", i, a[i])
	}
	return v
}

func intArg(a []any, i int) int64 {
	n, ok := a[i].(int64)
	if !ok {
		failf("argument %d is %T, want an integer", i, a[i])
	}
	return n
}

func anys(ns []int64) []any {
	list := make([]any, len(ns))
	for i, n := range ns {
		list[i] = n
	}
	return list
}

func ints(x any) []int64 {
	list, _ := x.([]any)
	ns := make([]int64, len(list))
	for i := range list {
		ns[i] = intArg(list, i)
	}
	return ns
}

// typeOf is the type of a tensor, or that PyTorch gives a number.
func typeOf(x any) tensor.ScalarType {
	switch x := x.(type) {
	case *exir.Value:
		return x.Spec.DType
	case tensor.ScalarType:
		return x
	case float64:
		return tensor.Float
	case bool:
		return tensor.Bool
	}
	return tensor.Long
}

func category(t tensor.ScalarType) int {
	switch {
	case t == tensor.Bool:
		return 0
	case t.IsFloat():
		return 2
	}
	return 1
}

// factorial is n!, in float64.
func factorial(n int64) float64 {
	f := 1.0
	for i := int64(2); i <= n && f < math.MaxFloat64; i++ {
		f *= float64(i)
	}
	return f
}

// wholeNumbers counts the integers 0, 1, 2 … that t holds without a gap, 2⁵³ of them at most.
func wholeNumbers(t tensor.ScalarType) int64 {
	switch t {
	case tensor.Bool:
		return 2
	case tensor.Char:
		return 1 << 7
	case tensor.Byte, tensor.BFloat16:
		return 1 << 8
	case tensor.Half:
		return 1 << 11
	case tensor.Short:
		return 1 << 15
	case tensor.Float:
		return 1 << 24
	case tensor.Int:
		return 1 << 31
	}
	return 1 << 53
}
