// Package npy reads and writes tensors in NumPy's .npy format.
package npy

import (
	"errors"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const magic = "\x93NUMPY"

var errHeader = errors.New("read npy: bad header")

// names are NumPy's type strings, without the byte order.
var names = [...]struct {
	name  string
	dtype tensor.ScalarType
}{
	{"u1", tensor.Byte}, {"i1", tensor.Char}, {"i2", tensor.Short}, {"i4", tensor.Int}, {"i8", tensor.Long},
	{"f2", tensor.Half}, {"f4", tensor.Float}, {"f8", tensor.Double}, {"b1", tensor.Bool},
	{"u2", tensor.UInt16}, {"u4", tensor.UInt32}, {"u8", tensor.UInt64},
}

// Parse is the tensor in a file's bytes, in row-major order. Its Data may alias b.
func Parse(b []byte) (*tensor.Tensor, error) {
	head, data, err := split(b)
	if err != nil {
		return nil, err
	}
	t := &tensor.Tensor{}
	if t.DType, err = parseType(field(head, "descr")); err != nil {
		return nil, err
	}
	if t.Sizes, err = parseShape(field(head, "shape")); err != nil {
		return nil, err
	}
	n, ok := t.BoundedBytes(int64(len(data)))
	if !ok {
		return nil, errors.New("read npy: data too short")
	}
	t.Data = append(make([]byte, 0, n), data[:n]...)
	if field(head, "fortran_order") == "True" && len(t.Sizes) > 1 {
		return rowMajor(t), nil
	}
	return t, nil
}

// split takes the header's dictionary and the data apart.
func split(b []byte) (head string, data []byte, err error) {
	if len(b) < 12 || string(b[:6]) != magic {
		return "", nil, errors.New("read npy: not a .npy file")
	}
	n, off := int(b[8])|int(b[9])<<8, 10
	if b[6] >= 2 {
		n, off = n|int(b[10])<<16|int(b[11])<<24, 12
	}
	if n < 0 || off+n > len(b) {
		return "", nil, errHeader
	}
	return string(b[off : off+n]), b[off+n:], nil
}

// field is the text of a member of the header's dictionary.
func field(head, key string) string {
	_, rest, ok := strings.Cut(head, "'"+key+"':")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	end := ",}"
	if strings.HasPrefix(rest, "(") {
		end = ")"
	}
	if i := strings.IndexAny(rest, end); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimSpace(rest)
}

func parseType(descr string) (tensor.ScalarType, error) {
	descr = strings.Trim(descr, "'\"")
	if len(descr) == 3 && descr[0] != '>' {
		for _, n := range names {
			if n.name == descr[1:] {
				return n.dtype, nil
			}
		}
	}
	return tensor.Undefined, errors.New("read npy: element type " + descr + " is not supported")
}

func parseShape(text string) ([]tensor.Dim, error) {
	sizes := []tensor.Dim{}
	for _, s := range strings.Split(strings.TrimPrefix(text, "("), ",") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 || len(sizes) == tensor.MaxRank {
			return nil, errHeader
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// rowMajor is t, whose Data is in column-major order, in row-major order.
func rowMajor(t *tensor.Tensor) *tensor.Tensor {
	t.DimOrder = make([]uint8, len(t.Sizes))
	for i := range t.DimOrder {
		t.DimOrder[i] = uint8(len(t.Sizes) - 1 - i)
	}
	return Ordered(t, nil)
}

// Ordered is a copy of t with its elements in this order; nil means row-major.
func Ordered(t *tensor.Tensor, order []uint8) *tensor.Tensor {
	c := &tensor.Tensor{Meta: tensor.Meta{DType: t.DType, Sizes: append([]tensor.Dim{}, t.Sizes...), DimOrder: order}}
	c.Data = make([]byte, t.Nbytes())
	op.Reorder(c, t)
	return c
}

// Format is t as a file, in row-major order; BFloat16 becomes Float.
func Format(t *tensor.Tensor) []byte {
	if !t.Contiguous() {
		t = Ordered(t, nil)
	}
	if t.DType == tensor.BFloat16 {
		f := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: t.Sizes}, Data: make([]byte, 4*t.Numel())}
		op.CastBytes(f.Data, tensor.Float, t.Data, t.DType, t.Numel())
		t = f
	}
	head := "{'descr': '" + descr(t.DType) + "', 'fortran_order': False, 'shape': " + shapeText(t.Sizes) + ", }"
	for (len(head)+11)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte(magic), 1, 0, byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	return append(b, t.Data[:t.Nbytes()]...)
}

func descr(t tensor.ScalarType) string {
	for _, n := range names {
		if n.dtype == t {
			if t.Size() == 1 {
				return "|" + n.name
			}
			return "<" + n.name
		}
	}
	return "|V1"
}

func shapeText(sizes []tensor.Dim) string {
	s := "("
	for i, n := range sizes {
		if i > 0 {
			s += ", "
		}
		s += strconv.FormatInt(n, 10)
	}
	if len(sizes) == 1 {
		s += ","
	}
	return s + ")"
}
