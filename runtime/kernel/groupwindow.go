package kernel

import "math"

// GroupWindow is a convolution of float32 with 3x3 taps along a line of positions, whose channels lie side by side, in groups of so
// few channels that one or more fill a vector, as many of the input as of the result:
//
//	out[p][c] = clamp(start[c] + Σ weight[c][k][i][j] · rows[i][p·Step + j·Stride][c - c%Per + k], Low, High)
//
// Its layout is known to the generator.
type GroupWindow struct {
	Rows    [GroupWindowSize]*float32 // the first position's inputs of each row of the window
	Weights *float32                  // as PackGroupWindow arranges them
	Start   *float32
	Out     *float32
	places  *float32 // the words at the beginning of the weights
	Stride  uintptr  // bytes from a column of the window to the next
	Step    uintptr  // bytes from a position's inputs to the next's
	Next    uintptr  // bytes from a position's results to the next's
	Count   uintptr  // positions, at least 1
	Per     uintptr  // channels of a group
	from    uintptr  // bytes from a position's first channel to those of the vector that is next
	blocks  uintptr  // vectors that are left
	weight  uintptr  // bytes from the first vector's weights to the next's
	block   uintptr  // bytes of the weights of a vector
	size    uintptr  // rows

	Low, High float32
	windowGroups
}

// GroupWindowSize is the height and the width of the windows.
const GroupWindowSize = 3

// HasGroupWindow reports whether t has a kernel of windows for this many channels in groups of per.
func HasGroupWindow(t Tier, per, channels int) bool {
	n := lanesOf(t)
	return t.float() != Scalar && per > 1 && n%per == 0 && channels%per == 0 && channels >= n
}

// GroupWindowPacked is how many elements the packed weights of channels in groups of per have.
func GroupWindowPacked(t Tier, per, channels int) int {
	n := lanesOf(t)
	return n * per * (1 + (channels+n-1)/n*GroupWindowSize*GroupWindowSize)
}

// PackGroupWindow arranges the weights x of channels in groups of per, those of a channel stride elements behind those of the one before:
// for each input of its group the rows of its window, one after another. They come behind the words that name, for each input, which lane
// each lane takes: vector after vector of channels, of each the rows, of each the inputs. The last vector overlaps the one before if the
// channels do not fill it.
func PackGroupWindow(t Tier, dst, x []float32, per, channels, stride int) {
	t = t.float()
	n := lanesOf(t)
	for k := range per {
		for l := range n {
			dst[l] = math.Float32frombits(laneWord(t, l-l%per+k))
		}
		dst = dst[n:]
	}
	const taps = GroupWindowSize * GroupWindowSize
	var turned [taps * maxLanes]float32
	row := GroupWindowSize * n
	for at := 0; at < channels; at += n {
		for k := range per {
			Transpose(turned[:], x[min(at, channels-n)*stride+k*taps:], taps, n, n, stride)
			for i := range GroupWindowSize {
				copy(dst[(i*per+k)*row:][:row], turned[i*row:])
			}
		}
		dst = dst[per*taps*n:]
	}
}

// Run computes the channels of all positions; HasGroupWindow says for which tier, groups and channels.
func (g *GroupWindow) Run(t Tier, channels int) {
	p, lanes := *g, lanesOf(t)
	vector := floatBytes(lanes)
	p.size, p.block, p.places = GroupWindowSize, GroupWindowSize*GroupWindowSize*p.Per*vector, p.Weights
	p.Weights = floatAt(p.Weights, p.Per*vector)
	most := uintptr(max(1, windowSums(GroupWindowSize*GroupWindowSize*int(p.Per))/lanes)) // vectors of sums that one call makes
	for left := g.Count; ; {
		p.Count = min(left, most)
		p.positions(t, channels, int(most/p.Count))
		if left -= p.Count; left == 0 {
			return
		}
		for i := range p.Rows {
			p.Rows[i] = floatAt(p.Rows[i], p.Count*p.Step)
		}
		p.Out = floatAt(p.Out, p.Count*p.Next)
	}
}

// positions is Run for a number of positions that one call may take, of this many vectors of channels at most.
func (g *GroupWindow) positions(t Tier, channels, most int) {
	n := groupPositions[0]
	if int(g.Count) < n {
		n = groupPositions[1]
	}
	lanes := lanesOf(t)
	by := g.divide(uintptr(n), g.Count, g.Step, g.Stride)
	g.back, g.weight = uintptr(n)*g.Step, 0
	g.replaceRest(uintptr(n), g.Step, g.Next)
	for at := 0; at+lanes <= channels; at += most * lanes {
		g.from, g.blocks = floatBytes(at), uintptr(min(most, (channels-at)/lanes))
		g.run(t, n, by) // which goes on in the weights
	}
	if channels%lanes != 0 {
		g.from, g.blocks = floatBytes(channels-lanes), 1
		g.run(t, n, by)
	}
}
