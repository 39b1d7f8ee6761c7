package aot

import (
	"fmt"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
)

// MACs are the multiply-accumulates of a payload's convolutions and matrix products, at the largest sizes.
func (Backend) MACs(processed []byte) (int64, error) {
	g, err := blob.Read(processed)
	if err != nil {
		return 0, fmt.Errorf("read payload: %w", err)
	}
	values := map[uint32]*blob.Value{}
	for i := range g.Values {
		values[g.Values[i].ID] = &g.Values[i]
	}
	sum := int64(0)
	for i := range g.Nodes {
		if per, of := g.Nodes[i].MACs(func(id uint32) *blob.Value { return values[id] }); per > 0 {
			sum += per * int64(of.Numel())
		}
	}
	return sum, nil
}
