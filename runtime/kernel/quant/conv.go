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

// Segments is how many segments a row of weights has: one for each line that the kernel sees, where what it sees of a line lies together
// in the image, and fills groups by three quarters.
func (c *Conv) Segments() int {
	n := c.KernelWidth * c.GroupInputs
	if c.Groups == 1 && c.DilationWidth == 1 && c.KernelWidth > 1 && 4*n >= 3*((n+3)&^3) {
		return c.KernelHeight
	}
	return 1
}

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
// what the kernel sees of the group's channels there, and zero in the padding. line is room for LineBytes. Unfolded is the left factor.
func (c *Conv) Unfold(w *Weights, dst, line []byte, x []int8, zero int8, pos, m, group int) {
	u := unfold{c, w, x[group*c.GroupInputs:], w.padding(zero), c.GroupInputs * w.elementBytes()}
	size, stride, most := c.KernelWidth*u.pixel, w.RowBytes(), u.shared()
	part := size
	if w.Segments > 1 {
		part = w.segmentBytes()
	}
	row, column := pos/c.OutWidth, pos%c.OutWidth
	for i := 0; i < m; {
		y, col, n := row*c.StrideHeight-c.Top, column*c.StrideWidth-c.Left, 1
		if most > 1 {
			n = min(m-i, c.OutWidth-column, most)
		}
		for k := range c.KernelHeight {
			at := i*stride + k*part
			if most > 1 {
				u.columns(line, y+k*c.DilationHeight, col, (n-1)*c.StrideWidth+c.KernelWidth)
				spread(dst[at:], line, spreading{n, size, u.pixel * c.StrideWidth, stride, stride - k*part})
			} else {
				u.line(dst[at:at+size], y+k*c.DilationHeight, col)
			}
		}
		i += n
		if column += n; column == c.OutWidth {
			row, column = row+1, 0
		}
	}
}

// stripsLeast is how many positions a line has at least that are not unfolded. Of shorter ones a piece of the product has several lines,
// so that it reads the weights less often.
const stripsLeast = 12

// Strips reports that Strip makes the left factors of w.
func (c *Conv) Strips(w *Weights) bool {
	return w.tiles != nil && w.Segments == c.KernelHeight && c.Groups == 1 && c.DilationWidth == 1 && c.StrideWidth <= c.KernelWidth && c.OutWidth >= stripsLeast
}

// StripBytes is the size of what Strip writes for m positions.
func (c *Conv) StripBytes(w *Weights, m int) int {
	return c.KernelHeight*c.stripColumns(m)*c.Channels*w.elementBytes() + groupMost
}

// groupMost is what the last segment of a row may lack of whole groups, in bytes, and more.
const groupMost = 8

// stripColumns is how many columns of the image m positions of a line see.
func (c *Conv) stripColumns(m int) int { return (m-1)*c.StrideWidth + c.KernelWidth }

// Strip is the left factor of m output positions of one line of an image x from pos on: what the kernel sees there of each line,
// where that of a position overlaps that of the next.
func (c *Conv) Strip(w *Weights, dst []byte, x []int8, zero int8, pos, m int) Left {
	u := unfold{c, w, x, w.padding(zero), c.Channels * w.elementBytes()}
	y, col, n := pos/c.OutWidth*c.StrideHeight-c.Top, pos%c.OutWidth*c.StrideWidth-c.Left, c.stripColumns(m)
	size := n * u.pixel
	for k := range c.KernelHeight {
		u.columns(dst[k*size:], y+k*c.DilationHeight, col, n)
	}
	return Left{data: dst, stride: c.StrideWidth * u.pixel, gap: size - w.segmentBytes()}
}

// LineBytes is the size of what Unfold loads at once of a line of the image.
const LineBytes = 4096

// unfold is what rows of a left factor are made of.
type unfold struct {
	*Conv
	w       *Weights
	x       []int8 // from the group's first channel on
	padding uint64 // wordBytes of padding
	pixel   int    // bytes of the group's channels of a pixel
}

// wordBytes is the size of a word.
const wordBytes = 8

// padding is wordBytes of a row of a left factor all of whose elements are x.
func (w *Weights) padding(x int8) uint64 {
	const bytes, halves = 0x0101010101010101, 0x0001000100010001
	switch {
	case w.elementBytes() == 2:
		return uint64(uint16(x)) * halves
	case w.tiles != nil && w.tiles.Flips:
		return uint64(uint8(int(x)+flip)) * bytes
	}
	return uint64(uint8(x)) * bytes
}

