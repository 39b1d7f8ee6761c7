package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of matrix products.
var (
	Mm = Def{
		Schema:     "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::mm", Infer: inferMm, Tags: Core | Clamps,
	}
	Bmm = Def{
		Schema:     "aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::bmm", Infer: inferBmm, Tags: Core,
	}
	Addmm = Def{
		Schema:     "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::addmm", Infer: inferAddmm, Tags: Core | Clamps,
	}
	Linear = Def{
		Schema:     "aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::linear", Infer: inferLinear, Tags: Clamps,
	}
)

// inferProduct sets Out[0] to the product of args a and b, which have this rank.
func inferProduct(c *Infer, a, b, rank int) error {
	x, err := argTensor(c.Args, a)
	if err != nil {
		return err
	}
	y, err := argTensor(c.Args, b)
	if err != nil {
		return err
	}
	if x.Rank() != rank || y.Rank() != rank {
		return errDims
	}
	if x.DType != y.DType || c.Shapes.Equal(x.Sizes[rank-1], y.Sizes[rank-2]) == tensor.No {
		return errSizes
	}
	if rank == 3 && c.Shapes.Equal(x.Sizes[0], y.Sizes[0]) == tensor.No {
		return errSizes
	}
	c.Set(0, x.DType, x.Sizes[:rank-1]...)
	c.Out[0].Sizes = append(c.Out[0].Sizes, y.Sizes[rank-1])
	return nil
}

func inferMm(c *Infer) error  { return inferProduct(c, 0, 1, 2) }
func inferBmm(c *Infer) error { return inferProduct(c, 0, 1, 3) }

func inferAddmm(c *Infer) error {
	if err := inferProduct(c, 1, 2, 2); err != nil {
		return err
	}
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	lead := 2 - t.Rank()
	if lead < 0 {
		return errDims
	}
	for i, d := range t.Sizes {
		if d != 1 && c.Shapes.Equal(d, c.Out[0].Sizes[lead+i]) == tensor.No {
			return errBroadcast
		}
	}
	return nil
}

func inferLinear(c *Infer) error {
	w, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	if w.Rank() != 2 {
		return errDims
	}
	return inferLinearOf(c, [2]tensor.Dim(w.Sizes))
}

// tensorAt is the tensor that is argument i, nil where there are fewer arguments.
func tensorAt(args []Value, i int) *tensor.Tensor {
	if i < len(args) {
		return args[i].Tensor
	}
	return nil
}

// inferLinearOf is inferLinear for weights of these sizes.
func inferLinearOf(c *Infer, weights [2]tensor.Dim) error {
	t, out, err := startOut(c)
	if err != nil {
		return err
	}
	n := t.Rank() - 1
	if n < 0 {
		return errDims
	}
	if c.Shapes.Equal(t.Sizes[n], weights[1]) == tensor.No {
		return errSizes
	}
	if b := tensorAt(c.Args, 2); b != nil && (b.Rank() != 1 || c.Shapes.Equal(b.Sizes[0], weights[0]) == tensor.No) {
		return errSizes
	}
	out.Sizes = append(append(out.Sizes, t.Sizes[:n]...), weights[0])
	return nil
}

// matrixOf views the 2-dimensional t, transposed if so said. One that was packed may have no elements.
func matrixOf[T number](t *tensor.Tensor, transposed bool) matrix[T] {
	m := matrix[T]{rows: int(t.Sizes[0]), cols: int(t.Sizes[1]), cs: 1}
	if m.rs = max(m.cols, 1); !t.Contiguous() {
		m.rs, m.cs = 1, max(m.rows, 1)
	}
	if t.Data != nil {
		m.data = elems[T](t)
	}
	if transposed {
		m.rows, m.cols, m.rs, m.cs = m.cols, m.rows, m.cs, m.rs
	}
	return m
}

// packed is the State of an instruction whose right factor is constant.
type packed[T number] struct {
	data      []T
	depthwise bool        // they are the weights of a depthwise convolution
	winograd  bool        // they are the weights of one by Winograd's algorithm
	groupTier kernel.Tier // they are those of groups of few channels, for its kernels, unless it is Scalar
	order     []uint8     // as which a convolution with them sees its input
}

