package main

import "fmt"

// The integer registers of largest; see Largest in package kernel for what they hold.
const (
	largestInputs = args + 1
	largestPlaces = args + 2
	largestLeft   = args + 3 // lines of a block that are left
	largestIndex  = args + 4 // bytes into each line
	largestBlocks = args + 5
	largestLine   = args + 6
)

// Where the fields of kernel.Largest lie.
const (
	largestInputsAt = 0
	largestPlacesAt = 8
	largestCountAt  = 16
	largestOutAt    = 24
	largestWhereAt  = 32
	largestFromAt   = 40
	largestBlocksAt = 48
)

// largest writes a kernel that gives the largest of several lines' elements, and which line has it.
type largest struct {
	machine
	nv int
}

// largestF32 writes it by blocks of one vector and of two.
func largestF32(m machine) {
	for nv := 1; nv <= 2; nv++ {
		(&largest{m, nv}).write()
	}
}

func (l *largest) width() int      { return l.lanes() * float32Size }
func (l *largest) best(j int) vec  { return vec(j) }
func (l *largest) where(j int) vec { return vec(l.nv + j) }
func (l *largest) temp(i int) vec  { return vec(2*l.nv + i) }

func (l *largest) write() {
	l.begin(fmt.Sprintf("largestX%d%s", l.nv, l.tier()), "Largest")
	l.get(largestIndex, args, largestFromAt)
	l.get(largestBlocks, args, largestBlocksAt)
	l.label("block")
	l.get(largestInputs, args, largestInputsAt)
	l.get(largestPlaces, args, largestPlacesAt)
	l.get(largestLeft, args, largestCountAt)
	l.get(largestLine, largestInputs, 0)
	for j := range l.nv {
		l.loadAt(l.best(j), largestLine, largestIndex, j*l.width())
		l.broadcast(l.where(j), largestPlaces, 0)
	}
	l.add(largestLeft, -1)
	l.ifZero(largestLeft, "made")
	l.label("line")
	l.add(largestInputs, pointerSize)
	l.add(largestPlaces, float32Size)
	l.line()
	l.more(largestLeft, "line")
	l.label("made")
	for _, out := range []struct {
		at int
		of func(int) vec
	}{{largestOutAt, l.best}, {largestWhereAt, l.where}} {
		l.get(largestLine, args, out.at)
		for j := range l.nv {
			l.storeAt(largestLine, largestIndex, j*l.width(), out.of(j))
		}
	}
	l.add(largestIndex, l.nv*l.width())
	l.more(largestBlocks, "block")
	l.end()
}

// line takes the elements of a line that are larger than the best or NaN.
func (l *largest) line() {
	x, place, mask, number := l.temp(0), l.temp(1), l.temp(2), l.temp(3)
	l.get(largestLine, largestInputs, 0)
	l.broadcast(place, largestPlaces, 0)
	for j := range l.nv {
		l.loadAt(x, largestLine, largestIndex, j*l.width())
		l.compare('<', mask, l.best(j), x)
		l.choose(l.where(j), mask, place)
		l.choose(l.best(j), mask, x)
		// What is NaN is unlike itself: then x and its place stay, else the best and its place.
		l.compare('=', number, x, x)
		l.choose(x, number, l.best(j))
		l.copy(l.best(j), x)
		l.copy(mask, place)
		l.choose(mask, number, l.where(j))
		l.copy(l.where(j), mask)
	}
}
