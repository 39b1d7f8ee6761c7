package rt

import (
	"sync"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
)

// sharedNibbles are packed weights of 4 bits that the programs of a file share.
type sharedNibbles struct {
	*quant.Nibbles
	data []byte
	once sync.Once
}

// packNibbles says how p is to pack weights of 4 bits that stay so, once for all programs of the file; false where there are no
// tiles for them.
func (c *compiler) packNibbles(p *product, n *blob.Node, w *value, raw []byte) bool {
	made := quant.NibblesOf(p.Tier, p.scales, p.Rows, p.Depth)
	if p.Static || made == nil {
		return false
	}
	key := "xnnpack nibbles " + address(raw) + " " + w.Type.String() + " " + dimsText(w.Dims) + " " + c.scalesKey(w)
	shared, err := c.ctx.Share(key, func() (any, error) {
		b, err := c.constants(made.PackedBytes())
		return &sharedNibbles{Nibbles: made, data: b}, err
	})
	if err != nil {
		c.failWith(err)
		return true
	}
	s := shared.(*sharedNibbles)
	p.Nibbles = s.Nibbles
	p.Bias = append(p.Bias, make([]float32, s.Columns()-p.Rows)...)
	p.weigh = func() {
		s.once.Do(func() {
			s.Pack(s.data, raw, p.scales)
			c.release(raw)
		})
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
