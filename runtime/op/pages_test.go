package op

import (
	"testing"
	"unsafe"
)

// TestPackedSpace shows where constants lie that are worth large pages.
func TestPackedSpace(t *testing.T) {
	for _, n := range []int{0, 5, hugeLeast/4 - 1, hugeLeast / 4, 3*hugePage/4 + 1} {
		s := packedSpace[float32](n)
		if len(s) != n || cap(s) != n {
			t.Fatalf("%d elements: got %d of %d", n, len(s), cap(s))
		}
		for i, v := range s {
			if v != 0 {
				t.Fatalf("%d elements: element %d is %v", n, i, v)
			}
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(s))); n*4 >= hugeLeast && at%hugePage != 0 {
			t.Errorf("%d elements lie at %x", n, at)
		}
	}
}
