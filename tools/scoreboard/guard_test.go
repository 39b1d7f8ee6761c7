package main

import (
	"runtime"
	"testing"
	"unsafe"
)

// TestFence touches what lies beside memory between guard pages.
func TestFence(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("guard pages are made on Linux alone")
	}
	for _, c := range []struct {
		side guardSide
		n    int
		at   int
		trap bool
	}{
		{guardBefore, 5, -1, true}, {guardBefore, 5, 0, false}, {guardBefore, 5, 4, false}, {guardBefore, 4096, 4096, true},
		{guardBehind, 5, 5, true}, {guardBehind, 5, 0, false}, {guardBehind, 5, 4, false}, {guardBehind, 4096, -1, true},
		{guardBehind, 0, 0, true},
	} {
		f := &fence{side: c.side}
		b := f.alloc(c.n)
		if got := touched(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), c.at)); got != c.trap {
			t.Errorf("%s: byte %d of %d traps: %v, want %v", c.side, c.at, c.n, got, c.trap)
		}
		f.free()
	}
}

// touched reports whether reading the byte at p panics.
func touched(p unsafe.Pointer) (panics bool) {
	defer trap()()
	defer func() { panics = recover() != nil }()
	sink = *(*byte)(p)
	return false
}

var sink byte

// TestGuardedOperators runs one program of every operator with each tensor between guard pages.
func TestGuardedOperators(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("guard pages are made on Linux alone")
	}
	for _, side := range []guardSide{guardBefore, guardBehind} {
		testPack(t, operators, 800, side)
	}
}
