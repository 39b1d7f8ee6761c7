package functionalize

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func value(v *exir.Value) exir.Arg { return exir.Arg{Kind: exir.ArgValue, Value: v} }

func integer(n int64) exir.Arg { return exir.Arg{Kind: exir.ArgInt, Int: n} }

func dtype(t tensor.ScalarType) exir.Arg { return exir.Arg{Kind: exir.ArgDType, Int: int64(t)} }

func integers(ns []int64) exir.Arg {
	a := exir.Arg{Kind: exir.ArgList, List: make([]exir.Arg, len(ns))}
	for i, n := range ns {
		a.List[i] = integer(n)
	}
	return a
}

// argOf is the argument of n called name; none if there is no such.
func argOf(n *exir.Node, name string) exir.Arg {
	if i := n.Op.Arg(name); i >= 0 && i < len(n.Args) {
		return n.Args[i]
	}
	return exir.Arg{}
}

// intOf is the integer argument called name.
func intOf(n *exir.Node, name string) int64 {
	a := argOf(n, name)
	if a.Kind == exir.ArgValue && a.Value.Kind == exir.SymInt {
		return a.Value.Sym
	}
	return a.Int
}

// dimOf is the dimension argument called name, counted from the front.
func dimOf(n *exir.Node, name string, rank int) int {
	d := int(intOf(n, name))
	if d < 0 {
		d += rank
	}
	return d
}

// dimsOf is the argument called name, one dimension or a list of them, counted from the front.
func dimsOf(n *exir.Node, name string, rank int) []int64 {
	a := argOf(n, name)
	list := a.List
	if a.Kind != exir.ArgList {
		list = []exir.Arg{a}
	}
	dims := make([]int64, len(list))
	for i, d := range list {
		dims[i] = d.Int
		if d.Int < 0 {
			dims[i] += int64(rank)
		}
	}
	return dims
}

// viewSizes are the sizes for view_copy: a lone symbolic one is left to be inferred.
func viewSizes(sizes []tensor.Dim) exir.Arg {
	lone, zero := -1, false
	for i, d := range sizes {
		switch {
		case tensor.IsSymbol(d) && lone >= 0:
			return integers(sizes)
		case tensor.IsSymbol(d):
			lone = i
		case d == 0:
			zero = true
		}
	}
	if lone < 0 || zero {
		return integers(sizes)
	}
	out := append([]int64(nil), sizes...)
	out[lone] = -1
	return integers(out)
}
