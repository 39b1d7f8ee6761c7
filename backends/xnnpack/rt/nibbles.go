package rt

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
)

// packNibbles says how p is to pack weights of 4 bits that stay so, once for all programs of the file; false where there are no
// tiles for them.
func (c *compiler) packNibbles(p *product, n *blob.Node, w *value, raw []byte) bool {
	made := quant.NibblesOf(p.Tier, p.scales, p.Rows, p.Depth)
	if p.Static || made == nil {
		return false
	}
	layout := "nibbles " + w.Type.String() + " " + dimsText(w.Dims)
	s, err := c.shared("xnnpack "+layout+" "+address(raw)+" "+c.scalesKey(w), made.PackedBytes(), layout, raw, bytesOfFloats(p.scales))
	if err != nil {
		return true
	}
	p.Nibbles = made
	p.Bias = append(p.Bias, make([]float32, made.Columns()-p.Rows)...)
	p.weigh = func() {
		c.write(s, raw, func(dst []byte) { made.Pack(dst, raw, p.scales) })
		made.Use(s.data, p.scales)
		p.scales = nil
	}
	return true
}

// scalesKey names the scales of a value of channels or groups.
func (c *compiler) scalesKey(w *value) string {
	if q := &w.Quant; len(q.Scales) == 0 {
		return address(c.bytesOf(q.ScaleConstant, int(q.NumScales)))
	}
	return string(bytesOfFloats(w.Quant.Scales))
}
