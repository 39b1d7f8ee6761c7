package op

// convBlock is how many output positions are unfolded at a time.
const convBlock = 64

// convWorkers is into how many shares a large convolution is divided.
const convWorkers = 8

// pointwise reports that each output sees the one position that it has itself: the phases of a transposed convolution may have more
// outputs than positions.
func (c *conv) pointwise() bool {
	one, zero := triple{1, 1, 1}, triple{}
	return c.kernel == one && c.stride == one && c.pad == zero && c.in.size == c.out.size && !c.transposed
}

// direct reports that rows of the input are rows of the unfolded input.
func (c *conv) direct() bool { return c.pointwise() && c.channelsInner }

// convJob is a convolution with its data.
type convJob[T number] struct {
	conv
	x, y, w, bias []T
	rows          []T // space for the unfolded input of every worker
	workers       int
	chunk         int // output positions that are unfolded at a time
	bounds        [2]float32
}

// work is the number of multiplications.
func (j *convJob[T]) work() int {
	return j.out.size.product() * j.out.batch * j.out.channels * j.depth()
}

// convGemm computes a convolution by products, group by group.
func convGemm[T number](call *Call, j convJob[T]) error {
	j.workers, j.chunk = 1, convBlock
	if call.Parallel != nil && j.work() >= gemmParallelMin {
		j.workers = convWorkers
		j.chunk = min(convBlock, max(8, (j.out.size.product()+convWorkers-1)/convWorkers))
	}
	if !j.direct() {
		rows, err := tempOf[T](call, j.workers*j.chunk*j.depth())
		if err != nil {
			return err
		}
		j.rows = rows
	}
	if j.workers == 1 {
		j.part(0)
	} else {
		share(call, &j, j.workers, 1)
	}
	if j.micro == nil {
		clampTo(j.y, j.bounds)
	}
	return nil
}

// parts does the shares of workers lo to hi, or rows lo to hi of a depthwise convolution.
func (j *convJob[T]) parts(lo, hi int) {
	if j.depthwise() {
		j.depthwiseRows(lo, hi)
		return
	}
	for i := lo; i < hi; i++ {
		j.part(i)
	}
}

// blocks is the number of blocks of output positions of one image.
func (j *convJob[T]) blocks() int { return (j.out.size.product() + j.chunk - 1) / j.chunk }

// part does the share of worker i of all blocks of all images and groups.
func (j *convJob[T]) part(i int) {
	blocks := j.blocks()
	total := blocks * j.out.batch * j.groups
	for b := total * i / j.workers; b < total*(i+1)/j.workers; b++ {
		j.block(b/blocks, b%blocks*j.chunk, i)
	}
}

// block computes up to chunk output positions of pair p of an image and a group, from position pos on.
func (j *convJob[T]) block(p, pos, worker int) {
	n, g := p/j.groups, p%j.groups
	m := min(j.chunk, j.out.size.product()-pos)
	depth, o := j.depth(), &j.out
	size := j.len(depth, j.outPer)
	job := gemm[T]{tiling: j.tiling, m: m, n: j.outPer, k: depth, lda: depth, b: j.w[g*size : (g+1)*size], rs: o.step[2], cs: o.sc,
		bounds: j.bounds}
	if j.bias != nil {
		job.bias = j.bias[g*j.outPer : (g+1)*j.outPer]
	}
	from := n*j.in.sn + g*j.inPer*j.in.sc
	if j.direct() {
		job.a, job.lda = j.x[from+pos*j.in.step[2]:], j.in.step[2]
	} else {
		job.a = j.rows[worker*j.chunk*depth:][:m*depth]
		j.unfold(job.a, j.x[from:], pos, m)
	}
	job.c = j.y[n*o.sn+g*j.outPer*o.sc+pos*o.step[2]:]
	job.block(0, m, 0, job.panels(job.n))
}

// unfold writes for each of m output positions the inputs that the kernel sees there.
func (j *convJob[T]) unfold(dst, x []T, pos, m int) {
	depth := j.depth()
	size := &j.out.size
	for i := range m {
		p := pos + i
		at := triple{p / (size[1] * size[2]), p / size[2] % size[1], p % size[2]}
		j.unfoldRow(dst[i*depth:(i+1)*depth], x, at)
	}
}

// unfoldRow writes the row of one output position.
func (j *convJob[T]) unfoldRow(row, x []T, at triple) {
	t, in := 0, &j.in
	for kd := range j.kernel[0] {
		d := j.source(0, at[0], kd)
		for kh := range j.kernel[1] {
			h := j.source(1, at[1], kh)
			for kw := range j.kernel[2] {
				w := j.source(2, at[2], kw)
				if d < 0 || h < 0 || w < 0 {
					j.tap(row, nil, t)
				} else {
					j.tap(row, x[d*in.step[0]+h*in.step[1]+w*in.step[2]:], t)
				}
				t++
			}
		}
	}
}

