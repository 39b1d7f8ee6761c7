package kernel

// cell is what the kernels of Cells get. Its layout is known to the generator.
//
// An LSTM's gates are those of input, forget and output, and the candidate:
//
//	next = sigmoid(forget)·state + sigmoid(input)·tanh(candidate), hidden = sigmoid(output)·tanh(next)
//
// A GRU's gates are those of reset and update, and the new one, whose two parts are not summed:
//
//	fresh = tanh(a[new] + sigmoid(reset)·b[new]), hidden = (state - fresh)·sigmoid(update) + fresh
type cell struct {
	a, b          [4]*float32 // of which gates are the sums
	state         *float32
	hidden, next  *float32
	table         *uint32
	first, bFirst uintptr // the column of a row's first vector, in bytes
	vectors, rows uintptr // of a row, and how many rows; at least 1
	// aGap, bGap and gap are bytes from behind the vectors of a row to those of the next one.
	aGap, bGap, gap uintptr
	bStep           uintptr // bytes from a vector of b to the next one
}

// Cells are rows of Width numbers of a recurrent network's hidden state, and how they come about, all in float32.
type Cells struct {
	// A and B have rows of gates, each of Width numbers, side by side: four of an LSTM, three of a GRU. Gates says where among them
	// those are that LSTM and GRU name.
	A, B  []float32
	Gates [4]int
	// State is an LSTM's state or a GRU's hidden one, Hidden and Next, of an LSTM alone, the new ones, row after row. None of
	// those two is an operand.
	State, Hidden, Next []float32
	Rows, Width         int
}

// cellMost is how many numbers a call computes at most, a multiple of vectors.
const cellMost = 2048

// HasCells reports whether t has kernels for cells of this width, which is so for at least a vector.
func HasCells(t Tier, width int) bool {
	t = t.Narrow(width)
	return t != Scalar && width >= lanesOf(t)
}

// LSTM computes Hidden and Next: the gates, A plus B, or A where B is nil, are input, forget, output and candidate. It reports whether
// t has a kernel for it; see HasCells.
//
//	Next = sigmoid(forget)·State + sigmoid(input)·tanh(candidate), Hidden = sigmoid(output)·tanh(Next)
func (c *Cells) LSTM(t Tier) bool { return c.run(t, lstmCell) }

// GRU computes Hidden: the gates are reset, update and new. It reports whether t has a kernel for it, as LSTM does.
//
//	fresh = tanh(A[new] + sigmoid(A[reset]+B[reset])·B[new])
//	Hidden = (State - fresh)·sigmoid(A[update]+B[update]) + fresh
func (c *Cells) GRU(t Tier) bool { return c.run(t, gruCell) }

// minusZeros is what changes no number that it is added to.
var minusZeros = func() (x [maxLanes]float32) {
	for i := range x {
		x[i] = -x[i]
	}
	return x
}()

// cellKind says which cell is computed.
type cellKind int

const (
	lstmCell cellKind = 4 // the number of its gates
	gruCell  cellKind = 3
)

func (c *Cells) run(t Tier, kind cellKind) bool {
	if !HasCells(t, c.Width) {
		return false
	}
	t = t.Narrow(c.Width)
	lanes := lanesOf(t)
	var k cell
	k.table = &constants[0]
	most := max(1, cellMost/c.Width)
	for row := 0; row < c.Rows; row += most {
		k.take(c, row, min(most, c.Rows-row), kind)
		for from := 0; from+lanes <= c.Width; from += cellMost {
			k.call(t, kind, c, from, min(cellMost, c.Width-from)/lanes)
		}
		if c.Width%lanes != 0 { // one more vector, which shares numbers with the one before
			k.call(t, kind, c, c.Width-lanes, 1)
		}
	}
	return true
}

// take addresses these rows.
func (k *cell) take(c *Cells, row, rows int, kind cellKind) {
	own, end := row*c.Width, (row+rows)*c.Width
	k.state, k.hidden, k.rows = &c.State[own:end][0], &c.Hidden[own:end][0], uintptr(rows)
	if kind == lstmCell {
		k.next = &c.Next[own:end][0]
	}
	for i, gate := range c.Gates[:kind] {
		from, until := (row*int(kind)+gate)*c.Width, ((row+rows-1)*int(kind)+gate+1)*c.Width
		k.a[i], k.b[i] = &c.A[from:until][0], &minusZeros[0]
		if c.B != nil {
			k.b[i] = &c.B[from:until][0]
		}
	}
}

// call computes so many vectors of each row, from a column on.
func (k *cell) call(t Tier, kind cellKind, c *Cells, from, vectors int) {
	lanes := lanesOf(t)
	k.first, k.vectors = floatBytes(from), uintptr(vectors)
	k.aGap, k.gap = floatBytes(int(kind)*c.Width-vectors*lanes), floatBytes(c.Width-vectors*lanes)
	if c.B != nil {
		k.bFirst, k.bStep, k.bGap = k.first, floatBytes(lanes), k.aGap
	}
	if kind == lstmCell {
		k.runLSTM(t)
	} else {
		k.runGRU(t)
	}
}
