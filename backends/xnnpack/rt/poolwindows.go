package rt

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// windowMost is how many elements of a window the kernel of whole windows takes here.
const windowMost = 64

// whole computes a row of results by a kernel that combines all elements of a window, and reports whether there is one: for few
// channels there is none, nor where a window lies beside the image.
func (j *pool[T]) whole(o []T, row int) bool {
	if taps := j.Height * j.Width; taps > windowMost || !j.kind.Has(j.kind.Tier(j.tier, j.c), taps, j.c) {
		return false
	}
	top, rows := inside(row, j.h, j.Height, j.StrideHeight, j.DilationHeight, j.Top)
	for i, n := 0, 0; i < j.outW; i += n {
		left, columns := inside(i, j.w, j.Width, j.StrideWidth, j.DilationWidth, j.Left)
		if rows < 1 || columns < 1 {
			return false
		}
		if n = 1; columns == j.Width {
			n = min(j.outW, (j.w+j.Left-1-(j.Width-1)*j.DilationWidth)/j.StrideWidth+1) - i
		}
		j.windows(o[i*j.c:(i+n)*j.c], j.x[(top*j.w+left)*j.c:], rows, columns)
	}
	return true
}

// windows computes windows beside each other with these rows and columns, the first one with its first element at x.
func (j *pool[T]) windows(o, x []T, rows, columns int) {
	var inputs [windowMost]*T
	for r := range rows {
		for k := range columns {
			inputs[r*columns+k] = &x[(r*j.DilationHeight*j.w+k*j.DilationWidth)*j.c]
		}
	}
	size := unsafe.Sizeof(*new(T))
	p := kernel.Pool{Inputs: floatPointers(inputs[:]), Count: uintptr(rows * columns), Out: floatPointer(&o[0]), Step: uintptr(j.StrideWidth*j.c) * size,
		Next: uintptr(j.c) * size, Positions: uintptr(len(o) / j.c), Scale: 1 / float32(rows*columns), Kind: j.kind}
	p.Run(j.kind.Tier(j.tier, j.c), j.c)
}

// floatPointer and floatPointers are how a kernel.Pool takes elements of any kind.
func floatPointer[T float32 | int8](p *T) *float32 { return (*float32)(unsafe.Pointer(p)) }

func floatPointers[T float32 | int8](p []*T) **float32 { return (**float32)(unsafe.Pointer(&p[0])) }
