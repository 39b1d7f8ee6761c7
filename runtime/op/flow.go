package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// FlowCall is one of calls that run one after another, each once, as those see it who look for calls that one can replace:
// by which call gives what another one reads.
type FlowCall struct {
	// Name is that of the operator, empty where nobody can look into a call.
	Name string
	// Plan is that of a kernel, nil for others.
	Plan *Plan
	Args []FlowArg
	// Out is the result with its largest sizes; nil if there is not just one, or it is no tensor.
	Out *tensor.Meta
	// Users are the calls that read a result, in order.
	Users []int
	// Unread says of results, bit i of result i, that nobody reads them.
	Unread uint32
	// Open says that a result may be read by others than Users.
	Open bool
	// Fixed says that the sizes of all tensors are the same in every Run.
	Fixed bool
}

// FlowArg is an argument of a call.
type FlowArg struct {
	// Value is the argument, a tensor with its largest sizes and Data only if it is a constant; nil for numbers and lists that
	// change from Run to Run.
	Value *Value
	// From is the call that gives the tensor, -1 if none does.
	From int
}

// FlowRef is an argument of one of the calls.
type FlowRef struct{ Call, Arg int }

// tensor is the tensor that an argument is, or nil.
func (a *FlowArg) tensor() *tensor.Tensor {
	if a.Value == nil {
		return nil
	}
	return a.Value.Tensor
}

// constantOf is the one number that an argument always is: a scalar, a constant tensor of one element, or what a call fills a
// tensor with.
func constantOf(calls []FlowCall, a *FlowArg) (x float64, ok bool) {
	switch t := a.tensor(); {
	case a.Value == nil:
		return 0, false
	case t == nil:
		return a.Value.Scalar(), a.Value.Kind == Int || a.Value.Kind == Float || a.Value.Kind == Bool
	case a.From >= 0:
		at, fills := filling[calls[a.From].Name]
		if !fills || t.DType != tensor.Float || calls[a.From].Args[at].tensor() != nil {
			return 0, false
		}
		return constantOf(calls, &calls[a.From].Args[at])
	case t.DType == tensor.Float && t.Static() && t.Numel() == 1 && len(t.Data) >= f32Size:
		return float64(elems[float32](t)[0]), true
	}
	return 0, false
}

// filling are the operators that fill a tensor with one number, and which argument that is.
var filling = map[string]int{"aten::scalar_tensor.out": 0, "aten::full.out": 1, "aten::full_like.out": 1}

// moving are the operators whose result has the elements of the first argument, in the same order unless the sizes of it, which
// the second argument says where there is one, are larger.
var moving = map[string]bool{
	"aten::view_copy.out": true, "executorch_prim::et_view.default": true, "aten::expand_copy.out": true, "aten::unsqueeze_copy.out": true,
	"aten::squeeze_copy.dims_out": true, "aten::clone.out": true, "dim_order_ops::_clone_dim_order.out": true,
}

// sized are those of moving whose second argument are the sizes.
var sized = map[string]bool{"aten::view_copy.out": true, "executorch_prim::et_view.default": true, "aten::expand_copy.out": true}
