package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// rowsBlock computes m output positions, at most a panel's columns, of pair p of an image and a group.
func (j *convJob[T]) rowsBlock(p, pos, m, worker int) {
	n, g := p/j.groups, p%j.groups
	depth, o := j.depth(), &j.out
	panel := j.rows[worker*j.cols*depth:][:j.cols*depth]
	j.unfoldPanel(panel, j.x[n*j.in.sn+g*j.inPer*j.in.sc:], pos, m)
	t := kernel.Tile{Stride: uintptr(depth * f32Size), Panel: at32(panel, 0), OutStride: uintptr(o.sc * f32Size), Depth: uintptr(depth),
		Segments: 1, Start: &zeros[0], Low: kernel.Unclamped[0], High: kernel.Unclamped[1]}
	y := j.y[n*o.sn+g*j.outPer*o.sc+pos:]
	var edge [kernel.MaxRows * kernel.MaxCols]float32
	if m < j.cols {
		t.OutStride = uintptr(j.cols * f32Size)
	}
	step := balanced(j.outPer, j.micro.Rows)
	for c := 0; c < j.outPer; c += step {
		rows := min(step, j.outPer-c)
		t.Left = at32(j.w, (g*j.outPer+c)*depth)
		if j.bias != nil {
			t.RowStart = at32(j.bias, g*j.outPer+c)
		}
		if m == j.cols {
			t.Out = at32(y, c*o.sc)
			j.micro.Run(&t, rows)
			continue
		}
		t.Out = &edge[0]
		j.micro.Run(&t, rows)
		for i := range rows {
			copy(unsafe.Slice(at32(y, (c+i)*o.sc), m), edge[i*j.cols:])
		}
	}
}

// unfoldPanel writes for each channel and tap what m output positions from pos on see of it.
func (j *convJob[T]) unfoldPanel(dst, x []T, pos, m int) {
	size := &j.out.size
	at := triple{pos / (size[1] * size[2]), pos / size[2] % size[1], pos % size[2]}
	for ci := range j.inPer {
		plane := x[ci*j.in.sc:]
		for kd := range j.kernel[0] {
			for kh := range j.kernel[1] {
				for kw := range j.kernel[2] {
					j.unfoldTap(dst[:j.cols], plane, at, triple{kd, kh, kw}, m)
					dst = dst[j.cols:]
				}
			}
		}
	}
}

// unfoldTap writes what m output positions from at on see of a channel through one tap.
func (j *convJob[T]) unfoldTap(row, plane []T, at, tap triple, m int) {
	in := &j.in
	clear(row[m:])
	row = row[:m]
	for len(row) > 0 {
		n := min(len(row), j.out.size[2]-at[2])
		d, h := j.source(0, at[0], tap[0]), j.source(1, at[1], tap[1])
		if d < 0 || h < 0 {
			clear(row[:n])
		} else {
			j.unfoldLine(row[:n], plane[d*in.step[0]+h*in.step[1]:][:in.size[2]], at[2], tap[2])
		}
		row = row[n:]
		at[2] = 0
		if at[1]++; at[1] == j.out.size[1] {
			at[0], at[1] = at[0]+1, 0
		}
	}
}

// unfoldLine writes what output positions from w on see of a line of the input through tap kw.
func (j *convJob[T]) unfoldLine(row, line []T, w, kw int) {
	if j.transposed {
		for i := range row {
			row[i] = 0
			if s := j.source(2, w+i, kw); s >= 0 {
				row[i] = line[s]
			}
		}
		return
	}
	stride := j.stride[2]
	from := w*stride - j.pad[2] + kw*j.dilation[2]
	lo := min(len(row), max(0, (stride-1-from)/stride)) // the first position inside
	hi := min(len(row), max(lo, (len(line)-from+stride-1)/stride))
	clear(row[:lo])
	clear(row[hi:])
	if stride == 1 {
		copy(row[lo:hi], line[min(len(line), max(0, from+lo)):])
		return
	}
	for i := lo; i < hi; i++ {
		row[i] = line[from+i*stride]
	}
}
