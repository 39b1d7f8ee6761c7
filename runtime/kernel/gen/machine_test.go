package main

import "testing"

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
		{"wasm", 16, 24, func(v vec) { wasmCode{}.getVec(v) }, func(p ptr) { wasmCode{}.get(p) }},
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

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}
