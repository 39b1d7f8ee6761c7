package main

import (
	"fmt"
	"runtime/debug"
	"syscall"
)

// fence hands out memory between pages that nobody may touch.
type fence struct {
	side guardSide
	maps [][]byte
}

// alloc is n bytes that begin behind such a page, or end before one. It panics if the system has none.
func (f *fence) alloc(n int) []byte {
	page := syscall.Getpagesize()
	size := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Errorf("map memory: %w", err))
	}
	f.maps = append(f.maps, m)
	for i := range m[page : page+size] {
		m[page+i] = unplaced
	}
	for _, fenced := range [][]byte{m[:page], m[page+size:]} {
		if err := syscall.Mprotect(fenced, syscall.PROT_NONE); err != nil {
			panic(fmt.Errorf("protect memory: %w", err))
		}
	}
	at := page
	if f.side == guardBehind {
		at += size - n
	}
	return m[at : at+n : at+n]
}

// free gives the memory back.
func (f *fence) free() {
	for _, m := range f.maps {
		if err := syscall.Munmap(m); err != nil {
			panic(fmt.Errorf("unmap memory: %w", err))
		}
	}
	f.maps = nil
}

// trap makes touching a fence a panic of this goroutine. It gives what undoes that.
func trap() (undo func()) {
	before := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(before) }
}
