package serve

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Header is a tensor's description: TYPE:SIZES:ORDER.
func Header(t *tensor.Tensor) string {
	var sizes, order []string
	for i, n := range t.Sizes {
		sizes = append(sizes, strconv.FormatInt(n, 10))
		d := uint8(i)
		if t.DimOrder != nil {
			d = t.DimOrder[i]
		}
		order = append(order, strconv.Itoa(int(d)))
	}
	return fmt.Sprintf("%d:%s:%s", t.DType, strings.Join(sizes, ","), strings.Join(order, ","))
}

// ParseHeader is the inverse of header.
func ParseHeader(text string) (tensor.Meta, error) {
	part := strings.Split(text, ":")
	if len(part) != 3 {
		return tensor.Meta{}, fmt.Errorf("parse tensor %q: want TYPE:SIZES:ORDER", text)
	}
	code, err := strconv.Atoi(part[0])
	if err != nil {
		return tensor.Meta{}, fmt.Errorf("parse tensor %q: %w", text, err)
	}
	meta := tensor.Meta{DType: tensor.ScalarType(code)}
	if part[1] == "" {
		return meta, nil
	}
	for _, word := range strings.Split(part[1], ",") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return meta, fmt.Errorf("parse tensor %q: %w", text, err)
		}
		meta.Sizes = append(meta.Sizes, n)
	}
	for _, word := range strings.Split(part[2], ",") {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil {
			return meta, fmt.Errorf("parse tensor %q: %w", text, err)
		}
		meta.DimOrder = append(meta.DimOrder, uint8(n))
	}
	return meta, nil
}
