package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRegisters takes the last register of each kind, and one more, which no machine may write.
func TestRegisters(t *testing.T) {
	for _, m := range []struct {
		name          string
		vectors, ptrs int
		vector        func(v vec)
		ptr           func(p ptr)
	}{
		{"avx2", 16, 12, func(v vec) { (&x86{}).v(v) }, func(p ptr) { (&x86{}).p(p) }},
		{"avx512", 32, 12, func(v vec) { (&x86{wide: true}).v(v) }, func(p ptr) { (&x86{}).p(p) }},
		{"neon", 32, 18, func(v vec) { (&neon{}).v(v) }, func(p ptr) { (&neon{}).p(p) }},
		{"wasm", 32, 24, func(v vec) { wasmCode{}.getVec(v) }, func(p ptr) { wasmCode{}.get(p) }},
	} {
		for n, want := range map[int]bool{m.vectors - 1: false, m.vectors: true} {
			if got := panics(func() { m.vector(vec(n)) }); got != want {
				t.Errorf("%s, vector %d: panics: %v, want %v", m.name, n, got, want)
			}
		}
		for n, want := range map[int]bool{m.ptrs - 1: false, m.ptrs: true} {
			if got := panics(func() { m.ptr(ptr(n)) }); got != want {
				t.Errorf("%s, integer register %d: panics: %v, want %v", m.name, n, got, want)
			}
		}
	}
}

// TestMistakes says of a row that gives its steps too few registers, or more than a machine has, whose it is.
func TestMistakes(t *testing.T) {
	for want, f := range map[string]*mapped{
		"gen: Few, whose row has 2 registers, on AVX2: runtime error: index out of range [2] with length 2": {name: "Few", operands: 1, registers: 2, emit: func(g *maps, r []vec) {
			g.copy(r[1], r[2])
		}},
		"gen: Many, whose row has 17 registers, on AVX2: gen: register 16 of a machine that has 16": {name: "Many", operands: 1, registers: 17, emit: func(g *maps, r []vec) {
			g.copy(r[1], r[16])
		}},
	} {
		if got := panicOf(func() { (&maps{&x86{}}).function(f, 1) }); !strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
}

func panics(f func()) bool { return panicOf(f) != nil }

func panicOf(f func()) (text any) {
	defer func() { text = recover() }()
	f()
	return nil
}
