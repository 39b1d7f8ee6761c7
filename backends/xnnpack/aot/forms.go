package aot

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// get is the id of the form f, which is made if it is not there.
func (c *compiler) get(f form) uint32 {
	f.value = c.original(f.value)
	if id, ok := c.ids[f]; ok {
		return id
	}
	other := form{value: f.value, image: !f.image}
	switch {
	case c.isConstant(f.value):
		return c.remember(f, c.constant(f.value, f.image))
	case f.tokens > 0:
		c.convertTo(form{value: f.value, image: f.image}, f)
	case c.has(other):
		c.relayout(other, f)
	case c.has(form{value: f.value, image: f.image, border: true}):
		c.convertTo(form{value: f.value, image: f.image, border: true}, f)
	case c.has(form{value: f.value, image: !f.image, border: true}):
		c.convertTo(form{value: f.value, image: !f.image, border: true}, other)
		c.relayout(other, f)
	default:
		return c.dequantize(f)
	}
	return c.ids[f]
}

// dequantize makes a value that a dequantize node gives, in the form that its source has.
func (c *compiler) dequantize(f form) uint32 {
	q := dequantized(f.value)
	if q == nil {
		c.fail("%s was not computed", f.value.Name)
		return 0
	}
	if c.isConstant(q.source) {
		return c.remember(f, c.constant(c.floatWeight(q, f.value), f.image))
	}
	if q.kind != blob.PerTensor {
		c.fail("%s is quantized at run time, and not for a linear layer or convolution", f.value.Name)
		return 0
	}
	from := form{value: f.value, image: c.hasOnlyImage(q.source)}
	c.convert(form{value: q.source, image: from.image}, f.value)
	return c.get(f)
}

func (c *compiler) remember(f form, id uint32) uint32 {
	c.ids[f] = id
	return id
}

func (c *compiler) original(v *exir.Value) *exir.Value {
	for c.alias[v] != nil {
		v = c.alias[v]
	}
	return v
}

func (c *compiler) has(f form) bool {
	f.value = c.original(f.value)
	_, ok := c.ids[f]
	return ok
}

// hasOnlyImage reports a value that there is as an image and in no other form, also one that is still to be dequantized.
func (c *compiler) hasOnlyImage(v *exir.Value) bool {
	v = c.original(v)
	if v.Const != nil {
		return false
	}
	for _, border := range []bool{false, true} {
		if c.has(form{value: v, border: border}) {
			return false
		}
		if c.has(form{value: v, image: true, border: border}) {
			return true
		}
	}
	if q := dequantized(v); q != nil && q.kind == blob.PerTensor {
		return c.hasOnlyImage(q.source)
	}
	return false
}

// convert makes v of the form from by a change of type.
func (c *compiler) convert(from form, v *exir.Value) {
	c.convertTo(from, form{value: v, image: from.image})
}

func (c *compiler) convertTo(from, to form) {
	in := c.get(from)
	if to.tokens == 0 {
		c.emit(blob.Node{Type: blob.Convert, Inputs: []uint32{in}, Outputs: []uint32{c.result(to)}})
		return
	}
	id := c.define(to, blob.Quant{Kind: blob.PerToken, NonbatchDims: to.tokens}, 0)
	c.ids[to] = id
	c.emit(blob.Node{Type: blob.Convert, Inputs: []uint32{in}, Outputs: []uint32{id}})
}

// relayout makes the form to of from, which differs in where the channels are.
func (c *compiler) relayout(from, to form) {
	in, rank := c.ids[from], from.value.Spec.Rank()
	switch {
	case rank == 4 && to.image:
		c.transpose(in, c.result(to), 0, 2, 3, 1)
	case rank == 4:
		c.transpose(in, c.result(to), 0, 3, 1, 2)
	case rank == 3 && to.image:
		s := from.value.Spec.Sizes
		turned := c.temp(from, s[0], s[2], s[1])
		c.transpose(in, turned, 0, 2, 1)
		c.reshape(turned, c.result(to), imageSizes(s))
	case rank == 3:
		s := from.value.Spec.Sizes
		line := c.temp(from, s[0], s[2], s[1])
		c.reshape(in, line, []tensor.Dim{s[0], s[2], s[1]})
		c.transpose(line, c.result(to), 0, 2, 1)
	default:
		c.fail("%s is no image", from.value.Name)
	}
}

// temp is a new value like the form f, of other sizes.
func (c *compiler) temp(f form, sizes ...tensor.Dim) uint32 {
	v := *f.value
	v.Spec.Sizes = sizes
	return c.define(form{value: &v}, c.quantOf(f.value), 0)
}

func (c *compiler) transpose(in, out uint32, perm ...uint32) {
	c.emit(blob.Node{Type: blob.StaticTranspose, Params: []uint32{uint32(len(perm))}, Lists: [][]uint32{perm}, Inputs: []uint32{in}, Outputs: []uint32{out}})
}

// reshape gives the elements other sizes, of which one may be unknown: XNNPACK finds it where the size is 0.
func (c *compiler) reshape(in, out uint32, sizes []tensor.Dim) {
	list := make([]uint32, len(sizes))
	for i, d := range sizes {
		if !tensor.IsSymbol(d) {
			list[i] = uint32(d)
		}
	}
	c.emit(blob.Node{Type: blob.StaticReshape, Params: []uint32{uint32(len(list))}, Lists: [][]uint32{list}, Inputs: []uint32{in}, Outputs: []uint32{out}})
}
