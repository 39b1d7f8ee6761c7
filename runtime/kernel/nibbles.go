package kernel

import (
	"math"
	"unsafe"
)

// TileS4 is one block of a product of int8 rows with weights of 4 bits: some rows times one panel. Weights have scales by block of
// a row, by column, or both. Its layout is known to the generator.
//
//	total[r][c] = Σ over blocks b: (Σ over k in b: left[r][k] · w[k][c]) · scale[b][c]
//	sums[c]     = Σ over blocks b: (Σ over k in b: w[k][c]) · scale[b][c]
//	out[r][c]   = clamp((total[r][c] - zero[r] · sums[c]) · ColumnScales[c] · scale[r] + Bias[c], Low, High)
//
// Elements of the left factor are 128 more where tiles flip, and so are zero points. Sums of a block are exact; what is added to total
// is rounded once.
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
func (g *GemmS4) PanelBytes(n, blocks int) int { return (blocks*(pairs(n)+1) + 1) * 4 * g.Cols }

// Zero is what TileS4.Params holds for a zero point, an int8.
func (g *GemmS4) Zero(zero int32) int32 {
	if g.flips {
		zero += 128
	}
	return int32(math.Float32bits(float32(-zero)))
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

// PanelS4 are the weights of at most Cols columns.
type PanelS4 struct {
	// Weights are those of the first column: halves of bytes, each 8 more than the weight, the low one first, or, if Whole says so, int8
	// from -8 to 7.
	Weights []byte
	Whole   bool
	Stride  int // bytes from a column to the next
	Depth   int // weights of a column
	Blocks  int
	Scales  []float32 // of the blocks of each column
}

// Pack writes a panel, PanelBytes(n, p.Blocks) bytes, whose blocks have n weights, a multiple of 8 where there are several, but for the
// last one. It gives what follows.
func (g *GemmS4) Pack(panel []byte, p *PanelS4, n int) []byte {
	words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), g.PanelBytes(n, p.Blocks)/4)
	flip, factor := uint32(0), float32(1)
	if g.sixteen {
		flip, factor = 0x88888888, 1.0/16
	}
	size := (pairs(n) + 1) * g.Cols
	sums := words[p.Blocks*size:]
	for i := range words {
		words[i] = 0x88888888 ^ flip
	}
	clear(sums)
	for b := range p.Blocks {
		block, depth := words[b*size:(b+1)*size], min(n, p.Depth-b*n)
		scales := block[size-g.Cols:]
		clear(scales)
		for c := range len(p.Scales) / p.Blocks {
			sum, scale := int32(0), p.Scales[c*p.Blocks+b]
			for k := 0; k < depth; k += pairS4 {
				w := p.eightAt(c, b*n+k, depth-k)
				low, high := w&0x0f0f0f0f, w>>4&0x0f0f0f0f
				sum += int32((low+high)*0x01010101>>24) - 8*pairS4
				block[k/pairS4*g.Cols+c] = spread(low) | spread(high)<<8 ^ flip
			}
			scales[c] = math.Float32bits(scale * factor)
			sums[c] = math.Float32bits(math.Float32frombits(sums[c]) + float32(float32(sum)*scale))
		}
	}
	return panel[4*len(words):]
}

// spread gives bytes 0 and 2 of the result what bytes 0 and 1 of x hold, and, in the high halves, bytes 2 and 3.
func spread(x uint32) uint32 {
	x |= x >> 12
	return x&0xff | x&0xff00<<8
}

// eightAt are the weights of column c from k on, of which n count, as 8 halves; the others are 8.
func (p *PanelS4) eightAt(c, k, n int) (w uint32) {
	at := c*p.Stride + k
	switch {
	case p.Whole && n >= pairS4:
		x := (wordAt(p.Weights[at:]) ^ 0x0808080808080808) & 0x0f0f0f0f0f0f0f0f // 8 more
		x = (x | x>>4) & 0x00ff00ff00ff00ff
		x = (x | x>>8) & 0x0000ffff0000ffff
		return uint32(x | x>>16)
	case p.Whole:
		for i, v := range p.Weights[at:][:n] {
			w |= uint32(v+8) & 15 << (4 * i)
		}
	default:
		b := p.Weights[c*p.Stride+k/2:]
		if n >= pairS4 {
			return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		}
		for i, v := range b[:(n+1)/2] {
			w |= uint32(v) << (8 * i)
		}
	}
	valid := uint32(1)<<(4*n) - 1
	return w&valid | 0x88888888&^valid
}

// wordAt is the first 8 bytes of b, the first one lowest.
func wordAt(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// FitS4 reports whether all of x are from -8 to 7.
func FitS4(x []int8) bool {
	b, all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)), uint64(0)
	for ; len(b) >= 8 && all&0xf0f0f0f0f0f0f0f0 == 0; b = b[8:] {
		w := wordAt(b)
		all |= (w&0x7f7f7f7f7f7f7f7f + 0x0808080808080808) ^ w&0x8080808080808080 // 8 more than each
	}
	if all&0xf0f0f0f0f0f0f0f0 != 0 {
		return false
	}
	for _, v := range x[len(x)/8*8:] {
		if v < -8 || v > 7 {
			return false
		}
	}
	return true
}

// Run computes t, of 1 to Rows rows.
func (g *GemmS4) Run(t *TileS4, rows int) {
	t.masks = [3]uint32{0x0f0f0f0f, 0x08080808, 0x00010001}
	if g.sixteen {
		t.masks[0] = 0xf0f0f0f0
	}
	g.run(t, rows)
}
