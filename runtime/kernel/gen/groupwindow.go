package main

import (
	"bytes"
	"fmt"
)

// The integer registers of a window of groups; see GroupWindow in package kernel for what they hold.
const (
	groupRow ptr = args + 1 + iota
	groupStride
	groupWeights // of the channel of the groups that is next
	groupOut
	groupCount  // groups of positions, or positions, that are left
	groupList   // where the next row is
	groupRows   // that are left
	groupColumn // bytes from a row's first column to the positions' first, for the block
	groupAt     // scratch
	groupPlaces
	groupChannels // of a group, that are left
)

// Where the fields of kernel.GroupWindow lie.
const (
	groupWeightsAt  = 24
	groupStartAt    = 32
	groupOutAt      = 40
	groupPlacesAt   = 48
	groupStrideAt   = 56
	groupStepAt     = 64
	groupNextAt     = 72
	groupPerAt      = 88
	groupFromAt     = 96
	groupBlocksAt   = 104
	groupWeightAt   = 112
	groupBlockAt    = 120
	groupSizeAt     = 128
	groupLowAt      = 136
	groupHighAt     = 140
	groupGroupsAt   = 144
	groupBackAt     = 152
	groupRestAt     = 160
	groupAgainAt    = 168
	groupAgainOutAt = 176
	groupLeftAt     = 184
)

// groupSize is the height and the width of the windows.
const groupSize = 3

// groupPositions are how many positions kernels compute together: a divisor of the widths that images of most models have, and what is
// enough not to wait for sums.
var groupPositions = []int{7, 3}

// groupWindow writes a convolution of groups of channels that fill a vector together. Each channel of the groups is given to all lanes of
// its group, once for all positions whose windows see it.
type groupWindow struct {
	machine
	step, together int
}

func groupWindowF32(m machine) {
	for _, n := range groupPositions {
		for _, step := range windowSteps {
			(&groupWindow{m, step, n}).write()
		}
	}
}

func (w *groupWindow) width() int       { return w.lanes() * float32Size }
func (w *groupWindow) weight(j int) vec { return vec(j) }
func (w *groupWindow) places() vec      { return groupSize }
func (w *groupWindow) input() vec       { return groupSize + 1 }
func (w *groupWindow) low() vec         { return groupSize + 2 }
func (w *groupWindow) high() vec        { return groupSize + 3 }
func (w *groupWindow) sum(p int) vec    { return groupSize + 4 + vec(p) }

func (w *groupWindow) write() {
	w.begin(fmt.Sprintf("groupsX%dBy%dF32%s", w.together, w.step, w.tier()), "GroupWindow")
	w.broadcast(w.low(), args, groupLowAt)
	w.broadcast(w.high(), args, groupHighAt)
	w.get(groupStride, args, groupStrideAt)
	w.label("block")
	w.get(groupColumn, args, groupFromAt)
	w.get(groupOut, args, groupOutAt)
	w.addPtr(groupOut, groupColumn)
	w.get(groupAt, args, groupAgainAt)
	w.put(args, groupLeftAt, groupAt)
	w.get(groupCount, args, groupGroupsAt)
	w.ifZero(groupCount, "rest")
	w.label("positions")
	w.positions(w.together, groupBackAt, "Of")
	w.more(groupCount, "positions")
	groupAgain(w, groupAt, groupCount, groupColumn, groupOut, groupLeftAt, groupAgainOutAt)
	w.label("rest")
	w.get(groupCount, args, groupRestAt)
	w.ifZero(groupCount, "next")
	w.label("position")
	w.positions(1, groupStepAt, "OfOne")
	w.more(groupCount, "position")
	w.label("next")
	w.get(groupAt, args, groupFromAt)
	w.add(groupAt, w.width())
	w.put(args, groupFromAt, groupAt)
	w.get(groupAt, args, groupWeightAt)
	w.get(groupCount, args, groupBlockAt)
	w.addPtr(groupAt, groupCount)
	w.put(args, groupWeightAt, groupAt)
	endLoop(w, groupCount, groupBlocksAt, "block")
}

// positions computes n positions, and goes on by what a field says.
func (w *groupWindow) positions(n, on int, label string) {
	w.get(groupWeights, args, groupWeightsAt)
	w.get(groupAt, args, groupWeightAt)
	w.addPtr(groupWeights, groupAt)
	w.get(groupAt, args, groupStartAt)
	w.get(groupList, args, groupFromAt)
	w.loadAt(w.sum(0), groupAt, groupList, 0)
	for p := 1; p < n; p++ {
		w.copy(w.sum(p), w.sum(0))
	}
	w.set(groupList, args, 1)
	w.get(groupRows, args, groupSizeAt)
	w.label("row" + label)
	w.get(groupRow, groupList, 0)
	w.add(groupList, pointerSize)
	w.get(groupPlaces, args, groupPlacesAt)
	w.get(groupChannels, args, groupPerAt)
	w.label("channel" + label)
	w.channel(n)
	w.more(groupChannels, "channel"+label)
	w.more(groupRows, "row"+label)
	w.get(groupAt, args, on)
	w.addPtr(groupColumn, groupAt)
	w.get(groupAt, args, groupNextAt)
	for p := range n {
		w.clamp(w.sum(p), w.low(), w.high())
		w.store(groupOut, 0, w.sum(p))
		w.addPtr(groupOut, groupAt)
	}
}

// channel adds what a row gives of a channel of the groups, column by column. Rows come before channels, since what all rows of a group of
// positions see of a vector may have few places in the first-level cache.
func (w *groupWindow) channel(n int) {
	w.load(w.places(), groupPlaces, 0)
	w.add(groupPlaces, w.width())
	for j := range groupSize {
		w.load(w.weight(j), groupWeights, j*w.width())
	}
	w.add(groupWeights, groupSize*w.width())
	w.set(groupAt, groupColumn, 1)
	for c := range (n-1)*w.step + groupSize {
		if c > 0 {
			w.addPtr(groupAt, groupStride)
		}
		w.pickAt(w.input(), groupRow, groupAt, w.places())
		for p := range n {
			if j := c - p*w.step; j >= 0 && j < groupSize {
				w.fma(w.sum(p), w.input(), w.weight(j))
			}
		}
	}
}

// groupWindowsGo adds how many positions are computed together, and the method that calls the windows of groups.
func groupWindowsGo(b *bytes.Buffer, arch string) {
	fmt.Fprintf(b, "\n// groupPositions are how many positions kernels of groups compute together.\nvar groupPositions = [...]int{%d, %d}\n",
		groupPositions[0], groupPositions[1])
	b.WriteString("\n// run calls a kernel that computes n positions together; like Gemm.Run it has a frame of its own.\n//\n//go:noinline\n")
	b.WriteString("func (g *GroupWindow) run(t Tier, n, by int) {\n")
	if arch != "" {
		b.WriteString("switch {\n")
		for _, n := range groupPositions {
			for _, step := range windowSteps {
				fmt.Fprintf(b, "case n == %d && by == %d:\n", n, step)
				callTier(b, arch, fmt.Sprintf("groupsX%dBy%dF32", n, step), "g")
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}
