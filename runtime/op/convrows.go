package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// rowsJob is a convolution whose left factor is the weights, a row for each output channel.
type rowsJob struct {
	convJob[float32]
	planes phases
	space  []float32 // where padded planes go, or nil
	pads   bool      // whether the pieces are channels to pad, not panels
	x      []float32 // one image
	y      []float32
	panels []float32 // the unfolded input of every worker
	taps   []int64   // where each tap lies in a plane
	scatter
}

// convRows computes a convolution by the rows of its weights, image by image.
func convRows(call *Call, j *convJob[float32]) error {
	k := keep[rowsJob](call)
	r := &k.job
	*r = rowsJob{convJob: *j}
	if err := r.layOut(call); err != nil {
		return err
	}
	for n := range j.out.batch {
		r.product(call, j.x[n*j.in.sn:], j.y[n*j.out.sn:], k.run)
	}
	return nil
}

// layOut decides all that depends on sizes alone, and makes room.
func (j *rowsJob) layOut(call *Call) (err error) {
	j.workers = 1
	if call.Parallel != nil && j.work()/max(1, j.out.batch) >= gemmParallelMin {
		j.workers = convWorkers
	}
	j.planes = phasesOf(&j.conv)
	if j.scatters() {
		if j.offsets, err = tempOf[int64](call, j.depth()); err != nil {
			return err
		}
	} else if j.panels, err = tempOf[float32](call, j.workers*j.cols*j.depth()); err != nil {
		return err
	}
	if j.taps, err = tempOf[int64](call, j.conv.taps()); err != nil {
		return err
	}
	for k := range j.taps {
		j.taps[k] = int64(j.planes.tap(k))
	}
	if !j.asItLies() {
		if j.space, err = tempOf[float32](call, j.in.channels*j.planes.space()); err != nil {
			return err
		}
		clear(j.space)
	}
	if j.offsets != nil {
		j.fillOffsets()
	}
	return nil
}

// product computes image y of image x. run is parts, for call.
func (j *rowsJob) product(call *Call, x, y []float32, run func(lo, hi int)) {
	j.x, j.y = x, y
	if j.space != nil {
		j.fill(call, run)
	}
	units := j.workers
	if j.offsets != nil {
		units = j.units()
	}
	if j.workers == 1 {
		j.parts(0, units)
	} else {
		call.Parallel(units, 1, run)
	}
}

// asItLies reports that the planes are those of the input.
func (j *rowsJob) asItLies() bool {
	return j.pad == triple{} && j.stride[1] == 1 && j.stride[2] == 1
}

// planeStep is how far the planes of a channel are from the next's.
func (j *rowsJob) planeStep() int {
	if j.asItLies() {
		return j.in.sc
	}
	return j.planes.space()
}

// fill makes x the padded planes of its channels.
func (j *rowsJob) fill(call *Call, run func(lo, hi int)) {
	j.pads = true
	if j.workers == 1 {
		j.parts(0, j.in.channels)
	} else {
		call.Parallel(j.in.channels, max(1, parallelGrain/max(1, j.planes.space())), run)
	}
	j.x, j.pads = j.space, false
}

// parts pads channels lo to hi, or computes units, or does the shares of workers.
func (j *rowsJob) parts(lo, hi int) {
	for i := lo; i < hi; i++ {
		switch {
		case j.pads:
			spreadChannel(&j.planes, j.space[i*j.planes.space():], j.x[i*j.in.sc:])
		case j.offsets != nil:
			j.unit(i)
		default:
			j.part(i)
		}
	}
}

// part does the share of worker i of all panels of positions of all groups.
func (j *rowsJob) part(i int) {
	blocks := j.panelsOf()
	total := blocks * j.groups
	for b := total * i / j.workers; b < total*(i+1)/j.workers; b++ {
		j.block(b/blocks, b%blocks*j.cols, i)
	}
}

func (j *rowsJob) panelsOf() int { return j.tiling.panels(j.out.size.product()) }

// block computes a panel of output positions of group g, from position pos on.
func (j *rowsJob) block(g, pos, worker int) {
	m := min(j.cols, j.out.size.product()-pos)
	depth, o, cols := j.depth(), &j.out, j.width(m)
	panel := j.panels[worker*j.cols*depth:][:cols*depth]
	j.unfoldPanel(panel, cols, g, pos, m)
	t := kernel.Tile{Stride: uintptr(depth * f32Size), Panel: at32(panel, 0), OutStride: uintptr(o.sc * f32Size), Depth: uintptr(depth),
		Segments: 1, Start: &zeros[0], Low: j.bounds[0], High: j.bounds[1]}
	y := j.y[g*j.outPer*o.sc+pos:]
	var edge [kernel.MaxRows * kernel.MaxCols]float32
	if m < cols {
		t.OutStride = uintptr(cols * f32Size)
	}
	step := balanced(j.outPer, j.micro.Rows)
	for c := 0; c < j.outPer; c += step {
		rows := min(step, j.outPer-c)
		t.Left = at32(j.w, (g*j.outPer+c)*depth)
		if j.bias != nil {
			t.RowStart = at32(j.bias, g*j.outPer+c)
		}
		if m == cols {
			t.Out = at32(y, c*o.sc)
			j.run(&t, rows, cols)
			continue
		}
		t.Out = &edge[0]
		j.run(&t, rows, cols)
		for i := range rows {
			copy(unsafe.Slice(at32(y, (c+i)*o.sc), m), edge[i*cols:])
		}
	}
}

// unfoldPanel writes for each channel of group g and tap what m output positions from pos on see of it, and zeros up to cols.
func (j *rowsJob) unfoldPanel(dst []float32, cols, g, pos, m int) {
	if m < cols {
		clear(dst)
	}
	size := &j.out.size
	at := triple{pos / (size[1] * size[2]), pos / size[2] % size[1], pos % size[2]}
	step := j.planeStep()
	for ci := range j.inPer {
		x := j.x[(g*j.inPer+ci)*step:]
		for _, tap := range j.taps {
			j.copyTap(dst[:m], x[tap:], at)
			dst = dst[cols:]
		}
	}
}

// copyTap writes what output positions from at on see of the planes of a channel.
func (j *rowsJob) copyTap(row, planes []float32, at triple) {
	for {
		from := j.planes.first(at[0]) + at[1]*j.planes.width + at[2]
		if len(row) == 1 { // a call of copy takes longer
			row[0] = planes[from]
			return
		}
		if row = row[copy(row[:min(len(row), j.out.size[2]-at[2])], planes[from:]):]; len(row) == 0 {
			return
		}
		at[2] = 0 // of the next row
		if at[1]++; at[1] == j.out.size[1] {
			at[0], at[1] = at[0]+1, 0
		}
	}
}
