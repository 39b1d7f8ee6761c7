package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

func inferFractionalMaxPool2d(c *Infer) error { return inferFractionalMaxPool(c, 2) }
func inferFractionalMaxPool3d(c *Infer) error { return inferFractionalMaxPool(c, 3) }

// inferFractionalMaxPool: the windows, of argument 1's sizes, give argument 2's sizes.
func inferFractionalMaxPool(c *Infer, spatial int) error {
	samples, err := argTensor(c.Args, 3)
	if err != nil {
		return err
	}
	if samples.Rank() != 3 || c.Shapes.Equal(samples.Sizes[2], int64(spatial)) == tensor.No {
		return errSizes
	}
	err = pooled(c, spatial, func(i int, n tensor.Dim) (tensor.Dim, error) {
		size, out := spatialAt(&c.Args[1], i, 1), spatialAt(&c.Args[2], i, 1)
		if size <= 0 || out <= 0 || c.Shapes.Less(n, c.Shapes.Add(out, size-1)) == tensor.Yes {
			return 0, errPool
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	inferIndices(c)
	return nil
}

func runFractionalMaxPool2d[T float](c *Call, _ State) error { return runFractional[T](c, 2) }
func runFractionalMaxPool3d[T float](c *Call, _ State) error { return runFractional[T](c, 3) }

// runFractional takes the windows of each plane from its random samples: for [N, C] planes argument 3 has [N, C, spatial]
// of them, the width first for images, the depth first for volumes.
func runFractional[T float](c *Call, spatial int) error {
	samples, err := contiguousOf[T](c, c.Args[3].Tensor)
	if err != nil {
		return err
	}
	p := newPlanes(&c.Args[0].Tensor.Meta, &c.Out[0].Meta, spatial)
	if len(samples) < p.n*p.c*spatial {
		return errSizes
	}
	windows, err := p.extents(c, func(_, _ int) extent { return extent{0, 1, 1} })
	if err != nil {
		return err
	}
	for q := range p.n * p.c {
		for d := range spatial {
			at := d
			if spatial == 2 {
				at = 1 - d
			}
			k := 3 - spatial + d
			fractional(windows[k], samples[q*spatial+at], p.size[k], int(spatialAt(&c.Args[1], d, 1)))
		}
		n, ch := q/p.c, q%p.c
		maxPlane[T](c, &p, &windows, n*p.in[0]+ch*p.in[1], n*p.out[0]+ch*p.out[1])
	}
	return nil
}

// fractional spreads windows of size elements over n, the last one at the end: window i starts at ⌊(i+u)·α⌋ - ⌊u·α⌋,
// where α is the mean distance.
func fractional[T float](windows []extent, u T, n, size int) {
	last := len(windows) - 1
	for i := range windows {
		low := n - size
		if i < last {
			alpha := T(n-size) / T(last)
			low = min(max(int(T(T(i)+u)*alpha)-int(u*alpha), 0), n-size)
		}
		windows[i] = extent{low, low + size, 1}
	}
}
