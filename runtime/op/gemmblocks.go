package op

import (
	"slices"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// blocked are panels of int8 weights, or of 4 bits, that have scales and zero points for each column of a block of rows. A panel has its
// blocks one after another: a row of scales, one of zero points unless all of them are 0, and the weights.
type blocked struct {
	micro       *kernel.GemmMixed
	rows, count int // of a block, and how many blocks a panel has
	columns     int
	zeros       bool // whether there are zero points
	data        []byte
}

// The zero points of weights without any, and of such weights of 4 bits, which are stored as numbers from 0 on.
var noZeros, zerosS4 = [kernel.MaxCols]float32{}, func() (z [kernel.MaxCols]float32) {
	for i := range z {
		z[i] = firstS4
	}
	return z
}()

// firstS4 is what a weight of 4 bits is stored more than it is.
const firstS4 = 8

// shortestBlock is how many rows a block has at least: scales and zero points of shorter ones take more memory than float32.
const shortestBlock = 8

// blockedOf are panels that are yet to be filled, of a matrix [depth, columns]; nil where a tier has no tiles for them.
func blockedOf(t kernel.Tier, b Bytes, m matrix[int8], fit bool) *blocked {
	s := &blocked{columns: m.cols, count: max(1, len(b.Scales)/m.cols), zeros: b.Zeros != nil}
	if s.rows = m.rows / s.count; s.rows*s.count != m.rows || s.rows < shortestBlock {
		return nil
	}
	stored := kernel.StoredQ8
	broken := func(z float32) bool { return z != float32(int8(z)) }
	if fit && s.rows%2 == 0 && !slices.ContainsFunc(b.Zeros, broken) {
		stored = kernel.StoredQ4
	}
	if s.micro = kernel.MixedOf(t, stored); s.micro == nil {
		return nil
	}
	return s
}

// headBytes is the size of what lies before the weights of a block.
func (s *blocked) headBytes() int {
	if s.zeros {
		return 2 * s.micro.Cols * f32Size
	}
	return s.micro.Cols * f32Size
}

// weightBytes is the size of some rows of weights.
func (s *blocked) weightBytes(rows int) int {
	if s.micro.Stored == kernel.StoredQ4 {
		return rows / 2 * s.micro.Cols
	}
	return rows * s.micro.Cols
}

func (s *blocked) panelBytes() int { return s.count * (s.headBytes() + s.weightBytes(s.rows)) }

// bytes is the size of all panels.
func (s *blocked) bytes() int { return (s.columns + s.micro.Cols - 1) / s.micro.Cols * s.panelBytes() }

// pack fills the panels.
func (s *blocked) pack(dst []byte, b Bytes, m matrix[int8]) {
	width, turned := s.micro.Cols, make([]int8, s.rows*s.micro.Cols)
	for at := 0; at < m.cols; at += width {
		n := min(width, m.cols-at)
		for k := range s.count {
			head := sliceOf[float32](dst, s.headBytes()/f32Size)
			clear(head)
			for c := range n {
				i := min((at+c)*s.count+k, len(b.Scales)-1)
				if head[c] = b.Scales[i]; s.zeros {
					head[width+c] = b.Zeros[min(i, len(b.Zeros)-1)]
				}
			}
			dst = dst[s.headBytes():]
			pack(turned, matrix[int8]{m.data[at*m.cs+k*s.rows*m.rs:], s.rows, n, m.rs, m.cs}, tiling{cols: width})
			if s.micro.Stored == kernel.StoredQ4 {
				packS4(dst, turned, width)
				for i := range head[width:] {
					head[width+i] += firstS4
				}
			} else {
				copy(dst, bytesOf(turned))
			}
			dst = dst[s.weightBytes(s.rows):]
		}
	}
}

// packS4 puts two rows of so many weights of 4 bits into one, a multiple of 8.
func packS4(dst []byte, rows []int8, width int) {
	const lower, eights = 0x0f0f0f0f0f0f0f0f, 0x0101010101010101 * firstS4
	width /= 8
	o, x := sliceOf[uint64](dst, len(rows)/16), sliceOf[uint64](bytesOf(rows), len(rows)/8)
	for r := 0; r < len(o); r += width {
		low, high := x[2*r:][:width], x[2*r+width:][:width]
		for i := range low {
			o[r+i] = (low[i]^eights)&lower | (high[i]^eights)&lower<<4
		}
	}
}

// place gives t panel p, from row k of it on, which begins a block unless t is for Widen.
func (s *blocked) place(t *kernel.TileMixed, p, k int) {
	head := s.headBytes()
	block := s.data[p*s.panelBytes()+k/s.rows*(head+s.weightBytes(s.rows)):]
	t.Panel, t.Scales = (*float32)(unsafe.Pointer(&block[head+s.weightBytes(k%s.rows)])), (*float32)(unsafe.Pointer(&block[0]))
	t.PanelGap, t.ScaleGap = uintptr(head), uintptr(head+s.weightBytes(s.rows))
	switch {
	case s.zeros:
		t.Zeros, t.ZeroGap = (*float32)(unsafe.Pointer(&block[s.micro.Cols*f32Size])), t.ScaleGap
	case s.micro.Stored == kernel.StoredQ4:
		t.Zeros = &zerosS4[0]
	default:
		t.Zeros = &noZeros[0]
	}
}

// widen makes rows of panel p float32, from row k on.
func (s *blocked) widen(o []float32, p, k int) {
	for len(o) > 0 {
		var t kernel.TileMixed
		s.place(&t, p, k)
		n := min(len(o)/s.micro.Cols, s.rows-k%s.rows)
		s.micro.Widen(o[:n*s.micro.Cols], &t)
		o, k = o[n*s.micro.Cols:], k+n
	}
}
