package kernel

import "unsafe"

// gemv is what a kernel that multiplies a matrix and a vector gets. Its layout is known to the generator.
type gemv struct {
	a      *float32 // the matrix
	stride uintptr  // bytes from a row to the next
	x, out *float32
	depth  uintptr // vectors of a row, or rows of a transposed matrix; at least 1
	blocks uintptr // of gemvHeight rows; at least 1
}

// Gemv are the products of a row-major matrix, which is read as it lies, and a vector.
type Gemv struct {
	// Lanes is what the width of a matrix is a multiple of.
	Lanes int
	tier  Tier
}

const (
	gemvHeight = 8  // the generator's
	gemvWidth  = 64 // the generator's
	// gemvMost is how many elements of a matrix one call of a kernel reads, so that the garbage collector need not wait for long.
	gemvMost = 1 << 15
	// GemvDepth is how many elements the vector of Rows has at most.
	GemvDepth = gemvMost / gemvHeight
)

// GemvF32 is the products of a tier that is not Scalar.
func GemvF32(t Tier) Gemv { return Gemv{lanesOf(t), t} }

// Rows computes o[i] = Σ a[i·stride+k]·x[k]: sums of lanes, which are added at last.
func (g Gemv) Rows(o, a []float32, stride int, x []float32) {
	n, most := len(o), GemvDepth/len(x)
	v := gemv{stride: uintptr(stride) * unsafe.Sizeof(x[0]), x: &x[0]}
	for i := 0; i < n; i += int(v.blocks) * gemvHeight {
		if i = min(i, n-gemvHeight); i < 0 {
			g.fewRows(o, a, stride, x)
			return
		}
		v.a, v.out, v.depth, v.blocks = &a[i*stride], &o[i], uintptr(len(x)/g.Lanes), uintptr(min((n-i)/gemvHeight, most))
		v.rows(g.tier)
	}
}

// fewRows is Rows of fewer rows than a kernel takes: it reads each of them as often.
func (g Gemv) fewRows(o, a []float32, stride int, x []float32) {
	var out [gemvHeight]float32
	for i := range o {
		v := gemv{a: &a[i*stride], x: &x[0], out: &out[0], depth: uintptr(len(x) / g.Lanes), blocks: 1}
		v.rows(g.tier)
		o[i] = out[0]
	}
}

// Columns computes o[j] += Σ x[i]·a[i·stride+j]; products are added one after another.
func (g Gemv) Columns(o, a []float32, stride int, x []float32) {
	wide := min(gemvWidth, gemvHeight*g.Lanes)
	for i := 0; i < len(x); i += gemvMost / gemvWidth {
		v := gemv{stride: uintptr(stride) * unsafe.Sizeof(x[0]), x: &x[i], depth: uintptr(min(gemvMost/gemvWidth, len(x)-i))}
		for j := 0; j < len(o); {
			v.a, v.out = &a[i*stride+j], &o[j]
			if len(o)-j >= wide {
				v.wide(g.tier)
				j += wide
			} else {
				v.narrow(g.tier)
				j += g.Lanes
			}
		}
	}
}
