package main

import (
	"bytes"
	"fmt"
)

// The integer registers of pools; see Pool in package kernel for what they hold.
const (
	poolInputs = args + 1 + iota
	poolLeft   // taps of a block that are left
	poolLine   // what a tap takes
	poolBase   // bytes into each line of a position
	poolAt     // bytes from there of a block
	poolOut
	poolPositions
	poolBlocks
	poolStep
	poolNext
)

// Where the fields of kernel.Pool lie.
const (
	poolInputsAt    = 0
	poolCountAt     = 8
	poolOutAt       = 16
	poolStepAt      = 24
	poolNextAt      = 32
	poolPositionsAt = 40
	poolFromAt      = 48
	poolBlocksAt    = 56
	poolSkipAt      = 64
	poolScaleAt     = 72
)

// poolKinds are what a pool makes of the elements of a window.
var poolKinds = []string{"Mean", "Largest", "LargestS8"}

// poolWidths are how many vectors are computed side by side.
var poolWidths = []int{1, 4}

// pools writes pools along a line of positions.
type pools struct {
	machine
	kind string
	nv   int
}

// poolKernels writes pools of all kinds.
func poolKernels(m machine) {
	for _, kind := range poolKinds {
		for _, n := range poolWidths {
			(&pools{m, kind, n}).write()
		}
	}
}

func (p *pools) width() int { return p.lanes() * float32Size }
func (p *pools) scale() vec { return vec(p.nv) }
func (p *pools) input() vec { return vec(p.nv + 1) }
func (p *pools) temp() vec  { return vec(p.nv + 2) }

func (p *pools) write() {
	p.begin(fmt.Sprintf("pool%sX%d%s", p.kind, p.nv, p.tier()), "Pool")
	p.get(poolOut, args, poolOutAt)
	p.get(poolPositions, args, poolPositionsAt)
	p.get(poolStep, args, poolStepAt)
	p.get(poolNext, args, poolNextAt)
	p.get(poolBase, args, poolFromAt)
	p.addPtr(poolOut, poolBase)
	p.get(poolAt, args, poolSkipAt)
	p.addPtr(poolBase, poolAt)
	p.broadcast(p.scale(), args, poolScaleAt)
	p.label("position")
	p.set(poolAt, poolOut, 1)
	p.get(poolBlocks, args, poolBlocksAt)
	p.label("block")
	p.block()
	p.more(poolBlocks, "block")
	p.get(poolBlocks, args, poolBlocksAt)
	p.label("back")
	p.add(poolBase, -p.nv*p.width())
	p.more(poolBlocks, "back")
	p.addPtr(poolBase, poolStep)
	p.addPtr(poolOut, poolNext)
	p.more(poolPositions, "position")
	p.end()
}

// block computes a block of a position, and goes to the next one.
func (p *pools) block() {
	p.get(poolInputs, args, poolInputsAt)
	p.get(poolLeft, args, poolCountAt)
	p.get(poolLine, poolInputs, 0)
	for j := range p.nv {
		p.loadAt(vec(j), poolLine, poolBase, j*p.width())
	}
	p.add(poolLeft, -1)
	p.ifZero(poolLeft, "made")
	p.label("tap")
	p.add(poolInputs, pointerSize)
	p.get(poolLine, poolInputs, 0)
	for j := range p.nv {
		p.loadAt(p.input(), poolLine, poolBase, j*p.width())
		switch p.kind {
		case "Mean":
			p.arith('+', vec(j), vec(j), p.input())
		case "Largest":
			p.largerNaN(vec(j), vec(j), p.input(), p.temp())
		case "LargestS8":
			p.largerBytes(vec(j), vec(j), p.input())
		}
	}
	p.more(poolLeft, "tap")
	p.label("made")
	for j := range p.nv {
		if p.kind == "Mean" {
			p.arith('*', vec(j), vec(j), p.scale())
		}
		p.store(poolAt, j*p.width(), vec(j))
	}
	p.add(poolAt, p.nv*p.width())
	p.add(poolBase, p.nv*p.width())
}

// poolsGo adds the function that calls the pools of an architecture.
func poolsGo(b *bytes.Buffer, arch string) {
	b.WriteString("\n// run computes positions by blocks of four vectors, or of one.\n//\n//go:noinline\nfunc (p *Pool) run(t Tier, four bool) {\n")
	if arch != "" {
		b.WriteString("switch {\n")
		for _, kind := range poolKinds {
			fmt.Fprintf(b, "case p.Kind == Pool%s && four:\n", kind)
			callTier(b, arch, "pool"+kind+"X4", "p")
			fmt.Fprintf(b, "case p.Kind == Pool%s:\n", kind)
			callTier(b, arch, "pool"+kind+"X1", "p")
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}