// preparePacked packs argument i, if it is a constant.
func preparePacked[T number](p *Prep, i int, transposed bool) (State, error) {
	t := p.Args[i].Tensor
	if t == nil || t.Data == nil || t.Rank() != 2 {
		return nil, nil
	}
	layout := "panels"
	if transposed {
		layout = "panels of rows"
	}
	p.Packed = 1 << i
	b, tiling := matrixOf[T](t, transposed), tilingOf[T](p.Tier)
	return packOf(p, t, layout, tiling.len(b.rows, b.cols), func(dst []T) { packWeights(dst, b, tiling) }), nil
}

// packOf is the State of the constant t packed into n elements.
func packOf[T number](p *Prep, t *tensor.Tensor, layout string, n int, fill func(dst []T)) *packed[T] {
	var z T
	return &packed[T]{data: sliceOf[T](p.Pack.orNew()(t, Packing{Layout: layout, Bytes: n * int(unsafe.Sizeof(z)), Fill: func(dst []byte) {
		fill(sliceOf[T](dst, n))
	}}), n)}
}

func prepareMm[T number](p *Prep) (State, error)     { return preparePacked[T](p, 1, false) }
func prepareAddmm[T number](p *Prep) (State, error)  { return preparePacked[T](p, 2, false) }
func prepareLinear[T number](p *Prep) (State, error) { return preparePacked[T](p, 1, true) }

// product computes out = a·b (+ bias); a and out are seen as matrices.
func product[T number](c *Call, s State, out, a *tensor.Tensor, b matrix[T], bias []T) error {
	x, err := contiguousOf[T](c, a)
	if err != nil {
		return err
	}
	o := elems[T](out)
	if len(o) == 0 {
		return nil
	}
	g := &keep[gemm[T]](c).job
	*g = gemm[T]{tiling: tilingOf[T](c.Tier), m: len(o) / b.cols, n: b.cols, k: b.rows, a: x, lda: b.rows, c: o, rs: b.cols, cs: 1, bias: bias}
	if w, ok := s.(*packed[T]); ok {
		g.b = w.data
	} else if g.direct = directOf(c.Tier, g.m, b); !g.direct.on {
		if g.b, err = tempOf[T](c, g.len(g.k, g.n)); err != nil {
			return err
		}
		pack(g.b, b, g.tiling)
	}
	g.run(c)
	return nil
}

// productAgain computes a product with constant weights whose last call, with a bias or without one as this one, has left all but the
// places of its operands, and reports whether it has.
func productAgain[T number](c *Call, s State, a, bias *tensor.Tensor) (done bool, err error) {
	k, left := c.kept.(*kept[gemm[T]])
	if _, constant := s.(*packed[T]); !constant || !left || !c.same || (k.job.bias == nil) != (bias == nil) {
		return false, nil
	}
	g := &k.job
	if g.a, err = contiguousOf[T](c, a); err != nil {
		return true, err
	}
	g.c, g.bias = elems[T](c.Out[0]), vectorOf[T](bias)
	g.run(c)
	return true, nil
}

func runMm[T number](c *Call, s State) error {
	if done, err := productAgain[T](c, s, c.Args[0].Tensor, nil); done {
		return err
	}
	return product(c, s, c.Out[0], c.Args[0].Tensor, matrixOf[T](c.Args[1].Tensor, false), nil)
}

func runLinear[T number](c *Call, s State) error {
	if done, err := productAgain[T](c, s, c.Args[0].Tensor, c.Args[2].Tensor); done {
		return err
	}
	bias := vectorOf[T](c.Args[2].Tensor)
	return product(c, s, c.Out[0], c.Args[0].Tensor, matrixOf[T](c.Args[1].Tensor, true), bias)
}

// vectorOf is the elements of t, nil for no tensor.
func vectorOf[T number](t *tensor.Tensor) []T {
	if t == nil {
		return nil
	}
	return elems[T](t)
}

func runAddmm[T number](c *Call, s State) error {
	if done, err := productAgain[T](c, s, c.Args[1].Tensor, c.Args[0].Tensor); done {
		return err
	}
	return addmm(c, func(bias []T) error {
		return product(c, s, c.Out[0], c.Args[1].Tensor, matrixOf[T](c.Args[2].Tensor, false), bias)
	})
}

