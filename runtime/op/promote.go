package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// promoteOrder ranks the element types for promotion.
func promoteOrder(t tensor.ScalarType) int {
	switch t {
	case tensor.Bool:
		return 0
	case tensor.Byte:
		return 1
	case tensor.Char:
		return 2
	case tensor.Short:
		return 3
	case tensor.Int:
		return 4
	case tensor.Long:
		return 5
	case tensor.Half:
		return 6
	case tensor.BFloat16:
		return 7
	case tensor.Float:
		return 8
	case tensor.Double:
		return 9
	}
	return -1
}

// Promote is torch.promote_types: the smallest type that holds a and b.
// Undefined is the neutral element. The unsigned types above Byte promote only with themselves, Bool and floats.
func Promote(a, b tensor.ScalarType) tensor.ScalarType {
	switch {
	case a == b || b == tensor.Undefined:
		return a
	case a == tensor.Undefined:
		return b
	}
	x, y := promoteOrder(a), promoteOrder(b)
	if x > y {
		a, b, x, y = b, a, y, x
	}
	switch {
	case x < 0 && y < 0:
		return tensor.Undefined
	case x < 0: // uint16, uint32 or uint64 with another
		if y == 0 {
			return a
		}
		if y >= 6 {
			return b
		}
		return tensor.Undefined
	case a == tensor.Byte && b == tensor.Char:
		return tensor.Short
	case a == tensor.Half && b == tensor.BFloat16:
		return tensor.Float
	}
	return b
}

// floatOf is t, or Float for an integral t.
func floatOf(t tensor.ScalarType) tensor.ScalarType {
	if t.IsIntegral(true) {
		return tensor.Float
	}
	return t
}

// resultType collects what torch.result_type looks at.
type resultType struct{ dim, zero, wrapped tensor.ScalarType }

func newResultType() resultType {
	return resultType{tensor.Undefined, tensor.Undefined, tensor.Undefined}
}

func (r *resultType) addTensor(t *tensor.Tensor) {
	if len(t.Sizes) == 0 {
		r.zero = Promote(r.zero, t.DType)
		return
	}
	r.dim = Promote(r.dim, t.DType)
}

func (r *resultType) add(v *Value) {
	switch v.Kind {
	case Tensor:
		if v.Tensor != nil {
			r.addTensor(v.Tensor)
		}
	case Tensors:
		for _, t := range v.Tensors {
			if t != nil {
				r.addTensor(t)
			}
		}
	case Int, Float, Bool:
		r.wrapped = Promote(r.wrapped, scalarType(v))
	}
}

// scalarType is the type of a Scalar as PyTorch's default types have it.
func scalarType(v *Value) tensor.ScalarType {
	switch v.Kind {
	case Bool:
		return tensor.Bool
	case Int:
		return tensor.Long
	case Float:
		return tensor.Float
	}
	return tensor.Undefined
}

// higher is high, promoted with low only if the category of low is above.
func higher(high, low tensor.ScalarType) tensor.ScalarType {
	if high.Category() >= low.Category() {
		return high
	}
	return Promote(high, low)
}

// result is the promoted type: tensors with dimensions before 0-dim ones before numbers.
func (r *resultType) result() tensor.ScalarType {
	return higher(r.dim, higher(r.zero, r.wrapped))
}

// promoteArgs is torch.result_type over the arguments that mask selects (0: all).
func promoteArgs(args []Value, mask uint32) tensor.ScalarType {
	r := newResultType()
	for i := range args {
		if mask == 0 || mask>>i&1 != 0 {
			r.add(&args[i])
		}
	}
	return r.result()
}

// KeyOf is the element type by which a call of d picks its kernel, or Undefined.
func KeyOf(d *Def, args []Value, outs []tensor.Meta) tensor.ScalarType {
	switch d.Key {
	case KeyOut:
		if len(outs) > 0 {
			return outs[0].DType
		}
	case KeyPromote:
		return promoteArgs(args, d.KeyArgs)
	case KeyPromoteFloat:
		return floatOf(promoteArgs(args, d.KeyArgs))
	case KeySelf:
		return firstType(args)
	}
	return tensor.Undefined
}

// firstType is the type of the first tensor among args.
func firstType(args []Value) tensor.ScalarType {
	for i := range args {
		if t := args[i].Tensor; t != nil {
			return t.DType
		}
		for _, t := range args[i].Tensors {
			if t != nil {
				return t.DType
			}
		}
	}
	return tensor.Undefined
}
