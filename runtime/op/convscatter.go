package op

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// scatter is how a convolution by rows reads its planes without unfolding them: what a line of positions sees through a tap
// lies side by side, so that the tap's place is all that a tile has to know.
type scatter struct {
	offsets []int64 // for each channel and tap, in bytes from the first position
	// The positions of a frame are cut into lines of length elements, pitch apart in a plane; a line has so many tiles of most columns.
	lines, length, pitch int
	most, tiles          int
	straight             bool // a line is one of the output, too
	frames, bands, split int  // how the frames, their tiles and the channels are divided into units
}

// bandTiles is how many tiles of positions are computed with the same weights, one after the other.
const bandTiles = 8

// The depths of products from which copying sums costs less than unfolding, however many channels there are, and less than tiles at
// the ends of short rows.
const (
	leastScatter = 64
	deepScatter  = 256
)

// copies reports that copying sums costs less than unfolding: sums are copied for each channel of the output, and what a tile reads is
// unfolded for all of them.
func (j *rowsJob) copies() bool { return j.depth() >= min(leastScatter, 2*j.outPer) }

// scatters cuts the positions into lines, and reports whether these fill vectors.
func (j *rowsJob) scatters() bool {
	h, w, cols := j.out.size[1], j.out.size[2], j.micro.Cols
	s := scatter{lines: 1, length: j.planes.line()}
	switch {
	case j.planes.width == w || h == 1:
		s.straight = true
	case w >= 4*cols || w >= cols && j.depth() < deepScatter:
		s.straight, s.lines, s.length, s.pitch = true, h, w, j.planes.width
	}
	s.most = cols
	if s.length < cols {
		s.most = j.micro.Narrow
	}
	s.tiles = (s.length + s.most - 1) / s.most
	s.frames, s.bands = j.out.size[0], (s.lines*s.tiles+bandTiles-1)/bandTiles
	s.split = 1
	if j.workers > 1 {
		s.split = min(ceil(4*j.workers, s.frames*s.bands*j.groups), (j.outPer+j.micro.Rows-1)/j.micro.Rows)
	}
	j.scatter = s
	return s.length >= s.most && (s.straight || j.copies()) && !j.crowded()
}

// crowdedImage is how many inputs of an image are too many to stay in a cache until all channels of the output have read them.
const crowdedImage = 1 << 19

// crowded reports that each input is read so often, and from so far, that it is copied to a panel first: one of 4 MiB, whose channels lie
// 4 KiB apart, takes 3.7 ms to 256 channels instead of 8.
func (j *rowsJob) crowded() bool {
	return j.conv.taps() == 1 && j.inPer*j.in.size.product() > crowdedImage && j.outPer >= bandTiles*j.micro.Rows
}

// fillOffsets says where a tile reads.
func (j *rowsJob) fillOffsets() {
	taps, step := len(j.taps), int64(j.planeStep())
	for ci := range j.inPer {
		row := j.offsets[ci*taps:][:taps]
		for k, tap := range j.taps {
			row[k] = (int64(ci)*step + tap) * f32Size
		}
	}
}

// units is into how many units an image is divided.
func (j *rowsJob) units() int { return j.groups * j.frames * j.bands * j.split }

// unit computes a band of positions of a frame for a share of a group's channels.
func (j *rowsJob) unit(i int) {
	part, band, frame, g := i%j.split, i/j.split%j.bands, i/(j.split*j.bands)%j.frames, i/(j.split*j.bands*j.frames)
	step := balanced(j.outPer, j.micro.Rows)
	blocks := (j.outPer + step - 1) / step
	last := min((band+1)*bandTiles, j.lines*j.tiles)
	t := kernel.Tile{Stride: uintptr(j.depth() * f32Size), Depth: uintptr(j.depth()), Segments: 1, Offsets: &j.offsets[0],
		Start: &zeros[0], Low: j.bounds[0], High: j.bounds[1]}
	for b := blocks * part / j.split; b < blocks*(part+1)/j.split; b++ {
		c := g*j.outPer + b*step
		t.Left = at32(j.w, c*j.depth())
		if j.bias != nil {
			t.RowStart = at32(j.bias, c)
		}
		for k := band * bandTiles; k < last; k++ {
			j.tile(&t, frame, c, min(step, (g+1)*j.outPer-c), k)
		}
	}
}

// tile computes tile k of the positions of a frame for channels from c on, one for each row.
func (j *rowsJob) tile(t *kernel.Tile, frame, c, rows, k int) {
	line, at, cols := k/j.tiles, k%j.tiles*j.most, j.most
	if rest := j.length - at; rest < cols { // it ends with the line
		if rest <= j.micro.Narrow {
			cols = j.micro.Narrow
		}
		at = j.length - cols
	}
	from := line*j.pitch + at
	y := j.y[frame*j.out.step[0]:]
	t.Panel = at32(j.x, c/j.outPer*j.inPer*j.planeStep()+j.planes.first(frame)+from)
	if j.straight {
		t.Out, t.OutStride = at32(y, c*j.out.sc+line*j.length+at), uintptr(j.out.sc*f32Size)
		j.run(t, rows, cols)
		return
	}
	var sums [kernel.MaxRows * kernel.MaxCols]float32
	crooked := *t
	crooked.Out, crooked.OutStride = &sums[0], uintptr(cols*f32Size)
	j.run(&crooked, rows, cols)
	width, w := j.planes.width, j.out.size[2]
	for h := from / width; h*width < from+cols; h++ { // what a row of the output has of it
		lo, hi := max(from, h*width), min(from+cols, h*width+w)
		for r := 0; r < rows && lo < hi; r++ {
			copy(unsafe.Slice(at32(y, (c+r)*j.out.sc+h*w+lo-h*width), hi-lo), sums[r*cols+lo-from:])
		}
	}
}

func (j *rowsJob) run(t *kernel.Tile, rows, cols int) {
	if cols == j.micro.Cols {
		j.micro.Run(t, rows)
	} else {
		j.micro.RunNarrow(t, rows)
	}
}
