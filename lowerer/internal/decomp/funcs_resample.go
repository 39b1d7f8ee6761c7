package decomp

import (
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// scales are the scale factors of an upsampling with or without the overload name vec, or nil.
func (c *call) scales() []exir.Arg {
	if strings.HasSuffix(c.s.Name, ".vec") {
		return c.arg("scale_factors").List
	}
	var all []exir.Arg
	for _, name := range []string{"scales", "scales_d", "scales_h", "scales_w"} {
		if c.s.Arg(name) >= 0 && c.has(name) {
			all = append(all, c.arg(name))
		}
	}
	return all
}

// resample calls the overload of an upsampling that has sizes and scales for the one called vec, which has either.
func resample(c *call) []*exir.Value {
	x, scales := c.t("input"), c.scales()
	n := rank(x) - 2
	sizes := c.ints("output_size")
	if !c.has("output_size") {
		sizes = make([]int64, n)
		for i := range sizes {
			sizes[i] = c.shapes().Scale(size(x, 2+i), scales[i].Float)
		}
	}
	args := []any{x, sizes}
	if c.s.Arg("align_corners") >= 0 {
		args = append(args, c.bool("align_corners"))
	}
	for i := range n {
		if scales == nil {
			args = append(args, exir.Arg{})
		} else {
			args = append(args, scales[i])
		}
	}
	return one(c.op(c.s.Base(), args...))
}

// resampleImage calls the overload vec of an upsampling of images, by its scales or else its sizes.
func resampleImage(c *call) []*exir.Value { return one(c.image(c.s.Base(), c.t("self"), 0)) }

// resampleLine resamples a line as an image of height 1.
func resampleLine(c *call) []*exir.Value {
	base, input := "upsample_nearest2d", "input"
	if c.s.Base() == "upsample_linear1d" {
		base = "upsample_bilinear2d"
	}
	if !strings.HasSuffix(c.s.Name, ".vec") {
		input = "self"
	}
	return one(c.squeeze(c.image(base, c.planar(c.t(input)), 1), -2))
}

// image resamples x; the first dimensions of the image, flat of them, keep their size.
func (c *call) image(base string, x *exir.Value, flat int) *exir.Value {
	out, scale := exir.Arg{}, exir.Arg{}
	if scales := c.scales(); scales != nil {
		scale.Kind = exir.ArgList
		for range flat {
			scale.List = append(scale.List, exir.ToArg(1.0))
		}
		scale.List = append(scale.List, scales...)
	} else {
		sizes := c.ints("output_size")
		for range flat {
			sizes = prepend(1, sizes)
		}
		out = exir.ToArg(sizes)
	}
	if c.s.Arg("align_corners") >= 0 {
		return c.op(base+".vec", x, out, c.bool("align_corners"), scale)
	}
	return c.op(base+".vec", x, out, scale)
}

func gridSampler(c *call) []*exir.Value {
	base := "grid_sampler_2d"
	if rank(c.t("input")) == 5 {
		base = "grid_sampler_3d"
	}
	return one(c.op(base, c.t("input"), c.t("grid"), c.i("interpolation_mode"), c.i("padding_mode"), c.bool("align_corners")))
}

// affineGrid is the places of an image's elements, from -1 to 1 in each dimension, the last one first, and a 1, times theta.
func affineGrid(c *call) []*exir.Value {
	theta, size := c.t("theta"), c.ints("size")
	n, spatial := len(size)-2, size[2:]
	var columns []*exir.Value
	for i := n - 1; i >= 0; i-- {
		shape := make([]int64, n)
		for j := range shape {
			shape[j] = 1
		}
		shape[i] = spatial[i]
		line := c.view(c.to(c.places(spatial[i]), theta.Spec.DType), shape...)
		columns = append(columns, c.unsqueeze(c.expand(line, spatial), -1))
	}
	columns = append(columns, c.op("ones_like", columns[0]))
	points := c.shapes().Product(spatial)
	base := c.view(c.op("cat", columns, -1), 1, points, int64(n+1))
	y := c.matmul(base, c.transpose(theta, 1, 2))
	return one(c.view(y, append(append([]int64{size[0]}, spatial...), int64(n))...))
}

// places are those of n elements from -1 to 1: at the ends with align_corners, else in the middle of n equal parts.
func (c *call) places(n tensor.Dim) *exir.Value {
	parts := n
	if c.bool("align_corners") {
		parts = c.shapes().Max(1, c.shapes().Sub(n, 1))
	}
	twice := c.op("mul.Scalar", c.arange(n), 2)
	return c.op("div.Scalar", c.op("sub.Scalar", twice, c.shapes().Sub(n, 1)), parts)
}
