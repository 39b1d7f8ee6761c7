package op

// phases is where the inputs of a convolution lie for each channel once they are padded, frame by frame: for each
// remainder of a position of a frame by the stride those positions, row by row. So the outputs of a row see their inputs through
// a tap one after another, from one place on.
type phases struct {
	conv
	depth, height, width int // depth is how many frames there are
	rows, columns        int // how many remainders of rows and of columns taps see
}

// phasesOf are the planes of c, which is not transposed.
func phasesOf(c *conv) phases {
	reach := func(i int) int { return (c.kernel[i] - 1) * c.dilation[i] }
	return phases{*c, (c.out.size[0]-1)*c.stride[0] + reach(0) + 1, c.out.size[1] + reach(1)/c.stride[1], c.out.size[2] + reach(2)/c.stride[2],
		min(c.stride[1], reach(1)+1), min(c.stride[2], reach(2)+1)}
}

// size is how many elements one plane has, frame how many all planes of a frame have, and space how many those of a channel.
func (p *phases) size() int  { return p.height * p.width }
func (p *phases) frame() int { return p.rows * p.columns * p.size() }
func (p *phases) space() int { return p.depth * p.frame() }

// line is how many results a line along the planes has: those of a frame, with the ends of the planes' rows between them.
func (p *phases) line() int { return (p.out.size[1]-1)*p.width + p.out.size[2] }

// first is where the inputs of output frame d begin.
func (p *phases) first(d int) int { return d * p.stride[0] * p.frame() }

// tap is where the first output's input through tap k lies.
func (p *phases) tap(k int) int {
	row := k / p.kernel[2]
	d, h, w := row/p.kernel[1]*p.dilation[0], row%p.kernel[1]*p.dilation[1], k%p.kernel[2]*p.dilation[2]
	phase := h%p.stride[1]*p.columns + w%p.stride[2]
	return d*p.frame() + phase*p.size() + h/p.stride[1]*p.width + w/p.stride[2]
}

// see lists where the first inputs of output frame d lie in a channel's planes x, one for each tap.
func (p *phases) see(inputs []*float32, x []float32, d int) {
	first := p.first(d)
	for k := range p.taps() {
		inputs[k] = at32(x, first+p.tap(k))
	}
}

// takeLine writes a line of results to the rows of a frame.
func (p *phases) takeLine(frame, line []float32) {
	for h := range p.out.size[1] {
		copy(frame[h*p.out.step[1]:][:p.out.size[2]], line[h*p.width:])
	}
}

// spreadChannel writes a channel's inputs x into its planes dst, whose padding is zero already.
func spreadChannel[T number](p *phases, dst, x []T) {
	for d := range min(p.in.size[0], p.depth-p.pad[0]) {
		spreadFrame(p, dst[(d+p.pad[0])*p.frame():], x[d*p.in.step[0]:])
	}
}

// spreadFrame writes a frame's inputs x into its planes dst.
func spreadFrame[T number](p *phases, dst, x []T) {
	for h := range p.in.size[1] {
		at := h + p.pad[1]
		phase, row := at%p.stride[1], at/p.stride[1]
		if row >= p.height {
			return
		}
		if phase < p.rows {
			spreadLine(p, dst[(phase*p.columns*p.height+row)*p.width:], x[h*p.in.step[1]:][:p.in.size[2]])
		}
	}
}

// spreadLine writes a row of inputs into the rows of the planes of its remainders.
func spreadLine[T number](p *phases, rows, x []T) {
	stride, pad := p.stride[2], p.pad[2]
	if stride == 1 {
		if pad < p.width {
			copy(rows[pad:p.width], x)
		}
		return
	}
	lines := func(first int) []T { // what the elements from first on are spread to
		at := first + pad
		return rows[at%stride*p.size():][min(at/stride, p.width):p.width]
	}
	if p.columns == 2 && stride == 2 && len(x) > 1 {
		spreadPairs(lines(0), lines(1), x)
		return
	}
	for first := range min(stride, len(x)) {
		if (first+pad)%stride >= p.columns {
			continue
		}
		row := lines(first)
		for i, k := 0, first; k < len(x) && i < len(row); k += stride {
			row[i] = x[k]
			i++
		}
	}
}

// spreadPairs writes the elements of x to even and odd in turn, as many as those have room for.
func spreadPairs[T any](even, odd, x []T) {
	const block = 4
	for len(even) >= block && len(odd) >= block && len(x) >= 2*block {
		e, o, pairs := even[:block:block], odd[:block:block], x[:2*block:2*block]
		e[0], e[1], e[2], e[3] = pairs[0], pairs[2], pairs[4], pairs[6]
		o[0], o[1], o[2], o[3] = pairs[1], pairs[3], pairs[5], pairs[7]
		even, odd, x = even[block:], odd[block:], x[2*block:]
	}
	for i, v := range x {
		switch k := i / 2; {
		case i%2 == 0 && k < len(even):
			even[k] = v
		case i%2 == 1 && k < len(odd):
			odd[k] = v
		}
	}
}
