package quant

import "unsafe"

// Conv is the geometry of a convolution over images in NHWC.
type Conv struct {
	Height, Width, Channels           int // of the input
	OutHeight, OutWidth               int
	KernelHeight, KernelWidth         int
	StrideHeight, StrideWidth         int
	DilationHeight, DilationWidth     int
	Top, Left                         int // padding
	Groups, GroupInputs, GroupOutputs int
}

// Depth is the length of a row of the unfolded input of a group.
func (c *Conv) Depth() int { return c.KernelHeight * c.KernelWidth * c.GroupInputs }

// Direct reports that pixels of the input are rows of the unfolded input.
func (c *Conv) Direct() bool {
	return c.KernelHeight == 1 && c.KernelWidth == 1 && c.StrideHeight == 1 && c.StrideWidth == 1 && c.Top == 0 && c.Left == 0 &&
		c.OutHeight == c.Height && c.OutWidth == c.Width && c.Groups == 1
}

// source is the offset of the pixel that a tap sees from an output position; ok is false in the padding.
func (c *Conv) source(pos, tap int) (at int, ok bool) {
	y := pos/c.OutWidth*c.StrideHeight - c.Top + tap/c.KernelWidth*c.DilationHeight
	x := pos%c.OutWidth*c.StrideWidth - c.Left + tap%c.KernelWidth*c.DilationWidth
	return (y*c.Width + x) * c.Channels, y >= 0 && y < c.Height && x >= 0 && x < c.Width
}

// Unfold writes the rows of m output positions of one image x from pos on, as a left factor of the weights of a group:
// what the kernel sees of the group's channels there, and zeros in the padding. zeros has as many elements as the kernel
// sees of a line. Unfolded is the left factor.
func (c *Conv) Unfold(w *Weights, dst []byte, x, zeros []int8, pos, m, group int) {
	u := unfold{c, w, x[group*c.GroupInputs:], zeros}
	size, stride, short := w.elementBytes()*c.KernelWidth*c.GroupInputs, w.RowBytes(), u.short()
	var line [lineBytes]byte
	row, column := pos/c.OutWidth, pos%c.OutWidth
	for i := 0; i < m; {
		y, col, n := row*c.StrideHeight-c.Top, column*c.StrideWidth-c.Left, 1
		switch {
		case short && y >= 0 && y+(c.KernelHeight-1)*c.DilationHeight < c.Height && col >= 0 && col+c.KernelWidth <= c.Width:
			u.shortLines(dst[i*stride:], (y*c.Width+col)*c.Channels)
		case u.shared() > 1 && !short:
			n = min(m-i, c.OutWidth-column, u.shared())
			for k := range c.KernelHeight {
				u.lines(dst[i*stride+k*size:], line[:], y+k*c.DilationHeight, col, n)
			}
		default:
			for k := range c.KernelHeight {
				u.line(dst[i*stride+k*size:], y+k*c.DilationHeight, col)
			}
		}
		i += n
		if column += n; column == c.OutWidth {
			row, column = row+1, 0
		}
	}
}

// lineBytes is how much of a line lines loads at once.
const lineBytes = 4096

// shared is how many positions lines takes at most: those whose columns overlap, and fill no more than lineBytes.
func (u *unfold) shared() int {
	if u.Channels != u.GroupInputs || u.DilationWidth != 1 || u.StrideWidth >= u.KernelWidth {
		return 0
	}
	return (lineBytes/(u.Channels*u.w.elementBytes())-u.KernelWidth)/u.StrideWidth + 1
}

// lines writes what n positions beside each other see of line y of the image, from column col on: it loads the columns into
// loaded, and copies each position's.
func (u *unfold) lines(dst, loaded []byte, y, col, n int) {
	until := col + (n-1)*u.StrideWidth + u.KernelWidth
	from, to := min(max(col, 0), until), max(min(until, u.Width), col)
	if y < 0 || y >= u.Height || from >= to {
		from, to = until, until
	}
	pixel := u.GroupInputs * u.w.elementBytes()
	u.nothing(loaded, from-col)
	if from < to {
		u.w.put(loaded[(from-col)*pixel:], u.x[(y*u.Width+from)*u.Channels:(y*u.Width+to)*u.Channels])
	}
	u.nothing(loaded[(to-col)*pixel:], until-to)
	size, step, stride := u.KernelWidth*pixel, u.StrideWidth*pixel, u.w.RowBytes()
	for i := range n {
		copy(dst[i*stride:][:size], loaded[i*step:])
	}
}

// nothing loads n columns of padding.
func (u *unfold) nothing(dst []byte, n int) {
	for ; n > 0; n -= u.KernelWidth {
		u.w.put(dst, u.zeros[:min(n, u.KernelWidth)*u.GroupInputs])
		dst = dst[min(n, u.KernelWidth)*u.GroupInputs*u.w.elementBytes():]
	}
}

// wordBytes is the size of what shortLines moves at once.
const wordBytes = 8

// short reports that what the kernel sees of a line fills one or two words, which overlap, and is flipped.
func (u *unfold) short() bool {
	n := u.KernelWidth * u.GroupInputs
	return u.w.tiles != nil && u.w.tiles.Flips && u.Channels == u.GroupInputs && u.DilationWidth == 1 && n >= wordBytes && n <= 2*wordBytes
}

// shortLines writes what the kernel sees of all its lines, of which the first one begins at x[at].
func (u *unfold) shortLines(dst []byte, at int) {
	n := u.KernelWidth * u.GroupInputs
	for range u.KernelHeight {
		x := u.x[at : at+n]
		flipWord(dst[:wordBytes], x)
		flipWord(dst[n-wordBytes:n], x[n-wordBytes:])
		dst, at = dst[n:], at+u.DilationHeight*u.Width*u.Channels
	}
}

// flipWord sets dst to the first numbers of x, 128 more than they are.
func flipWord(dst []byte, x []int8) {
	_, _ = dst[wordBytes-1], x[wordBytes-1]
	*(*uint64)(unsafe.Pointer(&dst[0])) = *(*uint64)(unsafe.Pointer(&x[0])) ^ 0x8080808080808080
}

// unfold is what rows of a left factor are made of.
type unfold struct {
	*Conv
	w        *Weights
	x, zeros []int8 // x from the group's first channel on
}

// line writes what the kernel sees of line y of the image from column col on.
func (u *unfold) line(dst []byte, y, col int) {
	n := u.GroupInputs
	if y < 0 || y >= u.Height {
		u.w.put(dst, u.zeros[:u.KernelWidth*n])
		return
	}
	if u.Channels == n && u.DilationWidth == 1 && col >= 0 && col+u.KernelWidth <= u.Width {
		u.w.put(dst, u.x[(y*u.Width+col)*n:][:u.KernelWidth*n])
		return
	}
	size := n * u.w.elementBytes()
	for k := range u.KernelWidth {
		at := col + k*u.DilationWidth
		from := u.zeros[:n]
		if at >= 0 && at < u.Width {
			from = u.x[(y*u.Width+at)*u.Channels:][:n]
		}
		u.w.put(dst[k*size:], from)
	}
}
