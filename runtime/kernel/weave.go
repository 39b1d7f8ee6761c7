package kernel

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// weaving makes of some vectors of 16 bytes, which are a block, as many others that have the same bytes in another order; and so on with the
// blocks behind. Its layout is known to the generator.
type weaving struct {
	src         unsafe.Pointer // the first vector
	from, apart uintptr        // bytes from a vector to the next, and from a block to the next
	out         unsafe.Pointer
	to, away    uintptr        // the same of the results
	picks       unsafe.Pointer // see weavePicks
	turns       uintptr        // weaveBlocks blocks each, at least one
}

const (
	vectorBytes = 16
	// weaveMost is how many vectors a block has at most; it has two at least.
	weaveMost = 8
	// weaveTurns is how many turns a kernel takes without a pause.
	weaveTurns = 1024
	// noPick is the place of a byte that is in another vector.
	noPick = 0x80
)

// weaves reports whether there is a kernel for so few planes, and not squares, and so many pixels with elements of this size.
func weaves(size uintptr, pixels, planes int) bool {
	if weaveBlocks == 0 || planes < 2 || planes > weaveMost || size > 8 || size&(size-1) != 0 || pixels < weaveTurn(size) || moveTier() == Scalar {
		return false
	}
	sides := squareSides(moveTier(), size)
	return len(sides) == 0 || planes%sides[len(sides)-1] != 0
}

// weaveTurn is how many pixels a turn makes.
func weaveTurn(size uintptr) int { return weaveBlocks * vectorBytes / int(size) }

// weave makes pixels, whose elements lie side by side, of planes, which are gap elements apart, or planes of pixels. It reports whether there
// is a kernel for that.
func weave[T any](toPixels bool, dst, src []T, pixels, planes, gap int) bool {
	size := unsafe.Sizeof(*new(T))
	if !weaves(size, pixels, planes) {
		return false
	}
	inPlanes, inPixels := src, dst
	if !toPixels {
		inPlanes, inPixels = dst, src
	}
	_, _ = inPlanes[(planes-1)*gap+pixels-1], inPixels[planes*pixels-1]
	weaveBytes(toPixels, unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), size, pixels, planes, gap)
	return true
}

// weaveBytes is weave of elements of this size.
func weaveBytes(toPixels bool, dst, src unsafe.Pointer, size uintptr, pixels, planes, gap int) {
	turn, pixel := weaveTurn(size), uintptr(planes)*size
	w := weaving{to: vectorBytes, away: uintptr(planes) * vectorBytes, from: uintptr(gap) * size, apart: vectorBytes, picks: weavePicks(toPixels, int(size), planes)}
	read, written := size, pixel // for each pixel
	if !toPixels {
		w.from, w.apart, w.to, w.away = w.to, w.away, w.from, w.apart
		read, written = pixel, size
	}
	for at := 0; at < pixels; at += int(w.turns) * turn {
		at = min(at, pixels-turn) // what is left of a turn is done with some pixels before it
		w.turns = uintptr(min((pixels-at)/turn, weaveTurns))
		w.src, w.out = unsafe.Add(src, uintptr(at)*read), unsafe.Add(dst, uintptr(at)*written)
		w.run(planes)
	}
}

// Repeat writes each element of src as many times after one another, and reports whether there is a kernel for that.
func Repeat[T any](dst, src []T, times int) bool { return weave(true, dst, src, len(src), times, 0) }

// weavePicked are the tables that weavePicks has made, by direction, the logarithm of the size, and the number of planes.
var weavePicked [2][4][weaveMost + 1]atomic.Pointer[byte]

// weavePicks says for each byte of each result of a block where it is in the first vector, in the second one, and so on; as many times as a
// kernel does blocks at a time.
func weavePicks(toPixels bool, size, planes int) unsafe.Pointer {
	direction := 0
	if toPixels {
		direction = 1
	}
	known := &weavePicked[direction][bits.TrailingZeros(uint(size))][planes]
	if p := known.Load(); p != nil {
		return unsafe.Pointer(p)
	}
	const width = max(weaveBlocks, 1) * vectorBytes
	picks := make([]byte, planes*planes*width)
	for i := range picks {
		picks[i] = noPick
	}
	for at := range planes * vectorBytes { // of the pixels of a block
		element, part := at/size, at%size
		plane, place := element%planes, element/planes*size+part
		to, from, pick := plane*vectorBytes+place, at/vectorBytes, at%vectorBytes
		if toPixels {
			to, from, pick = at, plane, place
		}
		for lane := 0; lane < width; lane += vectorBytes {
			picks[(to/vectorBytes*planes+from)*width+lane+to%vectorBytes] = byte(pick)
		}
	}
	known.Store(&picks[0])
	return unsafe.Pointer(&picks[0])
}
