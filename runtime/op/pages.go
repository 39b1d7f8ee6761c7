package op

import "unsafe"

// hugePage is the size of a large page, and hugeLeast from how many bytes on constants get some.
const (
	hugePage  = 2 << 20
	hugeLeast = 1 << 20
)

// packedSpace is n zeros for packed constants. Many begin at a large page, of which the machine has to look up fewer.
func packedSpace[T number](n int) []T {
	size := int(unsafe.Sizeof(T(0)))
	if n < hugeLeast/size {
		return make([]T, n)
	}
	s := make([]T, n+hugePage/size)
	skip := int(-uintptr(unsafe.Pointer(&s[0]))&(hugePage-1)) / size
	s = s[skip : skip+n : skip+n]
	useHugePages(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), n*size))
	return s
}
