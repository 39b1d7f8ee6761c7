package kernel

import "unsafe"

// TileS8 is one block of a product of matrices of integers: some rows of the left factor times one panel of the right one.
// Its layout is known to the generator.
//
//	sum[r][c] = start[c] + Σ left[r][k] · panel[k][c]
//
// Without Factors, out are these sums in int32; with them, int8: round(sum · factors[c]), at least Low and at most High, plus Zero, as
// RowsS8.Requant makes them.
type TileS8 struct {
	Left      *byte   // the first row, as GemmS8.Load made it
	Stride    uintptr // bytes from a row to the next
	Panel     *int8   // groups of Cols columns, those of all segments one after another, as GemmS8.Pack made each
	Out       unsafe.Pointer
	OutStride uintptr  // bytes
	Depth     uintptr  // groups of a segment of a row
	Start     *int32   // a number for each column
	Factors   *float32 // a number for each column, or nil
	Low, High float32
	Zero      int32
	Segments  uintptr // at least 1
	Gap       uintptr // bytes from the end of a segment to the start of the next, of all rows; it may be negative
}

// GemmS8 are the tiles of products of int8 matrices in one tier. Sums are exact as long as they fit int32.
type GemmS8 struct {
	// Rows is how many rows a tile has at most, Cols how many columns a panel has, and Narrow how many of them, the first ones, a
	// narrow tile.
	Rows, Cols, Narrow int
	// Group is how many elements of a row lie together, in 4 bytes of the left factor.
	Group int
	// Flips says that 128 is added to the elements of the left factor, so that what products start at has to be less
	// by 128 times the sum of the column.
	Flips bool
	// Lanes is the least number of elements in a row of what TapsS8 computes.
	Lanes int
	tier  Tier
}

// MaxColsS8 is the most columns that panels of integers have in any tier.
const MaxColsS8 = 32

// groupBytes is the size of a group of the left factor in bytes.
const groupBytes = 4

// IntegersOf are the tiles of t, nil for Scalar.
func IntegersOf(t Tier) *GemmS8 {
	for i := range gemmsS8 {
		if gemmsS8[i].tier == t {
			return &gemmsS8[i]
		}
	}
	return nil
}

// Groups is how many groups a row of n elements has.
func (g *GemmS8) Groups(n int) int { return (n + g.Group - 1) / g.Group }

// RowBytes is the size of a row of n elements of the left factor.
func (g *GemmS8) RowBytes(n int) int { return g.Groups(n) * groupBytes }

// Direct reports that rows of n elements of the left factor are as they are given.
func (g *GemmS8) Direct(n int) bool { return !g.Flips && g.Group == groupBytes && n%g.Group == 0 }

// PanelBytes is the size of a panel of rows of n elements.
func (g *GemmS8) PanelBytes(n int) int { return g.Groups(n) * g.Group * g.Cols }

// Pack writes one panel: at most Cols columns of n weights each, which are ld apart in w. What is missing is 0.
func (g *GemmS8) Pack(panel, w []int8, n, ld int) {
	panel = panel[:g.PanelBytes(n)]
	cols, whole := min(g.Cols, (len(w)+ld-n)/ld), n/g.Group
	if cols < g.Cols || whole*g.Group < n {
		clear(panel)
	}
	if g.Group == groupBytes {
		packGroups[[4]int8](panel, w, whole, cols, g.Cols, ld)
	} else {
		packGroups[[2]int8](panel, w, whole, cols, g.Cols, ld)
	}
	for c := 0; c < cols && whole*g.Group < n; c++ {
		copy(panel[(whole*g.Cols+c)*g.Group:], w[c*ld+whole*g.Group:c*ld+n])
	}
}

// packGroups writes the groups G of cols columns, which are ld elements apart in w, into a panel of width columns.
func packGroups[G [2]int8 | [4]int8](panel, w []int8, groups, cols, width, ld int) {
	size := len(*new(G))
	if groups == 0 || cols == 0 {
		return
	}
	if ld%size == 0 {
		ReadAhead(groupsOf[G](w), groups, cols, ld/size)
		Transpose(groupsOf[G](panel), groupsOf[G](w), groups, cols, width, ld/size)
		return
	}
	to := groupsOf[G](panel)
	for c := range cols {
		for k, x := range groupsOf[G](w[c*ld:])[:groups] {
			to[k*width+c] = x
		}
	}
}

