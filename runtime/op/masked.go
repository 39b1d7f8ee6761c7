package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// IsMask reports whether a tensor of this type selects by truth instead of by place.
func IsMask(t tensor.ScalarType) bool { return t == tensor.Bool || t == tensor.Byte }

func isMask(t *tensor.Tensor) bool { return IsMask(t.DType) }

// inferMasked makes Out[0] the broadcast of argument 0 and the mask, argument 1.
func inferMasked(c *Infer) error {
	self, out, err := startOut(c)
	if err != nil {
		return err
	}
	mask, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	if !isMask(mask) {
		return errMask
	}
	out.Sizes = append(out.Sizes, self.Sizes...)
	out.Sizes, err = BroadcastSizes(c.Shapes, out.Sizes, mask.Sizes)
	return err
}

func inferMaskedFill(c *Infer) error {
	if err := inferMasked(c); err != nil {
		return err
	}
	orderLikeArgs(c, &c.Out[0])
	return nil
}

func inferMaskedScatter(c *Infer) error {
	source, err := argTensor(c.Args, 2)
	if err != nil {
		return err
	}
	if err := inferMasked(c); err != nil {
		return err
	}
	if source.DType != c.Out[0].DType {
		return errSameType
	}
	return nil
}

// inferMaskedSelect gives the size of a mask that selects everything.
func inferMaskedSelect(c *Infer) error {
	if err := inferMasked(c); err != nil {
		return err
	}
	out := &c.Out[0]
	out.Sizes = append(out.Sizes[:0], c.Shapes.Product(out.Sizes))
	return nil
}

// inferNonzero gives the size for a tensor without zeros.
func inferNonzero(c *Infer) error {
	self, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	c.Set(0, tensor.Long, c.Shapes.Product(self.Sizes), tensor.Dim(self.Rank()))
	return nil
}

// spread is t's elements broadcast to the sizes of m, in m's order: t's own, or a temporary copy.
func spread[T any](c *Call, t *tensor.Tensor, m *tensor.Meta) ([]T, error) {
	v := broadcastMove(&t.Meta, m)
	own := t.Numel() == m.Numel()
	for i := range v.n {
		own = own && (v.size[i] == 1 || v.src[i] == v.dst[i])
	}
	if own {
		return elems[T](t), nil
	}
	tmp, err := tempOf[T](c, m.Numel())
	if err != nil {
		return nil, err
	}
	moveStrided(tmp, elems[T](t), &v)
	return tmp, nil
}

func runMaskedFill[T number](c *Call, _ State) error {
	mask, err := spread[uint8](c, c.Args[1].Tensor, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	spreadSelf[T](c)
	value, o := fillValue[T](c, &c.Args[2]), elems[T](c.Out[0])
	one := [1]T{value}
	rowWhere(o, mask, one[:], o, par{tier: c.Tier})
	return nil
}

// setRows gives t, which has room for more, n along its first dimension.
func setRows(t *tensor.Tensor, n int) {
	t.Sizes[0] = tensor.Dim(n)
	t.Data = t.Data[:t.Nbytes()]
}

// broadcastMeta is the contiguous broadcast of a and b; sizes is its memory.
func broadcastMeta(sizes []tensor.Dim, a, b *tensor.Tensor) (tensor.Meta, error) {
	sizes, err := BroadcastSizes(nil, append(sizes, a.Sizes...), b.Sizes)
	return tensor.Meta{DType: a.DType, Sizes: sizes}, err
}

func runMaskedSelect[T word](c *Call, _ State) error {
	var sizes [tensor.MaxRank]tensor.Dim
	meta, err := broadcastMeta(sizes[:0], c.Args[0].Tensor, c.Args[1].Tensor)
	if err != nil {
		return err
	}
	mask, err := spread[uint8](c, c.Args[1].Tensor, &meta)
	if err != nil {
		return err
	}
	x, err := spread[T](c, c.Args[0].Tensor, &meta)
	if err != nil {
		return err
	}
	o, n := elems[T](c.Out[0]), 0
	for i, m := range mask {
		if m != 0 {
			o[n] = x[i]
			n++
		}
	}
	setRows(c.Out[0], n)
	return nil
}

// runMaskedScatter puts the elements of the source, one after the other, where the mask is true.
func runMaskedScatter[T word](c *Call, _ State) error {
	mask, err := spread[uint8](c, c.Args[1].Tensor, &c.Out[0].Meta)
	if err != nil {
		return err
	}
	src, err := contiguousOf[T](c, c.Args[2].Tensor)
	if err != nil {
		return err
	}
	if countTrue(mask) > len(src) {
		return errTooFew
	}
	spreadSelf[T](c)
	o, n := elems[T](c.Out[0]), 0
	for i, m := range mask {
		if m != 0 {
			o[i] = src[n]
			n++
		}
	}
	return nil
}

func countTrue(mask []uint8) int {
	n := 0
	for _, m := range mask {
		if m != 0 {
			n++
		}
	}
	return n
}

// runNonzero writes a row of coordinates for each element that is not 0.
func runNonzero[T number](c *Call, _ State) error {
	self, out := c.Args[0].Tensor, c.Out[0]
	x, err := contiguousOf[T](c, self)
	if err != nil {
		return err
	}
	o, n, rank := elems[int64](out), 0, self.Rank()
	for i, v := range x {
		if v == 0 {
			continue
		}
		row := o[n*rank : (n+1)*rank]
		for d := rank - 1; d >= 0; d-- {
			size := int(self.Sizes[d])
			row[d] = int64(i % size)
			i /= size
		}
		n++
	}
	setRows(out, n)
	return nil
}
