package kernel

import "unsafe"

// Picks computes rows of float32 of which each element is a sum of some elements of another row, each times a weight, the
// same way in all rows:
//
//	out[r][i] = Σ weight[i·taps+t] · x[r][at[i·taps+t]]
//
// A vector of results takes for each tap elements of one vector of x, so that at must not decrease from an i to the next.
// Its layout is known to the generator.
type Picks struct {
	x, out             *float32
	xStride, outStride uintptr // bytes from a row to the next
	plan               *uint32
	taps, blocks       uintptr
	groups             uintptr // of rows, at least 1
	xFrom, outFrom     uintptr // bytes into x and out

	tier    Tier
	row     int // elements of a row of x
	results int // elements of a row of out
}

// picksRows is how many rows the larger kernel computes side by side; picksMost is how many sums of how many taps one call
// takes at most, so that the garbage collector need not wait for long.
const (
	picksRows = 4
	picksMost = 64 << 10
)

// The words of a tap of a block, for the lanes of a vector: where its elements and its results begin, each of 64 bits, then
// which element each lane takes, and its weight.
const pickHead = 4

// PicksOf are the picks of rows of n elements by this many taps for each result; false where t has no kernel for them, or
// where a block would be of less than two results on average.
func PicksOf(t Tier, at []int, taps, n int) (Picks, bool) {
	results := len(at) / max(taps, 1)
	t = t.float().Narrow(min(n, results))
	p := Picks{tier: t, taps: uintptr(taps), row: n, results: results}
	if t == Scalar || results < lanesOf(t) {
		return p, false
	}
	for i := 0; i < results; i += p.block(at, i) {
		p.blocks++
	}
	return p, int(p.blocks)*2 <= results
}

// Lanes is how many elements of x there must be from the start of each row on, be they the row's or not, and how many
// elements of a row of results are written at least.
func (p *Picks) Lanes() int { return lanesOf(p.tier) }

// Stride is the least number of elements from a row of results to the next; what lies between them is overwritten.
func (p *Picks) Stride() int { return p.results + lanesOf(p.tier) - 1 }

// Words is how many words Plan fills.
func (p *Picks) Words() int { return int(p.blocks*p.taps) * p.tapWords() }

func (p *Picks) tapWords() int { return pickHead + 2*lanesOf(p.tier) }

// base is where the vector begins of which a tap takes the elements from at on.
func (p *Picks) base(at int) int { return max(min(at, p.row-lanesOf(p.tier)), 0) }

// block is how many results from i on make a block: the taps of all of them take elements of one vector each.
func (p *Picks) block(at []int, i int) int {
	taps, lanes := int(p.taps), lanesOf(p.tier)
	first := at[i*taps : (i+1)*taps]
	for n := 1; n < min(lanes, p.results-i); n++ {
		for t, b := range first {
			if at[(i+n)*taps+t]-p.base(b) >= lanes {
				return n
			}
		}
	}
	return min(lanes, p.results-i)
}

// Plan fills words, as many as Words says; at is that of PicksOf, and weight has as many elements.
func (p *Picks) Plan(words []uint32, at []int, weight []float32) {
	taps := int(p.taps)
	p.plan = &words[0]
	for i := 0; i < p.results; {
		n := p.block(at, i)
		for t := range taps {
			p.tap(words[:p.tapWords()], at[i*taps+t:], weight[i*taps+t:], i, n)
			words = words[p.tapWords():]
		}
		i += n
	}
}

// tap fills the words of a tap of the block of results i to i+n.
func (p *Picks) tap(words []uint32, at []int, weight []float32, i, n int) {
	const size = int(unsafe.Sizeof(weight[0]))
	taps, lanes, base := int(p.taps), lanesOf(p.tier), p.base(at[0])
	from, to := uint64(base*size), uint64(i*size)
	words[0], words[1], words[2], words[3] = uint32(from), uint32(from>>32), uint32(to), uint32(to>>32)
	places, weights := words[pickHead:pickHead+lanes], unsafe.Slice((*float32)(unsafe.Pointer(&words[pickHead+lanes])), lanes)
	for k := range places {
		places[k], weights[k] = laneWord(p.tier, 0), 0
		if k < n {
			places[k], weights[k] = laneWord(p.tier, at[k*taps]-base), weight[k*taps]
		}
	}
}

// laneWord is what names lane i of a vector to a kernel: its number, or those of its bytes.
func laneWord(t Tier, i int) uint32 {
	if t == AVX512 || t == AVX2 {
		return uint32(i)
	}
	return uint32(i)*0x04040404 + 0x03020100
}

// Run computes rows of results, stride elements apart, at least Stride, from those of x, which lie behind each other.
func (p *Picks) Run(out []float32, stride int, x []float32, rows int) {
	const size = unsafe.Sizeof(out[0])
	if rows == 0 {
		return
	}
	_, _ = x[(rows-1)*p.row+max(p.row, p.Lanes())-1], out[(rows-1)*stride+p.Stride()-1]
	p.x, p.out, p.xStride, p.outStride = &x[0], &out[0], uintptr(p.row)*size, uintptr(stride)*size
	p.xFrom, p.outFrom = 0, 0
	most := max(1, picksMost/(int(p.blocks*p.taps)*p.Lanes()*picksRows))
	for groups := rows / picksRows; groups > 0; groups -= most {
		p.groups = uintptr(min(groups, most))
		p.run(p.tier, picksRows)
	}
	if rows %= picksRows; rows > 0 {
		p.groups = uintptr(rows)
		p.run(p.tier, 1)
	}
}
