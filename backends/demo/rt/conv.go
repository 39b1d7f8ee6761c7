package rt

import (
	"github.com/rules-pte/rules_pte/backends/demo/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// convSizes are the sizes of a convolution's result: (size + 2·padding − dilation·(kernel−1) − 1) / stride + 1 for
// height and width.
func convSizes(c *blob.Convolution, x []tensor.Dim) ([]tensor.Dim, error) {
	if len(x) != 4 || x[1] != c.Groups*c.Sizes[1] {
		return nil, backend.Fail(pte.InvalidArgument, "the input of a convolution does not fit its weight")
	}
	out := []tensor.Dim{x[0], c.Sizes[0], 0, 0}
	for i := range 2 {
		room := x[2+i] + 2*c.Padding[i] - c.Dilation[i]*(c.Sizes[2+i]-1) - 1
		if room < 0 {
			return nil, backend.Fail(pte.InvalidArgument, "the kernel of a convolution is larger than its input")
		}
		out[2+i] = room/c.Stride[i] + 1
	}
	return out, nil
}

// convolve computes out [n, k, oh, ow] from x [n, g·c, h, w], one plane of out at a time.
func (s *step) convolve(ctx *backend.ExecuteContext, x, out *value) {
	plane := int(out.sizes[2] * out.sizes[3])
	ctx.Parallel(int(out.sizes[0]*out.sizes[1]), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			n, k := int64(i)/out.sizes[1], int64(i)%out.sizes[1]
			s.plane(x, out, out.data[i*plane:(i+1)*plane], n, k)
		}
	})
}

// plane computes channel k of image n.
func (s *step) plane(x, out *value, dst []float32, n, k int64) {
	c := s.Conv
	start := float32(0)
	if s.bias != nil {
		start = s.bias[k]
	}
	for i := range dst {
		dst[i] = start
	}
	first := k / (c.Sizes[0] / c.Groups) * c.Sizes[1]
	h, w := x.sizes[2], x.sizes[3]
	for ch := range c.Sizes[1] {
		src := x.data[(n*x.sizes[1]+first+ch)*h*w:][:h*w]
		for ky := range c.Sizes[2] {
			for kx := range c.Sizes[3] {
				s.tap(src, h, w, dst, out.sizes, ky, kx, s.weight[((k*c.Sizes[1]+ch)*c.Sizes[2]+ky)*c.Sizes[3]+kx])
			}
		}
	}
	if s.Op == blob.ConvRelu {
		for i, y := range dst {
			if y < 0 {
				dst[i] = 0
			}
		}
	}
}

// tap adds one weight times the input that it meets, to every element of dst.
func (s *step) tap(src []float32, h, w int64, dst []float32, sizes []tensor.Dim, ky, kx int64, weight float32) {
	c := s.Conv
	for oy := range sizes[2] {
		iy := oy*c.Stride[0] - c.Padding[0] + ky*c.Dilation[0]
		if iy < 0 || iy >= h {
			continue
		}
		row := dst[oy*sizes[3]:][:sizes[3]]
		for ox := range row {
			if ix := int64(ox)*c.Stride[1] - c.Padding[1] + kx*c.Dilation[1]; ix >= 0 && ix < w {
				row[ox] += float32(weight * src[iy*w+ix])
			}
		}
	}
}
