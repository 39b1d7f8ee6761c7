package decomp

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// cell is one step of a recurrent layer: the projected input and the states before give the states after.
type cell func(c *call, gates *exir.Value, states []*exir.Value, p params) []*exir.Value

// params are the weights of one layer in one direction.
type params struct{ wIH, wHH, bIH, bHH, wHR *exir.Value }

// chunks splits v into n equal parts of its last dimension.
func (c *call) chunks(v *exir.Value, n int) []*exir.Value {
	part := fixed(v, -1) / int64(n)
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = part
	}
	return c.ops("split_with_sizes_copy", v, parts, -1)
}

func lstmStep(c *call, gates *exir.Value, s []*exir.Value, p params) []*exir.Value {
	g := c.chunks(c.add(gates, c.linear(s[0], p.wHH, p.bHH)), 4)
	in, forget, out := c.op("sigmoid", g[0]), c.op("sigmoid", g[1]), c.op("sigmoid", g[3])
	state := c.add(c.mul(forget, s[1]), c.mul(in, c.op("tanh", g[2])))
	h := c.mul(out, c.op("tanh", state))
	if p.wHR != nil {
		h = c.linear(h, p.wHR, nil)
	}
	return []*exir.Value{h, state}
}

func gruStep(c *call, gates *exir.Value, s []*exir.Value, p params) []*exir.Value {
	gi, gh := c.chunks(gates, 3), c.chunks(c.linear(s[0], p.wHH, p.bHH), 3)
	reset := c.op("sigmoid", c.add(gi[0], gh[0]))
	update := c.op("sigmoid", c.add(gi[1], gh[1]))
	fresh := c.op("tanh", c.add(gi[2], c.mul(reset, gh[2])))
	return one(c.add(c.mul(c.op("sub.Tensor", s[0], fresh), update), fresh))
}

func rnnStep(act string) cell {
	return func(c *call, gates *exir.Value, s []*exir.Value, p params) []*exir.Value {
		return one(c.op(act, c.add(gates, c.linear(s[0], p.wHH, p.bHH))))
	}
}

func lstm(c *call) []*exir.Value { return c.recurrent(lstmStep, c.tensors("hx")) }

func gru(c *call) []*exir.Value { return c.recurrent(gruStep, one(c.t("hx"))) }

func rnn(c *call) []*exir.Value { return c.recurrent(rnnStep(activation(c)), one(c.t("hx"))) }

func activation(c *call) string {
	if c.s.Base() == "rnn_relu" || c.s.Base() == "rnn_relu_cell" {
		return "relu"
	}
	return "tanh"
}

// recurrent unrolls all layers and directions over time.
func (c *call) recurrent(step cell, hx []*exir.Value) []*exir.Value {
	x := c.t("input")
	if c.bool("batch_first") {
		x = c.transpose(x, 0, 1)
	}
	if tensor.IsSymbol(size(x, 0)) {
		failf("a recurrent layer over a sequence of dynamic length cannot be unrolled; export with a static length")
	}
	dirs := 1
	if c.bool("bidirectional") {
		dirs = 2
	}
	weights := c.layerParams(len(hx) == 2)
	states := make([][]*exir.Value, len(hx)) // by state, then layer and direction
	for layer := range c.n("num_layers") {
		var outs []*exir.Value
		for d := range dirs {
			at := layer*dirs + d
			var start []*exir.Value
			for _, h := range hx {
				start = append(start, c.op("select_copy.int", h, 0, at))
			}
			y, last := c.unroll(step, x, start, weights[at], d == 1)
			outs = append(outs, y)
			for i := range last {
				states[i] = append(states[i], last[i])
			}
		}
		x = outs[0]
		if dirs == 2 {
			x = c.op("cat", outs, 2)
		}
	}
	if c.bool("batch_first") {
		x = c.transpose(x, 0, 1)
	}
	results := one(x)
	for _, s := range states {
		results = append(results, c.op("stack", s, 0))
	}
	return results
}

// layerParams groups the flat list of weights.
func (c *call) layerParams(mayProject bool) []params {
	flat := c.tensors("params")
	per := 2
	if c.bool("has_biases") {
		per = 4
	}
	dirs := 1
	if c.bool("bidirectional") {
		dirs = 2
	}
	n := c.n("num_layers") * dirs
	projected := mayProject && len(flat) == n*(per+1)
	if projected {
		per++
	}
	if len(flat) != n*per {
		failf("%d weights for %d layers", len(flat), n)
	}
	all := make([]params, n)
	for i := range all {
		w := flat[i*per : (i+1)*per]
		all[i] = params{wIH: w[0], wHH: w[1]}
		if c.bool("has_biases") {
			all[i].bIH, all[i].bHH = w[2], w[3]
		}
		if projected {
			all[i].wHR = w[per-1]
		}
	}
	return all
}

// unroll runs step over time and gives the outputs and the last states.
func (c *call) unroll(step cell, x *exir.Value, states []*exir.Value, p params, reverse bool) (*exir.Value, []*exir.Value) {
	n := int(fixed(x, 0))
	gates := c.linear(x, p.wIH, p.bIH)
	outs := make([]*exir.Value, n)
	for i := range n {
		t := i
		if reverse {
			t = n - 1 - i
		}
		states = step(c, c.op("select_copy.int", gates, 0, t), states, p)
		outs[t] = states[0]
	}
	return c.op("stack", outs, 0), states
}

// cellParams are the weights of a single cell.
func (c *call) cellParams() params {
	return params{wIH: c.t("w_ih"), wHH: c.t("w_hh"), bIH: c.t("b_ih"), bHH: c.t("b_hh")}
}

func lstmCell(c *call) []*exir.Value {
	p := c.cellParams()
	return lstmStep(c, c.linear(c.t("input"), p.wIH, p.bIH), c.tensors("hx"), p)
}

func gruCell(c *call) []*exir.Value {
	p := c.cellParams()
	return gruStep(c, c.linear(c.t("input"), p.wIH, p.bIH), one(c.t("hx")), p)
}

func rnnCell(c *call) []*exir.Value {
	p := c.cellParams()
	return rnnStep(activation(c))(c, c.linear(c.t("input"), p.wIH, p.bIH), one(c.t("hx")), p)
}