// tap writes the channels of tap t, which start at x; zeros if x is nil.
func (j *convJob[T]) tap(row, x []T, t int) {
	at, step := t, j.taps()
	if j.channelsInner {
		at, step = t*j.inPer, 1
		if x != nil && j.in.sc == 1 {
			copy(row[at:at+j.inPer], x)
			return
		}
	}
	for c := range j.inPer {
		if x == nil {
			row[at] = 0
		} else {
			row[at] = x[c*j.in.sc]
		}
		at += step
	}
}

// convDepthwise computes a convolution of single channels, tap by tap.
func convDepthwise[T number](call *Call, j *convJob[T]) error {
	rows := j.out.batch * j.out.size[0] * j.out.size[1]
	if !j.channelsInner {
		rows *= j.out.channels
	}
	if call.Parallel == nil || len(j.y)*j.taps() < gemmParallelMin {
		j.depthwiseRows(0, rows)
	} else {
		share(call, j, rows, max(1, gemmParallelMin/4/max(1, len(j.y)/rows*j.taps())))
	}
	clampTo(j.y, j.bounds)
	return nil
}

// depthwiseRows computes rows of the output: of one channel, or of all if those are innermost.
func (j *convJob[T]) depthwiseRows(lo, hi int) {
	o := &j.out
	for r := lo; r < hi; r++ {
		h, d, c := r%o.size[1], r/o.size[1]%o.size[0], r/(o.size[1]*o.size[0])
		if j.channelsInner {
			j.rowInner(c, d, h)
		} else {
			j.rowOuter(c/o.channels, c%o.channels, d, h)
		}
	}
}

// rowOuter computes one row of channel c of image n.
func (j *convJob[T]) rowOuter(n, c, d, h int) {
	o, in := &j.out, &j.in
	at := n*o.sn + c*o.sc + d*o.step[0] + h*o.step[1]
	row := j.y[at : at+o.size[2]]
	var start T
	if j.bias != nil {
		start = j.bias[c]
	}
	for i := range row {
		row[i] = start
	}
	for t := range j.taps() {
		sd, sh := j.source(0, d, t/(j.kernel[1]*j.kernel[2])), j.source(1, h, t/j.kernel[2]%j.kernel[1])
		if sd < 0 || sh < 0 {
			continue
		}
		from := n*in.sn + c/j.outPer*in.sc + sd*in.step[0] + sh*in.step[1]
		j.addTap(row, j.x[from:from+in.size[2]], j.w[t*o.channels+c], t%j.kernel[2])
	}
}

// addTap adds w times the inputs in x that tap k of the last axis sees.
func (j *convJob[T]) addTap(row, x []T, w T, k int) {
	stride, shift := j.stride[2], k*j.dilation[2]-j.pad[2]
	lo := max(0, (-shift+stride-1)/stride)
	if lo >= len(row) || lo*stride+shift >= len(x) {
		return
	}
	row, x = row[lo:], x[lo*stride+shift:]
	if stride == 1 {
		n := min(len(row), len(x))
		row, x = row[:n], x[:n]
		for i, y := range x {
			row[i] += T(w * y)
		}
		return
	}
	row = row[:min(len(row), (len(x)+stride-1)/stride)]
	for i := range row {
		row[i] += T(w * x[i*stride])
	}
}

// rowInner computes one row of all channels of image n.
func (j *convJob[T]) rowInner(n, d, h int) {
	o := &j.out
	for i := range o.size[2] {
		at := n*o.sn + d*o.step[0] + h*o.step[1] + i*o.step[2]
		row := j.y[at : at+o.channels]
		clear(row)
		copy(row, j.bias)
		j.pointInner(row, n, triple{d, h, i})
	}
}

// pointInner adds every tap to the channels of one output position.
func (j *convJob[T]) pointInner(row []T, n int, at triple) {
	in := &j.in
	for t := range j.taps() {
		d := j.source(0, at[0], t/(j.kernel[1]*j.kernel[2]))
		h, w := j.source(1, at[1], t/j.kernel[2]%j.kernel[1]), j.source(2, at[2], t%j.kernel[2])
		if d < 0 || h < 0 || w < 0 {
			continue
		}
		from := n*in.sn + d*in.step[0] + h*in.step[1] + w*in.step[2]
		x, weights := j.x[from:from+in.channels], j.w[t*len(row):][:len(row)]
		if j.outPer == 1 {
			for c, y := range x[:len(row)] {
				row[c] += T(weights[c] * y)
			}
			continue
		}
		for c := range row {
			row[c] += T(weights[c] * x[c/j.outPer])
		}
	}
}
