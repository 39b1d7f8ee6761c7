package op

import (
	"errors"
	"math"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// FastHadamardTransform multiplies the rows of mat, of 2ⁿ or 28·2ⁿ elements, by a Hadamard matrix: H[i,j] = -1 to the number of ones that i and j have in
// common, times 2^(-n/2). A row of 28·2ⁿ elements is a matrix of 28 rows, each of which is transformed so; then a matrix of 28 times 28 ones, which
// is not normalized, is multiplied by that. The sums of a row differ from exact ones by at most (n+28)·2⁻²⁴·Σ|x| in Float.
var FastHadamardTransform = Def{
	Schema:     "llama::fast_hadamard_transform.out(Tensor mat, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "llama::fast_hadamard_transform", Infer: inferHadamard,
}

var errHadamardSize = errors.New("check the last size: it must be a power of 2, or 28 times one")

// hadamardRows is how many rows the matrix has that is no power of 2.
const hadamardRows = 28

// hadamard28 is Williamson's Hadamard matrix as had_28_will in ExecuTorch's special_hadamard_code_gen.py: bit j of word i says that H[i,j] is -1.
var hadamard28 = [hadamardRows]uint32{
	0xcd69e7e, 0x9ad7c7d, 0x37ab8fb, 0x6d571f7, 0xd8ae3ef, 0xb3587df, 0x66b4f3f,
	0xb467f43, 0x6acbe87, 0xd593d8e, 0xab27b9c, 0x564f7b8, 0xac9aff0, 0x5b31fe1,
	0x87fb325, 0x0ff66ca, 0x1decd95, 0x39ddb2a, 0x71bf654, 0xe17eca9, 0xc2fd9d2,
	0xfcf1299, 0xfbe2532, 0xf7c4ae4, 0xef8d549, 0xdf1ea13, 0xbe3d4a6, 0x7e7a94c,
}

// hadamardGo is up to how many elements, 8 times 8, are transformed by Go, before runs of them are added and subtracted by vectors.
const hadamardGo = 64

// hadamardBlocks is in how many blocks rows of n elements are transformed, and how many elements those have; ok is false where there is no such transform.
func hadamardBlocks(n int64) (blocks, size int, ok bool) {
	blocks = 1
	if n%hadamardRows == 0 {
		blocks = hadamardRows
	}
	size = int(n) / blocks
	return blocks, size, size&(size-1) == 0
}

func inferHadamard(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if s := t.Sizes; len(s) > 0 && !slices.Contains(s, 0) && !tensor.IsSymbol(s[len(s)-1]) {
		if _, _, ok := hadamardBlocks(s[len(s)-1]); !ok {
			return errHadamardSize
		}
	}
	return inferLike(c)
}

// hadamard is a job: transforming rows.
type hadamard[T float] struct {
	tier         kernel.Tier
	x, o         []T
	blocks, size int
	factor       []T // one
	slots        Slots
	scratch      []T
	room         int // for a row and two blocks
}

func runHadamard[T float](c *Call, _ State) error {
	x, o, err := plainPair[T](c)
	if err != nil || len(o) == 0 {
		return err
	}
	n := int64(1)
	if s := c.Args[0].Tensor.Sizes; len(s) > 0 {
		n = s[len(s)-1]
	}
	j := hadamard[T]{tier: c.Tier, x: x, o: o}
	var ok bool
	if j.blocks, j.size, ok = hadamardBlocks(n); !ok {
		return errHadamardSize
	}
	rows := len(x) / int(n)
	j.slots = Slots{Count: min(rows, c.Threads, MaxSlots), Items: rows}
	j.room = int(n) + 2*j.size + SlotGap/f32Size
	scratch, err := tempOf[T](c, 1+j.slots.Count*j.room)
	if err != nil {
		return err
	}
	j.factor, j.scratch = scratch[:1], scratch[1:]
	j.factor[0] = T(1 / math.Sqrt(float64(j.size)))
	share(c, &j, rows, max(1, parallelMin/int(n)))
	finish(c, o)
	return nil
}

func (j *hadamard[T]) parts(lo, hi int) {
	mine := j.slots.Enter(lo)
	defer j.slots.Leave(mine)
	room := j.scratch[mine*j.room:][:j.room]
	n := j.blocks * j.size
	for r := lo; r < hi; r++ {
		j.row(j.o[r*n:][:n], j.x[r*n:][:n], room)
	}
}

// row transforms x, which o may be.
func (j *hadamard[T]) row(o, x, room []T) {
	if j.blocks == 1 {
		j.block(o, x, room)
		return
	}
	y := room[:len(x)]
	for at := 0; at < len(x); at += j.size {
		j.block(y[at:][:j.size], x[at:][:j.size], room[len(x):])
	}
	clear(o)
	for i, minus := range hadamard28 {
		var signs [hadamardRows]T
		for k := range signs {
			signs[k] = 1 - 2*T(minus>>k&1)
		}
		sumRows(j.tier, o[i*j.size:][:j.size], y, signs[:])
	}
}

// sumRows adds the rows of y, as many as weights and as long as o, times those to o.
func sumRows[T float](t kernel.Tier, o, y, weights []T) {
	if isFloat32[T]() && t != kernel.Scalar {
		if g := kernel.GemvF32(t); len(o)%g.Lanes == 0 {
			g.Columns(floats(o), floats(y), len(o), floats(weights))
			return
		}
	}
	for k, w := range weights {
		for i, v := range y[k*len(o):][:len(o)] {
			o[i] += T(w * v)
		}
	}
}

// block transforms x, of 2ⁿ elements, which o may be; room has twice as many.
func (j *hadamard[T]) block(o, x, room []T) {
	y, z := room[:len(x)], room[len(x):][:len(x)]
	copy(y, x)
	most := min(len(y), hadamardGo)
	for at := 0; at < len(y); at += most {
		butterflies(y[at:][:most])
	}
	for step := most; step < len(y); step *= 2 {
		for at := 0; at < len(y); at += 2 * step {
			sumAndDifference(j.tier, z[at:][:step], z[at+step:][:step], y[at:][:step], y[at+step:][:step])
		}
		y, z = z, y
	}
	if isFloat32[T]() && kernel.MulF32(j.tier, floats(o), floats(y), floats(j.factor)) {
		return
	}
	for i, v := range y {
		o[i] = v * j.factor[0]
	}
}

// sumAndDifference sets sum to x + y and difference to x - y; without kernels they may be x and y.
func sumAndDifference[T float](t kernel.Tier, sum, difference, x, y []T) {
	if isFloat32[T]() && kernel.AddF32(t, floats(sum), floats(x), floats(y)) && kernel.SubF32(t, floats(difference), floats(x), floats(y)) {
		return
	}
	for i, v := range x {
		w := y[i]
		sum[i], difference[i] = v+w, v-w
	}
}

// butterflies transforms x, of 2ⁿ elements but no more than hadamardGo, without the factor: three steps at a time, then those that are left.
func butterflies[T float](x []T) {
	step := 1
	if len(x) >= 8 {
		step = 8
		for i := 0; i < len(x); i += 8 {
			y := (*[8]T)(x[i:])
			y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7] = transform8(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7])
		}
	}
	if len(x) == hadamardGo {
		y := (*[hadamardGo]T)(x)
		for k := range 8 {
			y[k], y[k+8], y[k+16], y[k+24], y[k+32], y[k+40], y[k+48], y[k+56] = transform8(y[k], y[k+8], y[k+16], y[k+24], y[k+32], y[k+40], y[k+48], y[k+56])
		}
		return
	}
	for ; step < len(x); step *= 2 {
		for i := 0; i < len(x); i += 2 * step {
			sumAndDifference(kernel.Scalar, x[i:][:step], x[i+step:][:step], x[i:][:step], x[i+step:][:step])
		}
	}
}

func transform8[T float](a, b, c, d, e, f, g, h T) (_, _, _, _, _, _, _, _ T) {
	a, b, c, d = transform4(a, b, c, d)
	e, f, g, h = transform4(e, f, g, h)
	return a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h
}

func transform4[T float](a, b, c, d T) (_, _, _, _ T) {
	a, b = a+b, a-b
	c, d = c+d, c-d
	return a + c, b + d, a - c, b - d
}
