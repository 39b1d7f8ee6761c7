package executor

import (
	"slices"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Names of the operators that the cells of recurrent networks are made of, and the one in the middle of attention.
const (
	softmaxName = "aten::_softmax.out"
	splitName   = "aten::split_with_sizes_copy.out"
	sigmoidName = "aten::sigmoid.out"
	tanhName    = "aten::tanh.out"
	mulName     = "aten::mul.out"
	addName     = "aten::add.out"
	subName     = "aten::sub.out"
)

// cell is a cell of a recurrent network in the making: steps that one step can replace, of which the last one gives the hidden
// state.
type cell struct {
	steps []int
	last  int
	reads []cellRead
	gates int32 // what has the numbers of all gates
	// tanh is the step that has a kernel for the cell.
	tanh int
}

// cellRead is a value that a cell reads, and the step that reads it in the program.
type cellRead struct {
	value int32
	step  int
}

// lstmCell is the cell of an LSTM in the making.
type lstmCell struct {
	cell
	op.LSTM
	products    [3]int   // of the gates Input, Forget and Output
	state       cellRead // what forget multiplies
	sum, squash int      // the steps that give the next state, and its tanh
	found       int      // a bit for each product
}

// The products of an LSTM's cell.
const (
	inputProduct = iota
	forgetProduct
	outputProduct
)

// lstm replaces the steps of an LSTM's cell, whose gates step split takes apart.
func (f *fuser) lstm(split int) bool {
	c := lstmCell{cell: cell{steps: []int{split}}, LSTM: op.LSTM{}}
	gates, ok := f.gates(&c.cell, split)
	if !ok {
		return false
	}
	c.N = f.lines(split)
	for k, i := range gates {
		if !f.lstmGate(&c, k, i) {
			return false
		}
	}
	if c.found != 1<<len(c.products)-1 || !f.lstmState(&c) {
		return false
	}
	c.last = c.products[outputProduct]
	c.steps = append(append(c.steps, c.sum, c.squash), c.products[:]...)
	c.gates = f.steps[split].args[0]
	f.takeSum(&c.cell, split)
	c.reads = append(c.reads, c.state)
	plan := op.PrepareLSTM(f.steps[c.tanh].plan, c.LSTM, f.out(c.last).Meta, f.out(c.sum).Meta)
	return f.replace(&c.cell, plan, f.steps[c.last].outs[0], f.steps[c.sum].outs[0])
}

// lstmGate takes gate k, which step i gives, and what multiplies it.
func (f *fuser) lstmGate(c *lstmCell, k, i int) bool {
	m, ok := f.only(i, mulName)
	if !ok {
		return false
	}
	c.steps = append(c.steps, i)
	if i == c.tanh {
		c.Candidate = k
		return true
	}
	other := f.otherThan(m, f.steps[i].outs[0])
	product := forgetProduct
	switch p := f.producer(other, m); {
	case p == c.tanh:
		product, c.Input = inputProduct, k
	case p > i && f.steps[p].name == tanhName:
		product, c.Output, c.squash = outputProduct, k, p
	default:
		c.Forget, c.state = k, cellRead{other, m}
	}
	c.products[product] = m
	c.found |= 1 << product
	return true
}

// gates are the steps that alone read what step split gives: three times sigmoid and one tanh.
func (f *fuser) gates(c *cell, split int) (gates [4]int, ok bool) {
	outs := f.steps[split].outs
	if len(outs) != len(gates) {
		return gates, false
	}
	tanh := 0
	for k, x := range outs {
		users, ok := f.readers(split, x)
		if !ok || len(users) != 1 {
			return gates, false
		}
		gates[k] = users[0]
		switch f.steps[users[0]].name {
		case sigmoidName:
		case tanhName:
			c.tanh = users[0]
			tanh++
		default:
			return gates, false
		}
	}
	return gates, tanh == 1
}

// lstmState finds the sum of two products that is the next state. It reports whether the third multiplies the tanh of that,
// before anybody else reads it.
func (f *fuser) lstmState(c *lstmCell) bool {
	var ok bool
	if c.sum, ok = f.only(c.products[inputProduct], addName); !ok || !f.leads(c.products[forgetProduct], addName, c.sum) || !f.adds(c.sum) {
		return false
	}
	last, state := c.products[outputProduct], f.steps[c.sum].outs[0]
	if !f.leads(c.squash, mulName, last) || f.producer(f.steps[c.squash].args[0], c.squash) != c.sum {
		return false
	}
	for i := c.sum + 1; i < last; i++ {
		if s := &f.steps[i]; i != c.squash && !f.gone[i] && (f.any(s.args, state) || f.any(s.outs, state)) {
			return false
		}
	}
	return true
}

// takeSum lets the cell read the two tensors whose sum step split takes apart, or else the one.
func (f *fuser) takeSum(c *cell, split int) {
	x := f.steps[split].args[0]
	sum := f.producer(x, split)
	if sum >= 0 && f.steps[sum].name == addName && f.adds(sum) {
		if args := f.steps[sum].args; f.leads(sum, splitName, split) && f.alike(args[0], x) && f.alike(args[1], x) {
			c.steps = append(c.steps, sum)
			c.reads = append(c.reads, cellRead{args[0], sum}, cellRead{args[1], sum})
			return
		}
	}
	c.reads = append(c.reads, cellRead{x, split})
}

// gruCell is the cell of a GRU in the making.
type gruCell struct {
	cell
	op.GRU
	split, other int    // the steps that take its inputs apart
	sigmoids     [3]int // of the gates; 0 for the new gate
	fresh        int    // the sum of the new gate
	product      int    // what reset multiplies
}

// gru replaces the steps of a GRU's cell from step split on, which takes apart the one of its inputs whose part of the new gate
// is not multiplied.
func (f *fuser) gru(split int) bool {
	outs := f.steps[split].outs
	if len(outs) != 3 {
		return false
	}
	c := gruCell{cell: cell{steps: []int{split}}, GRU: op.GRU{N: f.lines(split), New: -1}, split: split, other: -1}
	for k := range outs {
		if !f.gruGate(&c, k) {
			return false
		}
	}
	if c.New < 0 || c.other < 0 || c.other == split {
		return false
	}
	c.Reset = slices.Index(c.sigmoids[:], f.sigmoidOf(c.product))
	if c.Reset < 0 || c.Reset == c.New {
		return false
	}
	c.Update = 3 - c.Reset - c.New
	hidden, ok := f.gruEnd(&c)
	if !ok {
		return false
	}
	c.gates = f.steps[c.other].args[0]
	c.reads = append(c.reads, cellRead{f.steps[split].args[0], split}, cellRead{c.gates, c.other}, hidden)
	return f.replace(&c.cell, op.PrepareGRU(f.steps[c.tanh].plan, c.GRU, f.out(c.last).Meta), f.steps[c.last].outs[0])
}

// gruGate takes the steps of gate k up to its sum, and the sigmoid of that.
func (f *fuser) gruGate(c *gruCell, k int) bool {
	x := f.steps[c.split].outs[k]
	users, ok := f.readers(c.split, x)
	if !ok || len(users) != 1 || f.steps[users[0]].name != addName || !f.adds(users[0]) {
		return false
	}
	add := users[0]
	y := f.otherThan(add, x)
	p := f.producer(y, add)
	switch {
	case p < 0:
		return false
	case f.steps[p].name == mulName && c.New < 0:
		c.New, c.fresh, c.product = k, add, p
		c.steps = append(c.steps, p, add)
		return true
	case f.steps[p].name != splitName || len(f.steps[p].outs) != 3 || c.other >= 0 && c.other != p || !f.same(f.steps[p].outs[k], y):
		return false
	}
	c.other = p
	if users, ok := f.readers(p, y); !ok || len(users) != 1 {
		return false
	}
	c.sigmoids[k], ok = f.only(add, sigmoidName)
	c.steps = append(c.steps, add, c.sigmoids[k])
	return ok
}

// sigmoidOf is the sigmoid whose result step m multiplies, or -1.
func (f *fuser) sigmoidOf(m int) int {
	for _, v := range f.steps[m].args {
		if p := f.producer(v, m); p >= 0 && f.steps[p].name == sigmoidName {
			return p
		}
	}
	return -1
}

// gruEnd takes the steps of a GRU from the new gate's sum on.
func (f *fuser) gruEnd(c *gruCell) (hidden cellRead, ok bool) {
	users, ok := f.readers(c.other, f.steps[c.other].outs[c.New])
	if !ok || len(users) != 1 || users[0] != c.product || !f.leads(c.product, addName, c.fresh) || !f.leads(c.sigmoids[c.Reset], mulName, c.product) {
		return hidden, false
	}
	if c.tanh, ok = f.only(c.fresh, tanhName); !ok {
		return hidden, false
	}
	users, ok = f.users(c.tanh)
	if !ok || len(users) != 2 || f.steps[users[0]].name != subName || f.steps[users[1]].name != addName {
		return hidden, false
	}
	sub, last := users[0], users[1]
	m, ok := f.only(sub, mulName)
	if !ok || !f.leads(c.sigmoids[c.Update], mulName, m) || !f.leads(m, addName, last) {
		return hidden, false
	}
	from := f.steps[sub].args
	c.last = last
	c.steps = append(c.steps, c.other, c.tanh, sub, m, last)
	return cellRead{from[0], sub}, f.reads(c.tanh, from[1]) && !f.reads(c.tanh, from[0]) && f.adds(sub) && f.adds(last)
}

// leads reports whether step next alone reads what step i writes, and has this name.
func (f *fuser) leads(i int, name string, next int) bool {
	only, ok := f.only(i, name)
	return ok && only == next
}

// adds reports whether a sum or a difference is one of two tensors as they are.
func (f *fuser) adds(i int) bool {
	s := &f.steps[i]
	alpha := &f.vals[s.args[2]]
	return !f.varies[s.args[2]] && alpha.Kind != op.None && alpha.Scalar() == 1
}

// otherThan is the argument of step m, of two, that is not x.
func (f *fuser) otherThan(m int, x int32) int32 {
	if args := f.steps[m].args; !f.same(args[0], x) {
		return args[0]
	}
	return f.steps[m].args[1]
}

// same reports whether two values are tensors in the same place.
func (f *fuser) same(v, w int32) bool { return f.areas[v] == f.areas[w] }

// producer is the step that writes what step i reads as value v, -1 if none does.
func (f *fuser) producer(v int32, i int) int {
	for i--; i >= 0; i-- {
		s := &f.steps[i]
		if f.gone[i] || !f.any(s.touches(), v) {
			continue
		}
		if s.plan != nil && slices.ContainsFunc(s.outs, func(x int32) bool { return f.same(x, v) }) {
			return i
		}
		return -1
	}
	return -1
}

// alike reports whether two values are tensors of Float in row-major order with as many elements.
func (f *fuser) alike(v, w int32) bool {
	x, y := f.vals[v].Tensor, f.vals[w].Tensor
	return x != nil && y != nil && x.DType == tensor.Float && y.DType == tensor.Float && x.Contiguous() && y.Contiguous() &&
		x.Numel() == y.Numel()
}

// replace puts one step of plan, which gives outs, in the place of a cell's last one, if its numbers are as the kernel wants
// them and what it reads is still there then.
func (f *fuser) replace(c *cell, plan *op.Plan, outs ...int32) bool {
	if plan == nil || slices.Max(c.steps) != c.last || !f.alike(c.reads[len(c.reads)-1].value, outs[0]) {
		return false
	}
	for _, i := range c.steps {
		if f.gone[i] || !f.ofCell(i, outs[0]) {
			return false
		}
	}
	for _, r := range c.reads {
		if !f.alike(r.value, outs[0]) && !f.alike(r.value, c.gates) || !f.intact(r.value, r.step, c.last, c.steps) {
			return false
		}
	}
	s, param := &f.steps[c.last], f.steps[c.last].params[0]
	fused := step{kind: pte.KernelCall, name: op.GRUName, a: s.a, outs: outs, plan: plan, chain: s.chain, index: s.index, fixed: true, stable: true}
	if len(outs) > 1 {
		fused.name = op.LSTMName
	}
	for _, r := range c.reads {
		fused.args, fused.params = append(fused.args, r.value), append(fused.params, param)
	}
	fused.fused = fusedOf(f.steps, c.steps...)
	for _, i := range c.steps {
		f.gone[i] = i != c.last
	}
	*s = fused
	return true
}

// ofCell reports whether step i gives as many numbers as the hidden state has, all the time; what it takes apart, rows of them
// side by side; what a split takes apart is its sum.
func (f *fuser) ofCell(i int, hidden int32) bool {
	s := &f.steps[i]
	if s.plan == nil || !s.fixed {
		return false
	}
	if s.name == addName && f.out(i).Numel() != f.vals[hidden].Tensor.Numel() {
		return true // the sum that is taken apart, which takeSum has looked at
	}
	for _, x := range s.outs {
		if !f.alike(x, hidden) {
			return false
		}
	}
	if s.name != splitName {
		return true
	}
	gates := f.vals[s.args[0]].Tensor
	return gates.Contiguous() && gates.Numel() <= op.CellMost && wider(gates.Sizes, f.out(i).Sizes, len(s.outs))
}

// lines is how many elements a gate has along the dimension that step split takes apart.
func (f *fuser) lines(split int) int {
	sizes := f.out(split).Sizes
	return int(sizes[len(sizes)-1])
}

// wider reports whether sizes are those of part but for the last, which is count times as large.
func wider(sizes, part []tensor.Dim, count int) bool {
	n := len(part) - 1
	return n >= 0 && len(sizes) == n+1 && slices.Equal(sizes[:n], part[:n]) && sizes[n] == tensor.Dim(count)*part[n]
}
