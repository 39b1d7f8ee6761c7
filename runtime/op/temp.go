package op

import (
	"errors"
	"math"
	"unsafe"
)

// ErrTemp is what a Temp says that would exceed its limit.
var ErrTemp = errors.New("temporary memory exceeds the limit")

// Temp hands out temporary memory, 64-byte aligned. It keeps what the largest round needed, so
// that steady state allocates nothing. The zero Temp is ready and has no limit.
type Temp struct {
	// Limit is the most bytes that a round may take; 0 means no limit.
	Limit int
	// Make, unless nil, makes every temporary, of any content: nothing is kept or shared. It frees what it made itself.
	Make func(n int) []byte
	buf  []byte
	used int
	want int
}

// Held is the bytes that t keeps from round to round.
func (t *Temp) Held() int { return len(t.buf) }

// Reset begins a round: everything handed out before is free.
func (t *Temp) Reset() {
	if t.want > len(t.buf) && t.Make == nil {
		t.buf = AlignedBytes(t.want)
	}
	t.used, t.want = 0, 0
}

// Alloc is n bytes of any content, valid until Reset.
func (t *Temp) Alloc(n int) ([]byte, error) {
	if n < 0 || n > math.MaxInt-256 || int64(n) > 1<<48 { // 256: what rounding up adds, where int has 32 bits
		return nil, ErrTemp
	}
	size := (n + 63) &^ 63
	if t.Limit > 0 && size > t.Limit-t.want {
		return nil, ErrTemp
	}
	t.want += size
	if t.Make != nil {
		return t.Make(n), nil
	}
	if t.used+size <= len(t.buf) {
		b := t.buf[t.used : t.used+n : t.used+size]
		t.used += size
		return b, nil
	}
	return AlignedBytes(size)[:n], nil
}

// AlignedBytes is n zero bytes at a 64-byte boundary.
func AlignedBytes(n int) []byte {
	b := make([]byte, n+63)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
	return b[off : off+n : off+n]
}
