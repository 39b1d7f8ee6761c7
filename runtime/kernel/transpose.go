package kernel

import (
	"sync"
	"unsafe"
)

// transposition is a row of squares of elements of 4, 2 or 1 bytes to transpose. Its layout is known to the generator.
type transposition struct {
	src    unsafe.Pointer // one square beside the other
	from   uintptr        // bytes from a row of src to the next
	out    unsafe.Pointer // one square below the other
	to     uintptr        // bytes from a row of out to the next
	blocks uintptr        // squares, at least 1
}

// transposeBlock is how many rows of the result are written together: so many lines of the cache are in use, and not
// many more.
const transposeBlock = 64

// cacheLine is how many bytes machines fetch at a time.
const cacheLine = 64

// moveTier is the tier whose kernels move elements; all give the same bits.
var moveTier = sync.OnceValue(Best)

// Transpose sets element j of row i of dst to element i of row j of src, for n rows of m elements; rows of dst and src begin
// to and from elements apart.
func Transpose[T any](dst, src []T, n, m, to, from int) {
	switch unsafe.Sizeof(*new(T)) { // so that a program has the code once for all types of a size
	case 1:
		transpose(unsigned[uint8](dst), unsigned[uint8](src), n, m, to, from)
	case 2:
		transpose(unsigned[uint16](dst), unsigned[uint16](src), n, m, to, from)
	case 4:
		transpose(unsigned[uint32](dst), unsigned[uint32](src), n, m, to, from)
	case 8:
		transpose(unsigned[uint64](dst), unsigned[uint64](src), n, m, to, from)
	default:
		transpose(dst, src, n, m, to, from)
	}
}

// unsigned is x as numbers of the same size.
func unsigned[U, T any](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func transpose[T any](dst, src []T, n, m, to, from int) {
	if to == m && weave(true, dst, src, n, m, from) || from == n && weave(false, dst, src, m, n, to) {
		return
	}
	transposeBy(squareSides(moveTier(), unsafe.Sizeof(*new(T))), dst, src, n, m, to, from)
}

// ReadAhead reads m rows of n elements of src, which begin from apart, if they lie one after another. Transpose, which reads many rows side by
// side, takes up to twice as long for what no cache has: machines fetch ahead what is read in order.
func ReadAhead[T any](src []T, n, m, from int) {
	if from == n && n*m > 0 {
		touch(unsafe.Pointer(&src[0]), uintptr(len(src[:n*m]))*unsafe.Sizeof(src[0]))
	}
}

// touch reads a byte of each line of the cache in n bytes; their sum is there so that they are read.
//
//go:noinline
func touch(p unsafe.Pointer, n uintptr) (sum byte) {
	for i := uintptr(0); i < n; i += cacheLine {
		sum += *(*byte)(unsafe.Add(p, i))
	}
	return sum
}

// transposeBy is Transpose with squares of these sides.
func transposeBy[T any](sides []int, dst, src []T, n, m, to, from int) {
	for i := 0; i < n; i += transposeBlock {
		k, j := min(transposeBlock, n-i), 0
		for at, side := range sides {
			for ; k >= side && j+side <= m; j += side {
				transposeSquares(sides[at:], dst[i*to+j:], src[j*from+i:], k, to, from)
			}
		}
		for ; j+8 <= m; j += 8 {
			transposeEight(dst[i*to+j:], src[j*from+i:], k, to, from)
		}
		for ; j+2 <= m; j += 2 {
			transposeTwo(dst[i*to+j:], src[j*from+i:], k, to, from)
		}
		if j < m {
			at := i*to + j
			for _, x := range src[j*from+i:][:k] {
				dst[at] = x
				at += to
			}
		}
	}
}

// transposeSquares transposes n columns of as many rows as the first side: squares of it, then smaller ones, and what is left one by one.
func transposeSquares[T any](sides []int, dst, src []T, n, to, from int) {
	side := sides[0]
	whole := n / side * side
	_, _ = dst[(n-1)*to+side-1], src[(side-1)*from+n-1]
	size := unsafe.Sizeof(*new(T))
	runSquares(side, size, &transposition{unsafe.Pointer(&src[0]), uintptr(from) * size, unsafe.Pointer(&dst[0]), uintptr(to) * size, uintptr(n / side)})
	if len(sides) > 1 && n-whole >= sides[1] {
		for j := 0; j < side; j += sides[1] {
			transposeSquares(sides[1:], dst[whole*to+j:], src[j*from+whole:], n-whole, to, from)
		}
		return
	}
	for i := whole; i < n; i++ {
		o := dst[i*to:][:side]
		for j := range o {
			o[j] = src[j*from+i]
		}
	}
}

func transposeEight[T any](dst, src []T, n, to, from int) {
	x0, x1, x2, x3 := src[:n], src[from:][:n], src[2*from:][:n], src[3*from:][:n]
	x4, x5, x6, x7 := src[4*from:][:n], src[5*from:][:n], src[6*from:][:n], src[7*from:][:n]
	for i := range n {
		o := dst[i*to:][:8:8]
		o[0], o[1], o[2], o[3] = x0[i], x1[i], x2[i], x3[i]
		o[4], o[5], o[6], o[7] = x4[i], x5[i], x6[i], x7[i]
	}
}

func transposeTwo[T any](dst, src []T, n, to, from int) {
	x0, x1 := src[:n], src[from:][:n]
	for i := range n {
		o := dst[i*to:][:2:2]
		o[0], o[1] = x0[i], x1[i]
	}
}
