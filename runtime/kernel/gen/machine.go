package main

import (
	"bytes"
	"fmt"
	"log"
	"strings"
)

// vec is a vector register, ptr an integer register; both are numbered from 0.
type (
	vec int
	ptr int
)

// within is register r of a machine that has n of them; a kernel that takes more is a mistake, of which an assembler that knows
// larger machines would say nothing.
func within[R vec | ptr](r R, n int) R {
	if int(r) >= n {
		log.Panicf("gen: register %d of a machine that has %d", r, n)
	}
	return r
}

// machine writes the instructions of one instruction set. Offsets and strides are in bytes.
type machine interface {
	logic
	numbers
	widths

	// tier is the suffix of names, such as "AVX2"; arch that of files, GOARCH's name.
	tier() string
	arch() string
	// lanes is how many float32 a vector has, vectors how many vectors there are.
	lanes() int
	vectors() int

	// begin starts a function that gets a pointer to arg, which lies in register 0.
	begin(name, arg string)
	end()
	label(name string)

	// get loads an integer register from memory.
	get(to, from ptr, off int)
	// put stores one.
	put(to ptr, off int, from ptr)
	// set gives an integer register another's value, times the factor 1, 2 or 3.
	set(to, from ptr, factor int)
	add(p ptr, n int)
	addPtr(p, q ptr)
	// less subtracts n from p and jumps if the result is negative.
	less(p ptr, n int, label string)
	// loop subtracts n from p and jumps unless the result is negative.
	loop(p ptr, n int, label string)
	// more subtracts 1 from p and jumps unless the result is zero.
	more(p ptr, label string)

	jump(label string)
	ifZero(p ptr, label string)

	copy(to, from vec)
	load(v vec, p ptr, off int)
	store(p ptr, off int, v vec)
	// storeFirst stores the first lane.
	storeFirst(p ptr, off int, v vec)
	broadcast(v vec, p ptr, off int)
	// prefetch lets the machine load what is at p plus off into a cache, or does nothing; nothing need be there.
	prefetch(p ptr, off int)
	// loadAt and storeAt are at p plus what index holds plus off.
	loadAt(v vec, p, index ptr, off int)
	storeAt(p, index ptr, off int, v vec)
	// pickAt gives each lane of v an element of the vector at p plus what index holds: that which places names, as
	// laneWord in package kernel makes it. v is not places.
	pickAt(v vec, p, index ptr, places vec)
	// fma adds x*y to acc, rounded once.
	fma(acc, x, y vec)
	// fmaColumn adds x times the vector at p plus j, 0 to 4, times the stride, which is also there three times. It may
	// change t.
	fmaColumn(acc, x vec, p, stride, triple ptr, j int, t vec)
	// arith computes to = x op y, op one of + - * /.
	arith(op byte, to, x, y vec)
	// round rounds to the nearest integer, ties to even; scale multiplies v by 2 to the power of n, integers from
	// -252 to 254. It changes n, and the registers t.
	round(to, from vec)
	scale(v, n vec, t [2]vec, bias vec)
	// larger computes to, which is not y, = the larger of x and y, or one of them if one is NaN. largerNaN gives NaN
	// then, and changes t.
	larger(to, x, y vec)
	largerNaN(to, x, y, t vec)
	// largerBytes is of int8.
	largerBytes(to, x, y vec)
	// swapLanes gives lane i of to what lane i^n of from has, n a power of 2 below lanes; they are different registers.
	swapLanes(to, from vec, n int)
	// clamp gives acc at least lo and at most hi; NaN stays.
	clamp(acc, lo, hi vec)

	// beside writes the instructions that emit writes for 0 to n-1, where it can those of each in turn.
	beside(n int, emit func(i int))

	// masks gets, from memory, which lanes of the first n vectors of a row the partial loads and stores of rows leave out: 16 bits for
	// each. Machines that cannot leave out any have all.
	masks(p ptr, off, n int)
	// rows addresses n rows, of which the first is at p and each is stride behind the one before.
	// It may take the registers from free on.
	rows(p, stride ptr, n int, free ptr) rows
}

// endLoop takes 1 from the count that is off bytes into the arguments and jumps to label or, if none is left, ends the function. It
// changes p.
func endLoop(m machine, p ptr, off int, label string) {
	m.get(p, args, off)
	m.add(p, -1)
	m.put(args, off, p)
	m.ifZero(p, "end")
	m.jump(label)
	m.label("end")
	m.end()
}

// rows are rows of a matrix that are read side by side.
type rows interface {
	broadcast(v vec, row, off int)
	// fmaNumber adds x times the number off bytes into a row to acc; t may change.
	fmaNumber(acc, x vec, row, off int, t vec)
	load(v vec, row, off int)
	store(row, off int, v vec)
	// loadPart and storePart are of the lanes that vector j of a row has; see machine.masks. The others load as zero.
	loadPart(v vec, row, off, j int)
	storePart(row, off int, v vec, j int)
	// advance moves all rows by n bytes, advancePtr by the bytes in p.
	advance(n int)
	advancePtr(p ptr)
}

// source is what machines have in common: the lines of a file, and the names of its functions.
type source struct {
	bytes.Buffer
	funcs []function
}

// function is a function that gets a pointer to arg, a type of package kernel.
type function struct{ name, arg string }

func (s *source) line(format string, args ...any) { fmt.Fprintf(s, "\t"+format+"\n", args...) }

func (s *source) label(name string) { fmt.Fprintf(s, "%s:\n", name) }

func (s *source) begin(name, arg string) {
	s.funcs = append(s.funcs, function{name, arg})
	fmt.Fprintf(s, "\n// func %s(a *%s)\nTEXT ·%[1]s(SB), NOSPLIT, $0-8\n", name, arg)
}

// beside takes instructions in turn, so that a machine finds some that do not wait for each other, unless they are of
// different numbers or use a register of which there is only one. What all of them load into one register is loaded once.
func (s *source) beside(n int, emit func(i int)) {
	start := s.Len()
	var lines [][]string
	alike := true
	for i := range n {
		from := s.Len()
		emit(i)
		text := string(s.Bytes()[from:])
		lines = append(lines, strings.SplitAfter(text, "\n"))
		alike = alike && len(lines[i]) == len(lines[0]) && !strings.Contains(text, "VPMOVM2D")
	}
	if !alike {
		return
	}
	s.Truncate(start)
	for k := range lines[0] {
		for i := range lines {
			if i == 0 || lines[i][k] != lines[0][k] || !strings.Contains(lines[i][k], "VBROADCASTSS") {
				s.WriteString(lines[i][k])
			}
		}
	}
}
