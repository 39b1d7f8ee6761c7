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
		sum += nodeMACs(&g.Nodes[i], values)
	}
	return sum, nil
}

// nodeMACs are those of an element of n's result, times the elements; of a transposed convolution it is the input's.
func nodeMACs(n *blob.Node, values map[uint32]*blob.Value) int64 {
	switch n.Type {
	case blob.Conv2d, blob.DepthwiseConv2d:
		c := n.Conv()
		return int64(values[n.Outputs[0]].Numel()) * int64(c.KernelHeight*c.KernelWidth*c.GroupInputs)
	case blob.ConvTranspose2d:
		c := n.Conv()
		return int64(values[n.Inputs[0]].Numel()) * int64(c.KernelHeight*c.KernelWidth*c.GroupOutputs)
	case blob.FullyConnected, blob.BatchMatrixMultiply:
		dims := values[n.Inputs[0]].Dims
		return int64(values[n.Outputs[0]].Numel()) * int64(dims[len(dims)-1])
	}
	return 0
}
