package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var errPool = errors.New("a pooling window does not fit its input, or is not positive")

// planes walks the output planes of a pooling: strides are in elements, of dimensions N, C, H, W.
type planes struct {
	n, c, h, w, oh, ow int
	in, out            [4]int
}

func newPlanes(in, out *tensor.Meta) planes {
	var si, so [tensor.MaxRank]int
	stridesOf(in, &si)
	stridesOf(out, &so)
	p := planes{n: 1}
	rank := in.Rank()
	for i := range 4 {
		if d := rank - 4 + i; d >= 0 {
			p.in[i], p.out[i] = si[d], so[d]
		}
	}
	if rank == 4 {
		p.n = int(in.Sizes[0])
	}
	p.c, p.h, p.w = int(in.Sizes[rank-3]), int(in.Sizes[rank-2]), int(in.Sizes[rank-1])
	p.oh, p.ow = int(out.Sizes[rank-2]), int(out.Sizes[rank-1])
	return p
}

// clip is the window of output i, inside of the input: first element, one past the last, and its size with padding.
func (w *window) clip(i, n int) (lo, hi, padded int) {
	lo = i*int(w.stride) - int(w.pad)
	hi = min(lo+int(w.size), n+int(w.pad))
	padded = hi - lo
	return max(lo, 0), min(hi, n), padded
}

func runMaxPool[T number](c *Call, _ State) error {
	in := c.Args[0].Tensor
	rows, err := poolWindow(c.Args, 0, &c.Args[4], &c.Args[5])
	if err != nil {
		return err
	}
	cols, err := poolWindow(c.Args, 1, &c.Args[4], &c.Args[5])
	if err != nil {
		return err
	}
	p := newPlanes(&in.Meta, &c.Out[0].Meta)
	x, o, at := elems[T](in), elems[T](c.Out[0]), elems[int64](c.Out[1])
	for n := range p.n {
		for ch := range p.c {
			base, to := n*p.in[0]+ch*p.in[1], n*p.out[0]+ch*p.out[1]
			for i := range p.oh {
				for j := range p.ow {
					k := to + i*p.out[2] + j*p.out[3]
					o[k], at[k] = maxWindow(x[base:], &p, &rows, &cols, i, j)
				}
			}
		}
	}
	return nil
}

// maxWindow is the largest element of window i, j and its index in the plane; NaN is larger than all.
func maxWindow[T number](x []T, p *planes, rows, cols *window, i, j int) (best T, index int64) {
	first := true
	for a := range int(rows.size) {
		h := i*int(rows.stride) - int(rows.pad) + a*int(rows.dilation)
		if h < 0 || h >= p.h {
			continue
		}
		for b := range int(cols.size) {
			w := j*int(cols.stride) - int(cols.pad) + b*int(cols.dilation)
			if w < 0 || w >= p.w {
				continue
			}
			if v := x[h*p.in[2]+w*p.in[3]]; first || v > best || v != v {
				best, index, first = v, int64(h*p.w+w), false
			}
		}
	}
	return best, index
}

func runAvgPool[T number](c *Call, _ State) error {
	in := c.Args[0].Tensor
	rows, err := poolWindow(c.Args, 0, nil, &c.Args[4])
	if err != nil {
		return err
	}
	cols, err := poolWindow(c.Args, 1, nil, &c.Args[4])
	if err != nil {
		return err
	}
	p := newPlanes(&in.Meta, &c.Out[0].Meta)
	divisor := 0
	if v := &c.Args[6]; v.Kind == Int {
		if v.Int == 0 {
			return errors.New("divisor_override is 0")
		}
		divisor = int(v.Int)
	}
	average(&p, elems[T](in), elems[T](c.Out[0]), func(i, j int) (h0, h1, w0, w1, count int) {
		h0, h1, ph := rows.clip(i, p.h)
		w0, w1, pw := cols.clip(j, p.w)
		count = divisor
		switch {
		case divisor != 0:
		case c.Args[5].Int != 0:
			count = ph * pw
		default:
			count = (h1 - h0) * (w1 - w0)
		}
		return h0, h1, w0, w1, count
	})
	return nil
}

func runAdaptiveAvgPool[T number](c *Call, _ State) error {
	in := c.Args[0].Tensor
	p := newPlanes(&in.Meta, &c.Out[0].Meta)
	average(&p, elems[T](in), elems[T](c.Out[0]), func(i, j int) (h0, h1, w0, w1, count int) {
		h0, h1 = i*p.h/p.oh, ((i+1)*p.h+p.oh-1)/p.oh
		w0, w1 = j*p.w/p.ow, ((j+1)*p.w+p.ow-1)/p.ow
		return h0, h1, w0, w1, (h1 - h0) * (w1 - w0)
	})
	return nil
}

// average sets every output to the sum of its window over count.
func average[T number](p *planes, x, o []T, at func(i, j int) (h0, h1, w0, w1, count int)) {
	for i := range p.oh {
		for j := range p.ow {
			h0, h1, w0, w1, count := at(i, j)
			for n := range p.n {
				for ch := range p.c {
					base := n*p.in[0] + ch*p.in[1]
					sum := 0.0
					for h := h0; h < h1; h++ {
						for w := w0; w < w1; w++ {
							sum += float64(x[base+h*p.in[2]+w*p.in[3]])
						}
					}
					o[n*p.out[0]+ch*p.out[1]+i*p.out[2]+j*p.out[3]] = T(sum / float64(count))
				}
			}
		}
	}
}
