package kernel

import (
	"math"
	"unsafe"
)

// distances is what a kernel gets that adds up distances of one line from several. Its layout is known to the generator.
type distances struct {
	x, out       *float64
	y            *float32
	step         uintptr // bytes from a line of y to the next
	count        uintptr // numbers of x, at least 1
	blocks       uintptr // at least 1
	withoutSigns uint64
}

// distanceVectors is how many vectors of float64 a block has.
const distanceVectors = 4

// The most numbers and blocks that one call takes, so that the garbage collector need not wait for long.
const (
	distanceNumbers = 512
	distanceBlocks  = 8
)

// DistancesBlock is of what a line of DistancesF32 has a multiple; 0 if t has no kernel.
func DistancesBlock(t Tier) int {
	if t == Scalar {
		return 0
	}
	return distanceVectors * lanesOf(t) / 2
}

// DistancesF32 adds Σ |x[k]-y[k·n+j]| to out[j], or the sum of the squares, in float64; n is the length of out.
func DistancesF32(t Tier, out, x []float64, y []float32, squares bool) {
	n, block := len(out), DistancesBlock(t)
	d := distances{step: uintptr(n) * unsafe.Sizeof(y[0]), withoutSigns: math.MaxInt64}
	for k := 0; k < len(x); k += distanceNumbers {
		part := x[k:min(k+distanceNumbers, len(x))]
		for j := 0; j < n; j += distanceBlocks * block {
			d.x, d.y, d.out = &part[0], &y[k*n+j:][:(len(part)-1)*n+block][0], &out[j]
			d.count, d.blocks = uintptr(len(part)), uintptr(min(distanceBlocks, (n-j)/block))
			d.run(t, squares)
		}
	}
}
