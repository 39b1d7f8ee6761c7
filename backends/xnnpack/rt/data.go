package rt

import "unsafe"

// sliceOf views the first n elements of b.
func sliceOf[T any](b []byte, n int) []T {
	var z T
	if n == 0 {
		return nil
	}
	b = b[: n*int(unsafe.Sizeof(z)) : len(b)] // no read, which others could write meanwhile
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// bytesOfFloats views x as bytes.
func bytesOfFloats(x []float32) []byte {
	if len(x) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// isAligned reports that b begins at a multiple of 4 bytes.
func isAligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&3 == 0 }

// alignedCopy is a copy that isAligned.
func alignedCopy(b []byte) []byte {
	words := make([]uint32, (len(b)+3)/4)
	dst := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))[:len(b)]
	copy(dst, b)
	return dst
}