// addmm computes beta·self + alpha·product, which gets self as its bias where that is all.
func addmm[T number](c *Call, product func(bias []T) error) error {
	self, out := c.Args[0].Tensor, c.Out[0]
	beta, alpha := scalarAs[T](&c.Args[3]), scalarAs[T](&c.Args[4])
	if beta == 1 && alpha == 1 && self.Rank() == 1 && tensor.Dim(self.Numel()) == out.Sizes[1] {
		return product(elems[T](self))
	}
	bounds := c.Bounds
	c.Bounds = nil // what is bounded is the sum
	err := product(nil)
	c.Bounds = bounds
	if err != nil {
		return err
	}
	addScaled(out, self, beta, alpha)
	clampTo(elems[T](out), c.bounds())
	return nil
}

// addScaled makes out alpha·out + beta·self; self is not looked at if beta is 0.
func addScaled[T number](out, self *tensor.Tensor, beta, alpha T) {
	v := broadcastMove(&self.Meta, &out.Meta)
	o, x := elems[T](out), elems[T](self)
	cols := v.size[1]
	for i := range v.size[0] {
		row := o[i*cols : (i+1)*cols]
		for j := range row {
			row[j] = T(alpha * row[j])
			if beta != 0 {
				row[j] += T(beta * x[i*v.src[0]+j*v.src[1]])
			}
		}
	}
}

func runBmm[T number](c *Call, _ State) error {
	out, b := c.Out[0], c.Args[1].Tensor
	x, err := contiguousOf[T](c, c.Args[0].Tensor)
	if err != nil {
		return err
	}
	j := batch[T]{y: elems[T](b), o: elems[T](out), count: int(out.Sizes[0]), workers: 1}
	stridesOf(&b.Meta, &j.strides)
	k, n, m := int(b.Sizes[1]), int(b.Sizes[2]), int(out.Sizes[1])
	j.gemm = gemm[T]{tiling: tilingOf[T](c.Tier), m: m, n: n, k: k, a: x, lda: k, rs: n, cs: 1, bounds: c.bounds()}
	if c.Parallel != nil && m*n*k < gemmParallelMin && j.count*m*n*k >= gemmParallelMin {
		j.workers = max(1, min(c.Threads, j.count))
	}
	if j.gemm.direct = directOf(c.Tier, m, j.right(0)); !j.gemm.direct.on {
		j.gemm.b, err = tempOf[T](c, j.workers*j.gemm.len(k, n))
	}
	if err != nil || out.Numel() == 0 {
		return err
	}
	if j.workers > 1 {
		share(c, &j, j.workers, 1)
		return nil
	}
	for i := range j.count {
		g := j.product(i, 0)
		g.run(c)
	}
	return nil
}

// batch is products that lie one after another, which workers divide.
type batch[T number] struct {
	gemm           gemm[T] // of all products: a, and in b room for the right factors of the workers
	y, o           []T     // right factors, as they are, and the outs
	strides        [tensor.MaxRank]int
	count, workers int
}

// right is the right factor of product i, which has elements.
func (j *batch[T]) right(i int) matrix[T] {
	s := &j.strides
	return matrix[T]{j.y[i*s[0]:], j.gemm.k, j.gemm.n, s[1], s[2]}
}

// product is product i, whose right factor it packs into the room of a worker where it is not read as it lies.
func (j *batch[T]) product(i, worker int) gemm[T] {
	g := j.gemm
	g.a, g.c = g.a[i*g.m*g.k:], j.o[i*g.m*g.n:]
	if g.direct.on {
		g.direct = g.direct.from(i * j.strides[0])
		return g
	}
	size := len(g.b) / j.workers
	if g.b = g.b[worker*size : (worker+1)*size]; g.k > 0 {
		pack(g.b, j.right(i), g.tiling)
	}
	return g
}

// parts does the shares of workers lo to hi.
func (j *batch[T]) parts(lo, hi int) {
	for w := lo; w < hi; w++ {
		for i := w * j.count / j.workers; i < (w+1)*j.count/j.workers; i++ {
			g := j.product(i, w)
			g.alone()
		}
	}
}
