package op

import (
	"strconv"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// String is the value in one line, as errors show it: a tensor's type and sizes such as "float32[2, 3]", else the
// value itself, "None" where there is none.
func (v *Value) String() string {
	switch v.Kind {
	case Tensor:
		return tensorText(v.Tensor)
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case Bool:
		return strconv.FormatBool(v.Int != 0)
	case String:
		return strconv.Quote(v.Str)
	case Ints, Bools:
		return SizesText(v.Ints)
	case Floats:
		return listText(v.Floats, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
	case Tensors:
		return listText(v.Tensors, tensorText)
	}
	return "None"
}

func tensorText(t *tensor.Tensor) string {
	if t == nil {
		return "None"
	}
	return t.DType.String() + SizesText(t.Sizes)
}

// SizesText is sizes as "[2, 3]".
func SizesText(sizes []tensor.Dim) string {
	return listText(sizes, func(n tensor.Dim) string { return strconv.FormatInt(n, 10) })
}

// maxListed is how many members of a list a text has.
const maxListed = 16

func listText[T any](list []T, text func(T) string) string {
	s := "["
	for i, x := range list {
		if i > 0 {
			s += ", "
		}
		if i == maxListed {
			return s + "...]"
		}
		s += text(x)
	}
	return s + "]"
}