// shared is how many positions see columns that are loaded together at most: those that overlap,
// and leave room for a move.
func (u *unfold) shared() int {
	if u.Channels != u.GroupInputs || u.DilationWidth != 1 || u.StrideWidth >= u.KernelWidth {
		return 0
	}
	return ((LineBytes-moveMost)/u.pixel-u.KernelWidth)/u.StrideWidth + 1
}

// columns loads n columns of line y of the image from column col on.
func (u *unfold) columns(dst []byte, y, col, n int) {
	until, pixel := col+n, u.pixel
	from, to := min(max(col, 0), until), max(min(until, u.Width), col)
	if y < 0 || y >= u.Height || from >= to {
		from, to = until, until
	}
	fillWords(dst[:(from-col)*pixel], u.padding)
	if from < to {
		u.w.put(dst[(from-col)*pixel:], u.x[(y*u.Width+from)*u.Channels:(y*u.Width+to)*u.Channels])
	}
	fillWords(dst[(to-col)*pixel:n*pixel], u.padding)
}

// fillWords sets dst to the bytes of word, over and over.
func fillWords(dst []byte, word uint64) {
	for ; len(dst) >= wordBytes; dst = dst[wordBytes:] {
		*(*uint64)(unsafe.Pointer(&dst[0])) = word
	}
	for i := range dst {
		dst[i], word = byte(word), word>>8
	}
}

// spreading is count pieces of size bytes, step apart where they are read and stride apart where they are written. room bytes from
// each on may be written: what is behind a piece is written later, or nothing is there.
type spreading struct{ count, size, step, stride, room int }

// moveMost is the most that spread moves at once, callLeast the size of pieces that a call copies sooner.
const (
	moveMost  = 16
	callLeast = 128
)

// spread copies pieces, in moves that the compiler does without a call. src has room for
// moveMost behind its last piece.
func spread(dst, src []byte, s spreading) {
	switch n := s.size; {
	case n <= 4 && s.room >= 4:
		spreadBy[[4]byte](dst, src, s, 0)
	case n <= 8 && s.room >= 8:
		spreadBy[[8]byte](dst, src, s, 0)
	case n <= 16 && s.room >= 16:
		spreadBy[[16]byte](dst, src, s, 0)
	case n < 4:
		spreadBy[[1]byte](dst, src, s, n-1)
	case n < 8:
		spreadBy[[4]byte](dst, src, s, n-4)
	case n < 16:
		spreadBy[[8]byte](dst, src, s, n-8)
	case n < callLeast:
		spreadBy[[16]byte](dst, src, s, n-16)
	default:
		for i := range s.count {
			copy(dst[i*s.stride:][:n], src[i*s.step:])
		}
	}
}

// spreadBy copies pieces a W at a time; the last W of a piece is at last, and may overlap the one before.
func spreadBy[W [1]byte | [4]byte | [8]byte | [16]byte](dst, src []byte, s spreading, last int) {
	if s.count == 0 {
		return
	}
	word := len(*new(W))
	end := last + word
	to, from := unsafe.Pointer(&dst[:(s.count-1)*s.stride+end][0]), unsafe.Pointer(&src[:(s.count-1)*s.step+end][0])
	for d, x := 0, 0; s.count > 0; s.count, d, x = s.count-1, d+s.stride, x+s.step {
		for j := 0; j < last; j += word {
			*(*W)(unsafe.Add(to, d+j)) = *(*W)(unsafe.Add(from, x+j))
		}
		*(*W)(unsafe.Add(to, d+last)) = *(*W)(unsafe.Add(from, x+last))
	}
}

// line writes what the kernel sees of line y of the image from column col on to all of dst.
func (u *unfold) line(dst []byte, y, col int) {
	n := u.GroupInputs
	if y < 0 || y >= u.Height {
		fillWords(dst, u.padding)
		return
	}
	if u.Channels == n && u.DilationWidth == 1 && col >= 0 && col+u.KernelWidth <= u.Width {
		u.w.put(dst, u.x[(y*u.Width+col)*n:][:u.KernelWidth*n])
		return
	}
	size := u.pixel
	for k := range u.KernelWidth {
		at, to := col+k*u.DilationWidth, dst[k*size:(k+1)*size]
		if at >= 0 && at < u.Width {
			u.w.put(to, u.x[(y*u.Width+at)*u.Channels:][:n])
		} else {
			fillWords(to, u.padding)
		}
	}
}