// groupsOf sees x, all but what is left at its end, as groups.
func groupsOf[G [2]int8 | [4]int8](x []int8) []G {
	return unsafe.Slice((*G)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/len(*new(G)))
}

// Sums sets sums, Cols numbers, to those of the columns of a panel of n weights each: it multiplies them with ones.
func (g *GemmS8) Sums(sums []int32, panel []int8, n int) {
	var ones [sumsMost]uint32
	var start [MaxColsS8]int32
	one := uint32(0x00010001) // in 16 bits each
	if g.Group == groupBytes {
		one = 0x01010101
	}
	for i := range min(g.Groups(n), sumsMost) {
		ones[i] = one
	}
	for groups := g.Groups(n); groups > 0; groups -= sumsMost {
		part := min(groups, sumsMost)
		g.Run(&TileS8{Left: (*byte)(unsafe.Pointer(&ones)), Panel: &panel[0], Out: unsafe.Pointer(&sums[0]), OutStride: uintptr(4 * g.Cols), Depth: uintptr(part), Segments: 1, Start: &start[0]}, 1)
		copy(start[:], sums[:g.Cols])
		panel = panel[part*g.Group*g.Cols:]
	}
}

// sumsMost is how many groups Sums adds in one call.
const sumsMost = 512

// Load makes elements of a row of the left factor, groups from the first on: dst has RowBytes(len(x)) bytes. What the
// last group lacks is any number, for the weights there are 0.
func (g *GemmS8) Load(dst []byte, x []int8) {
	if !g.Flips && g.Group == groupBytes {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)))
		return
	}
	most := g.Lanes * g.Group // elements that a vector of the left factor has
	for len(x) >= most {
		n := min(len(x), mapMost)
		l := lines{x: unsafe.Pointer(&x[0]), out: unsafe.Pointer(&dst[0]), blocks: uintptr(n / most), zero: flipped}
		runLeft(g.tier, &l)
		n = n / most * most
		x, dst = x[n:], dst[n/g.Group*groupBytes:]
	}
	g.loadRest(dst, x)
}

// flipped has the bits that flipping changes in 4 bytes.
const flipped = -0x7f7f7f80

// loadRest is Load for few elements.
func (g *GemmS8) loadRest(dst []byte, x []int8) {
	if g.Flips {
		const word, flips = 8, 0x8080808080808080
		for ; len(x) >= word; x, dst = x[word:], dst[word:] {
			_ = dst[word-1]
			*(*uint64)(unsafe.Pointer(&dst[0])) = *(*uint64)(unsafe.Pointer(&x[0])) ^ flips
		}
		for i, v := range x {
			dst[i] = byte(v) ^ 0x80
		}
		return
	}
	for i, v := range x {
		dst[2*i], dst[2*i+1] = byte(v), byte(v>>7)
	}
}

// TapsS8 is a sum of pixels of int8, each times a line of weights, for some pixels in a row:
//
//	out[p·outStep+c] = start[c] + Σ weights[t][c] · inputs[t][p·inStep+c]
//
// Its layout is known to the generator.
type TapsS8 struct {
	Inputs       **int8  // for each tap, what the first pixel sees
	Weights      *int32  // as TapWeight makes them
	Step         uintptr // bytes from the weights of a tap to those of the next
	Count        uintptr // taps, at least 1
	Out          *int32
	Start        *int32
	blocks, tail uintptr
	Pixels       uintptr // at least 1
	InStep       uintptr // bytes from what a pixel sees to what the next one sees
	OutStep      uintptr // bytes
}

// Taps computes t with n channels, at least Lanes. A call should not take more than some 10000 channels and pixels.
func (g *GemmS8) Taps(t *TapsS8, n int) {
	t.blocks, t.tail = uintptr(n/g.Lanes), 0
	if n%g.Lanes != 0 {
		t.tail = uintptr(n - g.Lanes)
	}
	runTaps(g.tier, t)
}

// TapWeight is a weight as TapsS8 has it.
func (g *GemmS8) TapWeight(w int8) int32 {
	if g.tier >= NEON {
		return int32(w)
	}
	return int32(uint16(int16(w)))
}
