package kernel

import (
	"math"
	"unsafe"
)

// TileS4 is one block of a product of int8 rows with weights of 4 bits: some rows times one panel. Weights have scales by block of
// a row, by column, or both. Its layout is known to the generator.
//
//	total[r][c] = Σ over blocks b: (Σ over k in b: (left[r][k] - zero[r]) · w[k][c]) · scale[b][c]
//	out[r][c] = clamp(total[r][c] · ColumnScales[c] · scale[r] + Bias[c], Low, High)
//
// Sums of a block are exact, and each other operation is rounded, one block after the other.
type TileS4 struct {
	Left         *byte // the first row, as GemmS4.Load made it
	Stride       uintptr
	Panel        *byte // as GemmS4.Pack made it
	Out          *float32
	OutStride    uintptr
	Pairs        uintptr     // of groups of 4 elements, in a block
	Blocks       uintptr     // at least 1
	Params       *DynamicRow // of each row, with a zero point as GemmS4.Zero makes it
	ColumnScales *float32    // Cols numbers
	Bias         *float32    // Cols numbers
	Low, High    float32
	masks        [3]uint32
	highs        uint32 // the high half of a word, where a scale is
}

// GemmS4 are the tiles of products with weights of 4 bits in one tier.
type GemmS4 struct {
	// Rows is how many rows a tile has at most, Cols how many columns a panel has.
	Rows, Cols int
	// sixteen says that kernels take weights times 16, flips that 128 is added to the elements of the left factor.
	sixteen, flips bool
	tier           Tier
}

const (
	// pairS4 is how many elements of a row two groups have, which share the bytes of a panel.
	pairS4 = 8
	// MostBlockS4 is the longest block whose sum of weights fits a panel.
	MostBlockS4 = 4088
	// MostDepthS4 is how many elements a row may have, so that a tile takes less than 100 µs.
	MostDepthS4 = 32 << 10
	// MaxRowsS4 is the most rows that tiles have in any tier, MaxColsS4 the most columns.
	MaxRowsS4 = 6
	MaxColsS4 = 32
)

// NibblesOf are the tiles of t, nil where there are none.
func NibblesOf(t Tier) *GemmS4 {
	for i := range gemmsS4 {
		if gemmsS4[i].tier == t {
			return &gemmsS4[i]
		}
	}
	return nil
}

// RowBytes is the size of a row of n elements of the left factor.
func (g *GemmS4) RowBytes(n int) int { return pairs(n) * pairS4 }

func pairs(n int) int { return (n + pairS4 - 1) / pairS4 }

// PanelBytes is the size of a panel of this many blocks of n elements.
func (g *GemmS4) PanelBytes(n, blocks int) int { return blocks * (pairs(n) + 1) * 4 * g.Cols }

// Zero is what TileS4.Params holds for a zero point, an int8.
func (g *GemmS4) Zero(zero int32) int32 {
	if g.flips {
		zero += 128
	}
	if g.sixteen {
		zero *= 16
	}
	if g.flips { // x86 multiplies the low halves only
		return int32(uint16(-zero))
	}
	return -zero
}

// Scale is a block's scale as a panel has it; ok is false if there is no such number.
func (g *GemmS4) Scale(scale float32) (bits uint32, ok bool) {
	if g.sixteen {
		small := scale / 16
		ok, scale = small*16 == scale, small
	} else {
		ok = true
	}
	bits = math.Float32bits(scale)
	return bits, ok && bits&0xffff == 0
}

// Direct reports that rows of n elements of the left factor are as they are given.
func (g *GemmS4) Direct(n int) bool { return !g.flips && n%pairS4 == 0 }

// Load makes a row of the left factor; dst has RowBytes(len(x)) bytes. What the last group lacks is any number.
func (g *GemmS4) Load(dst []byte, x []int8) {
	from := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	if !g.flips {
		copy(dst, from)
		return
	}
	if whole := IntegersOf(g.tier); whole.Flips {
		whole.Load(dst, x)
		return
	}
	for ; len(from) >= pairS4; from, dst = from[pairS4:], dst[pairS4:] {
		*(*uint64)(unsafe.Pointer(&dst[0])) = *(*uint64)(unsafe.Pointer(&from[0])) ^ 0x8080808080808080
	}
	for i, v := range from {
		dst[i] = v ^ 0x80
	}
}

// BlockS4 is a block of weights of at most Cols columns: halves of bytes, each 8 more than the weight, the low one first.
type BlockS4 struct {
	Weights []byte   // of the first column, from the block on
	Stride  int      // bytes from a column to the next
	Depth   int      // weights of a column; a multiple of 8 but for a last block
	Scales  []uint32 // of columns, as GemmS4.Scale makes them
}

// Pack writes one block of a panel of blocks of n elements, PanelBytes(n, 1) bytes, and gives what follows.
func (g *GemmS4) Pack(panel []byte, b *BlockS4, n int) []byte {
	words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), g.PanelBytes(n, 1)/4)
	flip := uint32(0)
	if g.sixteen {
		flip = 0x88888888
	}
	last := pairs(n) * g.Cols
	for i := range words[:last] {
		words[i] = 0x88888888 ^ flip
	}
	clear(words[last:])
	for c, scale := range b.Scales {
		column, sum := b.Weights[c*b.Stride:], int32(0)
		for k := 0; k < b.Depth; k += pairS4 {
			w := eightAt(column[k/2:], b.Depth-k)
			low, high := w&0x0f0f0f0f, w>>4&0x0f0f0f0f
			sum += int32((low+high)*0x01010101>>24) - 8*pairS4
			words[k/pairS4*g.Cols+c] = spread(low) | spread(high)<<8 ^ flip
		}
		words[last+c] = scale | uint32(uint16(sum))
	}
	return panel[4*len(words):]
}

// spread gives bytes 0 and 2 of the result what bytes 0 and 1 of x hold, and, in the high halves, bytes 2 and 3.
func spread(x uint32) uint32 {
	x |= x >> 12
	return x&0xff | x&0xff00<<8
}

// eightAt are the first 8 halves of b, of which n count; the others are 8.
func eightAt(b []byte, n int) uint32 {
	if n >= pairS4 {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	w := uint32(0)
	for i, v := range b[:(n+1)/2] {
		w |= uint32(v) << (8 * i)
	}
	valid := uint32(1)<<(4*n) - 1
	return w&valid | 0x88888888&^valid
}

// Run computes t, of 1 to Rows rows.
func (g *GemmS4) Run(t *TileS4, rows int) {
	t.masks, t.highs = [3]uint32{0x0f0f0f0f, 0x08080808, 0x00010001}, 0xffff0000
	if g.sixteen {
		t.masks[0] = 0xf0f0f0f0
	}
	g.run(t, rows)
}
