package main

import (
	"bytes"
	"fmt"
)

// The integer registers of blends; see Blend in package kernel for what they hold.
const (
	blendX = args + 1 + iota
	blendOut
	blendPlan  // of a line
	blendTap   // of what a block has seen of it
	blendLine  // what a tap takes
	blendIndex // bytes into each line
	blendNext  // the index of the next block
	blendTaps  // that are left
	blendBlocks
	blendLines
	blendStride
)

// Where the fields of kernel.Blend lie.
const (
	blendXAt      = 0
	blendOutAt    = 8
	blendPlanAt   = 16
	blendTapsAt   = 24
	blendBlocksAt = 32
	blendFromAt   = 40
	blendNextAt   = 48
	blendLinesAt  = 56
	blendStrideAt = 64
)

// Where a tap of a line has what, and how many bytes it has: where what it takes begins, and its weight.
const (
	blendTakesAt  = 0
	blendWeightAt = 8
	blendTapSize  = 16
)

// blendWidths are how many vectors are computed side by side.
var blendWidths = []int{1, 2, 4}

// blends writes lines that are sums of other lines.
type blends struct {
	machine
	nv int
}

// blendsF32 writes blends by blocks of one vector, and of more.
func blendsF32(m machine) {
	for _, n := range blendWidths {
		(&blends{m, n}).write()
	}
}

func (b *blends) width() int  { return b.lanes() * float32Size }
func (b *blends) weight() vec { return vec(b.nv) }
func (b *blends) input() vec  { return vec(b.nv + 1) }

func (b *blends) write() {
	b.begin(fmt.Sprintf("blendX%d%s", b.nv, b.tier()), "Blend")
	b.get(blendX, args, blendXAt)
	b.get(blendOut, args, blendOutAt)
	b.get(blendPlan, args, blendPlanAt)
	b.get(blendLines, args, blendLinesAt)
	b.get(blendStride, args, blendStrideAt)
	b.label("line")
	b.get(blendBlocks, args, blendBlocksAt)
	b.get(blendIndex, args, blendFromAt)
	b.get(blendNext, args, blendNextAt)
	b.label("block")
	b.block()
	b.more(blendBlocks, "block")
	b.set(blendPlan, blendTap, 1)
	b.addPtr(blendOut, blendStride)
	b.more(blendLines, "line")
	b.end()
}

// block computes a block of a line.
func (b *blends) block() {
	for j := range b.nv {
		b.bitwise('^', vec(j), vec(j), vec(j))
	}
	b.set(blendTap, blendPlan, 1)
	b.get(blendTaps, args, blendTapsAt)
	b.label("tap")
	b.get(blendLine, blendTap, blendTakesAt)
	b.addPtr(blendLine, blendX)
	b.broadcast(b.weight(), blendTap, blendWeightAt)
	for j := range b.nv {
		b.loadAt(b.input(), blendLine, blendIndex, j*b.width())
		b.fma(vec(j), b.input(), b.weight())
	}
	b.add(blendTap, blendTapSize)
	b.more(blendTaps, "tap")
	for j := range b.nv {
		b.storeAt(blendOut, blendIndex, j*b.width(), vec(j))
	}
	b.set(blendIndex, blendNext, 1)
	b.add(blendNext, b.nv*b.width())
}

// blendsGo adds the function that calls the blends of an architecture.
func blendsGo(b *bytes.Buffer, arch string) {
	b.WriteString("\n// run computes lines by blocks of so many vectors.\n//\n//go:noinline\nfunc (b *Blend) run(t Tier, vectors int) {\n")
	if arch != "" {
		b.WriteString("switch vectors {\n")
		for _, n := range blendWidths {
			fmt.Fprintf(b, "case %d:\n", n)
			callTier(b, arch, fmt.Sprintf("blendX%d", n), "b")
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}
