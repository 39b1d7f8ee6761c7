package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// LSTMName and GRUName are what traces call the cells of recurrent networks.
const (
	LSTMName = "rules_pte::lstm_cell.out"
	GRUName  = "rules_pte::gru_cell.out"
)

// LSTM is the cell of an LSTM, by where its gates lie among the four that its inputs have side by side:
//
//	state' = sigmoid(gates[Forget])·state + sigmoid(gates[Input])·tanh(gates[Candidate])
//	hidden = sigmoid(gates[Output])·tanh(state')
//
// A gate has N numbers in a row.
type LSTM struct{ N, Input, Forget, Candidate, Output int }

// GRU is the cell of a GRU, by where its gates lie among the three that each of its inputs a and b has side by side:
//
//	new     = tanh(a[New] + sigmoid(a[Reset] + b[Reset])·b[New])
//	hidden' = (hidden - new)·sigmoid(a[Update] + b[Update]) + new
//
// A gate has N numbers in a row.
type GRU struct{ N, Reset, Update, New int }

// CellMost is how many numbers gates may have: for more of them the operators one by one, on several threads, are as fast.
const CellMost = 16 << 10

// PrepareLSTM makes a plan that computes a cell whose tanh p computes; nil if p has no kernel for that. Its arguments are the
// gates, four rows of c.N numbers side by side, or two tensors of which they are the sum, and the state; its outs are hidden and
// state'. All are Float and contiguous, and their sizes never change: those of outs are given. Outs may lie where arguments do.
func PrepareLSTM(p *Plan, c LSTM, outs ...tensor.Meta) *Plan { return prepareCell(p, &c, outs) }

// PrepareGRU makes a plan that computes a cell whose tanh p computes; nil if p has no kernel for that. Its arguments are a and b, which
// have three rows of c.N numbers side by side, and hidden; its out is hidden'. They are as those of PrepareLSTM.
func PrepareGRU(p *Plan, c GRU, out tensor.Meta) *Plan { return prepareCell(p, &c, []tensor.Meta{out}) }

func prepareCell(p *Plan, state State, outs []tensor.Meta) *Plan {
	if p.Kernel.Cell == nil {
		return nil
	}
	def := &Def{
		Schema: "rules_pte::cell.out(Tensor a, Tensor b, Tensor state, *, Tensor(a!) out) -> Tensor(a!)",
		Infer: func(c *Infer) error {
			for i := range outs {
				c.Set(i, outs[i].DType, outs[i].Sizes...)
			}
			return nil
		},
	}
	return &Plan{Kernel: &Kernel{Def: def, DType: p.Kernel.DType, Run: p.Kernel.Cell}, state: state, tier: p.tier, inPlace: []int{-1, -1}[:len(outs)]}
}

// runCell computes an LSTM or a GRU.
func runCell(c *Call, s State) error {
	last := len(c.Args) - 1
	state := elems[float32](c.Args[last].Tensor)
	if len(state) == 0 {
		return nil
	}
	a := elems[float32](c.Args[0].Tensor)
	var b []float32
	if last > 1 {
		b = elems[float32](c.Args[1].Tensor)
	}
	r := s.(recurrent)
	room := 2 * len(state)
	if !kernel.HasCells(c.Tier, r.width()) {
		room = 4*len(state) + len(b)
	}
	space, err := tempOf[float32](c, room)
	if err != nil {
		return err
	}
	r.run(c, space, a, b, state)
	return nil
}

// recurrent is a cell that computes rows of as many numbers as width says, in space that no operand shares.
type recurrent interface {
	width() int
	run(c *Call, space, a, b, state []float32)
}

func (l *LSTM) width() int { return l.N }
func (g *GRU) width() int  { return g.N }

// run computes the cell of gates a, or a + b.
func (l *LSTM) run(c *Call, space, a, b, state []float32) {
	size := len(state)
	k := kernel.Cells{A: a, B: b, Gates: [4]int{l.Input, l.Forget, l.Output, l.Candidate},
		State: state, Hidden: space[:size], Next: space[size:][:size], Rows: size / l.N, Width: l.N}
	if !k.LSTM(c.Tier) {
		j := cell{l.N, space[:4*size], par{tier: c.Tier}}
		if b != nil {
			sum := space[4*size:]
			rowAdd(sum, a, b, j.p)
			a = sum
		}
		k.Hidden, k.Next = j.lstm(l, a, state)
	}
	copy(elems[float32](c.Out[1]), k.Next)
	copy(elems[float32](c.Out[0]), k.Hidden) // last: where nobody reads the state any more, it may lie there
}

// run computes the cell of gates a and b.
func (g *GRU) run(c *Call, space, a, b, state []float32) {
	size := len(state)
	k := kernel.Cells{A: a, B: b, Gates: [4]int{g.Reset, g.Update, g.New}, State: state, Hidden: space[:size], Rows: size / g.N, Width: g.N}
	if !k.GRU(c.Tier) {
		j := cell{g.N, space[:4*size], par{tier: c.Tier}}
		k.Hidden = j.gru(g, a, b, state)
	}
	copy(elems[float32](c.Out[0]), k.Hidden)
}

// cell is a cell under way, function by function, in tiers and for widths that have no kernel.
type cell struct {
	n     int       // numbers in a row of a gate
	space []float32 // four numbers for each of the state's
	p     par
}

// part is part k of space.
func (j *cell) part(k int) []float32 {
	size := len(j.space) / 4
	return j.space[k*size : (k+1)*size]
}

// gate copies gate k of count from all rows of x to dst.
func (j *cell) gate(dst, x []float32, k, count int) {
	for at := k * j.n; len(dst) > 0; at += count * j.n {
		copy(dst[:j.n], x[at:])
		dst = dst[j.n:]
	}
}

func (j *cell) lstm(l *LSTM, gates, state []float32) (hidden, next []float32) {
	input, forget, output, candidate := j.part(0), j.part(1), j.part(2), j.part(3)
	for k, at := range [4]int{l.Input, l.Forget, l.Output, l.Candidate} {
		j.gate(j.part(k), gates, at, 4)
	}
	three := j.space[:3*len(input)]
	rowSigmoid(three, three, j.p)
	rowTanh(candidate, candidate, j.p)
	rowMul(forget, forget, state, j.p)
	rowMul(input, input, candidate, j.p)
	rowAdd(forget, forget, input, j.p)
	rowTanh(input, forget, j.p)
	rowMul(output, output, input, j.p)
	return output, forget
}

func (j *cell) gru(g *GRU, a, b, state []float32) (hidden []float32) {
	reset, update, fresh, other := j.part(0), j.part(1), j.part(2), j.part(3)
	j.gate(reset, a, g.Reset, 3)
	j.gate(update, a, g.Update, 3)
	j.gate(fresh, b, g.Reset, 3)
	j.gate(other, b, g.Update, 3)
	both := j.space[:2*len(reset)]
	rowAdd(both, both, j.space[len(both):], j.p)
	rowSigmoid(both, both, j.p)
	j.gate(fresh, b, g.New, 3)
	rowMul(fresh, reset, fresh, j.p)
	j.gate(reset, a, g.New, 3)
	rowAdd(fresh, reset, fresh, j.p)
	rowTanh(fresh, fresh, j.p)
	rowSub(other, state, fresh, j.p)
	rowMul(other, other, update, j.p)
	rowAdd(other, other, fresh, j.p)
	return other
}
