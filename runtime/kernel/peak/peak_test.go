package peak

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// TestLoops runs every loop of this machine.
func TestLoops(t *testing.T) {
	data := make([]byte, 100_000)
	for _, tier := range kernel.Tiers() {
		l := Of(tier)
		if l.Tier != tier && runtime.GOARCH != "wasm" {
			t.Errorf("%v: loops of %v", tier, l.Tier)
		}
		if l.FLOPs <= 0 || l.Ops <= 0 || l.Bytes <= 0 {
			t.Errorf("%v: a step does %d, %d, %d", tier, l.FLOPs, l.Ops, l.Bytes)
		}
		for _, n := range []int{0, 1, chunk, chunk + 1} {
			l.FMA(n)
			l.Dot(n)
		}
		l.Read(data)
		l.Read(data[1:])
		l.Read(nil)
	}
}

// TestPieces: no call is longer than a chunk, all steps are made, and no byte beside the data is read.
func TestPieces(t *testing.T) {
	var at []int
	data := make([]byte, (2*chunk+3)*16+5)
	base := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	l := &Loops{Bytes: 16, fma: func(a *loop) { at = append(at, a.steps) }}
	l.read = func(a *loop) { at = append(at, int(uintptr(unsafe.Pointer(a.data))-base), a.steps) }
	for _, c := range []struct {
		name string
		run  func()
		want []int
	}{
		{"fma", func() { l.FMA(2*chunk + 3) }, []int{chunk, chunk, 3}},
		{"none", func() { l.FMA(0) }, nil},
		{"read", func() { l.Read(data) }, []int{0, chunk, 16 * chunk, chunk, 32 * chunk, 3}},
	} {
		at = nil
		c.run()
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, at, c.want)
		}
	}
}
