package main

import (
	"bytes"
	"fmt"
)

// The integer registers of picks; see Picks in package kernel for what they hold.
const (
	picksRow    = args + 1 // and those after it
	picksPlan   = args + 5
	picksBase   = args + 6 // where the elements of a tap begin, in bytes from a row's first
	picksLeft   = args + 7 // taps of a block that are left
	picksBlocks = args + 8
	picksTo     = args + 9 // where the results of a block go, in bytes from a row's first
	picksOut    = args + 10
	picksStride = args + 11
)

// Where the fields of kernel.Picks lie.
const (
	picksXAt         = 0
	picksOutAt       = 8
	picksXStrideAt   = 16
	picksOutStrideAt = 24
	picksPlanAt      = 32
	picksTapsAt      = 40
	picksBlocksAt    = 48
	picksGroupsAt    = 56
	picksXFromAt     = 64
	picksOutFromAt   = 72
)

// Where a tap of a block has what: its base, its results' place, and after those for each lane which element of the
// vector at the base it takes, and the weight.
const (
	pickBaseAt  = 0
	pickToAt    = 8
	pickLanesAt = 16
)

// picksGroups are how many rows are computed side by side.
var picksGroups = []int{1, 4}

// picks writes rows whose elements are sums of picked elements of other rows.
type picks struct {
	machine
	rows int
}

// picksF32 writes picks for one row at a time, and for more.
func picksF32(m machine) {
	for _, n := range picksGroups {
		(&picks{m, n}).write()
	}
}

func (p *picks) width() int    { return p.lanes() * float32Size }
func (p *picks) row(i int) ptr { return picksRow + ptr(i) }
func (p *picks) sum(i int) vec { return vec(i) }
func (p *picks) places() vec   { return vec(p.rows) }
func (p *picks) weight() vec   { return vec(p.rows + 1) }
func (p *picks) input() vec    { return vec(p.rows + 2) }

func (p *picks) write() {
	p.begin(fmt.Sprintf("picksX%d%s", p.rows, p.tier()), "Picks")
	p.label("group")
	p.start()
	p.label("block")
	for i := range p.rows {
		p.bitwise('^', p.sum(i), p.sum(i), p.sum(i))
	}
	p.get(picksTo, picksPlan, pickToAt)
	p.get(picksLeft, args, picksTapsAt)
	p.label("tap")
	p.tap()
	p.more(picksLeft, "tap")
	p.results()
	p.more(picksBlocks, "block")
	p.next(picksXFromAt, picksXStrideAt)
	p.next(picksOutFromAt, picksOutStrideAt)
	endLoop(p.machine, picksLeft, picksGroupsAt, "group")
}

// start finds the rows of a group, and the first block.
func (p *picks) start() {
	p.get(p.row(0), args, picksXAt)
	p.get(picksStride, args, picksXFromAt)
	p.addPtr(p.row(0), picksStride)
	p.get(picksStride, args, picksXStrideAt)
	for i := 1; i < p.rows; i++ {
		p.set(p.row(i), p.row(i-1), 1)
		p.addPtr(p.row(i), picksStride)
	}
	p.get(picksPlan, args, picksPlanAt)
	p.get(picksBlocks, args, picksBlocksAt)
}

// tap adds what one tap picks to the sums of all rows.
func (p *picks) tap() {
	p.get(picksBase, picksPlan, pickBaseAt)
	p.load(p.places(), picksPlan, pickLanesAt)
	p.load(p.weight(), picksPlan, pickLanesAt+p.width())
	for i := range p.rows {
		p.pickAt(p.input(), p.row(i), picksBase, p.places())
		p.fma(p.sum(i), p.input(), p.weight())
	}
	p.add(picksPlan, pickLanesAt+2*p.width())
}

// results stores the sums of a block.
func (p *picks) results() {
	p.get(picksOut, args, picksOutAt)
	p.addPtr(picksOut, picksTo)
	p.get(picksTo, args, picksOutFromAt)
	p.addPtr(picksOut, picksTo)
	p.get(picksStride, args, picksOutStrideAt)
	for i := range p.rows {
		p.store(picksOut, 0, p.sum(i))
		if i < p.rows-1 {
			p.addPtr(picksOut, picksStride)
		}
	}
}

// next moves the place that a field holds by as many rows as a group has.
func (p *picks) next(from, stride int) {
	p.get(picksTo, args, from)
	p.get(picksStride, args, stride)
	for range p.rows {
		p.addPtr(picksTo, picksStride)
	}
	p.put(args, from, picksTo)
}

// picksGo adds the function that calls the picks of an architecture.
func picksGo(b *bytes.Buffer, arch string) {
	b.WriteString("\n// run computes groups of rows.\n//\n//go:noinline\nfunc (p *Picks) run(t Tier, rows int) {\n")
	if arch != "" {
		b.WriteString("switch rows {\n")
		for _, n := range picksGroups {
			fmt.Fprintf(b, "case %d:\n", n)
			callTier(b, arch, fmt.Sprintf("picksX%d", n), "p")
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}
