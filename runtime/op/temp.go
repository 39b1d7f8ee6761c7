package op

import (
	"errors"
	"math"
	"unsafe"
)

// ErrTemp is what a Temp says that would exceed its limit.
var ErrTemp = errors.New("temporary memory exceeds the limit")

// Temp hands out temporary memory, 64-byte aligned, in rounds. It keeps what the largest round needed, so
// that steady state allocates nothing. The zero Temp is ready and has no limit.
type Temp struct {
	// Limit is the most bytes that a round may take, with what is held; 0 means no limit.
	Limit int
	// Make, unless nil, makes every temporary while nothing is held, of any content: nothing of them is kept or shared. It frees
	// what it made itself.
	Make    func(n int) []byte
	base    region
	inner   region // of rounds while base is held
	holding bool
}

// region is the memory of rounds.
type region struct {
	buf  []byte
	used int // in this round
	most int // in any
}

// Held is the bytes that t keeps from round to round.
func (t *Temp) Held() int { return len(t.base.buf) + len(t.inner.buf) }

// Expect lets rounds take n bytes, of which somebody knows beforehand, from the first one on without growing on the way.
func (t *Temp) Expect(n int) {
	if t.Make == nil && n >= 0 && (t.Limit == 0 || n <= t.Limit) {
		t.base.most = max(t.base.most, (n+63)&^63)
	}
}

// Reset begins a round: everything handed out before is free, but for what is held.
func (t *Temp) Reset() {
	if t.holding {
		t.inner.reset()
	} else {
		t.base.reset()
	}
}

// keep holds what is kept, n bytes of it in base, within the limit.
func (t *Temp) keep(n int) {
	if t.Limit > 0 && n > t.Limit-max(len(t.inner.buf), t.inner.most) {
		t.Trim()
	}
}

func (r *region) reset() {
	if r.most > len(r.buf) {
		r.buf = AlignedBytes(r.most)
	}
	r.used = 0
}

// Hold lets the rounds that follow leave what was handed out until now, until Release.
func (t *Temp) Hold() {
	if t.holding && t.inner.used > 0 {
		t.base.used += t.inner.used // for the limit
		t.inner = region{}
	}
	t.holding = true
}

// Release ends Hold.
func (t *Temp) Release() {
	t.holding, t.inner.used = false, 0
	t.keep(len(t.base.buf))
}

// Trim lets go of what nobody has at the moment, and of which other memory is needed.
func (t *Temp) Trim() {
	if !t.holding {
		t.inner = region{}
	}
}

// Alloc is n bytes of any content, valid until Reset.
func (t *Temp) Alloc(n int) ([]byte, error) {
	if n < 0 || n > math.MaxInt-256 || int64(n) > 1<<48 { // 256: what rounding up adds, where int has 32 bits
		return nil, ErrTemp
	}
	r, size := &t.base, (n+63)&^63
	if t.holding {
		r = &t.inner
	}
	if t.Limit > 0 && size > t.Limit-t.base.used-t.inner.used {
		return nil, ErrTemp
	}
	if t.Make != nil && !t.holding {
		r.used += size
		return t.Make(n), nil
	}
	if r == &t.base {
		t.keep(r.used + size)
	}
	return r.alloc(size)[:n], nil
}

func (r *region) alloc(size int) []byte {
	at := r.used
	r.used += size
	r.most = max(r.most, r.used)
	switch {
	case at == 0 && size > len(r.buf): // nobody has any of it
		r.buf = AlignedBytes(size)
	case r.used > len(r.buf):
		return AlignedBytes(size)
	}
	return r.buf[at:r.used:r.used]
}

// AlignedBytes is n zero bytes at a 64-byte boundary.
func AlignedBytes(n int) []byte {
	b := make([]byte, n+63)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
	return b[off : off+n : off+n]
}
