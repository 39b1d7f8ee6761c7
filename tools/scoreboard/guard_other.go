//go:build !linux

package main

// fence stands for guard pages, which are made on Linux alone.
type fence struct{ side guardSide }

func (f *fence) alloc(n int) []byte { return make([]byte, n) }

func (f *fence) free() {}

func trap() (undo func()) { return func() {} }
