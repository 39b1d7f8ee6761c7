package rt

import (
	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// linear is a step of a linear operator. Arguments are the input and, if it is dynamic, its parameters.
func (p *product) linear(flatten bool) func(*ownCall) error {
	return func(c *ownCall) error {
		in, out := c.args[0], c.outs[0]
		last := len(in.Sizes) - 1
		if last < 0 || int(in.Sizes[last]) != p.Depth {
			return backend.Fail(pte.InvalidArgument, "the input's last size is not the weights'")
		}
		m := in.Numel() / max(p.Depth, 1)
		sizes := append(c.sizes[:0], in.Sizes...)
		if flatten {
			sizes = append(c.sizes[:0], tensor.Dim(m), 0)
		}
		sizes[len(sizes)-1] = tensor.Dim(p.Rows)
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		p.SetRows(&c.integers, m)
		return p.run(c, 1)
	}
}

// kernelOf is the convolution of a node over an input whose sizes are not known.
func kernelOf(k *blob.Conv) quant.Conv {
	return quant.Conv{
		KernelHeight: k.KernelHeight, KernelWidth: k.KernelWidth, StrideHeight: k.StrideHeight, StrideWidth: k.StrideWidth,
		DilationHeight: k.DilationHeight, DilationWidth: k.DilationWidth, Top: k.Top, Left: k.Left,
		Groups: k.Groups, GroupInputs: k.GroupInputs, GroupOutputs: k.GroupOutputs,
	}
}

// geometry is the convolution of a node over an input of these sizes; ok is false if the kernel does not fit.
func geometry(k *blob.Conv, in []tensor.Dim) (g quant.Conv, ok bool) {
	g = kernelOf(k)
	g.Height, g.Width, g.Channels = int(in[1]), int(in[2]), int(in[3])
	spanH := g.Height + k.Top + k.Bottom - (k.KernelHeight-1)*k.DilationHeight - 1
	spanW := g.Width + k.Left + k.Right - (k.KernelWidth-1)*k.DilationWidth - 1
	if spanH < 0 || spanW < 0 || g.Channels != g.Groups*g.GroupInputs {
		return g, false
	}
	g.OutHeight, g.OutWidth = spanH/k.StrideHeight+1, spanW/k.StrideWidth+1
	return g, true
}

// conv is a step of a convolution. Arguments are the input and, if it is dynamic, its parameters, by image.
func (p *product) conv(k blob.Conv) func(*ownCall) error {
	return func(c *ownCall) error {
		in, out := c.args[0], c.outs[0]
		g, ok := geometry(&k, in.Sizes)
		if !ok {
			return backend.Fail(pte.InvalidArgument, "the kernel does not fit the input")
		}
		sizes := append(c.sizes[:0], in.Sizes[0], tensor.Dim(g.OutHeight), tensor.Dim(g.OutWidth), tensor.Dim(p.Rows))
		if err := c.resize(out, sizes); err != nil {
			return err
		}
		c.integers.Geometry = g
		return p.run(c, int(in.Sizes[0]))
	}
}

// run computes the results for these images.
func (p *product) run(c *ownCall, images int) error {
	i, in, out := &c.integers, c.args[0], c.outs[0]
	i.X, i.Threads, i.Parallel, i.Alloc = sliceOf[int8](in.Data, in.Numel()), c.threads, c.parallel, c.alloc
	if p.Static {
		i.Int8 = sliceOf[int8](out.Data, out.Numel())
	} else {
		i.Float, i.Params = sliceOf[float32](out.Data, out.Numel()), sliceOf[float32](c.args[1].Data, c.args[1].Numel())
		i.Low, i.High = p.low, p.high
	}
	return p.Run(i, images)
}
