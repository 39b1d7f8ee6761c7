package tensor

import (
	"math"
	"slices"
	"testing"
)

func TestBoundedBytes(t *testing.T) {
	for _, c := range []struct {
		sizes []Dim
		n     int64
		ok    bool
	}{
		{nil, 4, true},
		{[]Dim{2, 3}, 24, true},
		{[]Dim{0, math.MaxInt64, math.MaxInt64}, 0, true},
		{[]Dim{256}, 1024, true},
		{[]Dim{257}, 0, false},
		{[]Dim{-1}, 0, false},
		{[]Dim{0, -1}, 0, false},
		{[]Dim{-1, -1}, 0, false},
		{[]Dim{1 << 32, 1 << 32}, 0, false},
		{[]Dim{1 << 31, 1 << 31, 1 << 31}, 0, false},
		{[]Dim{1 << 62, 4}, 0, false},
		{[]Dim{SymbolDim(0)}, 0, false},
	} {
		m := Meta{DType: Float, Sizes: c.sizes}
		if n, ok := m.BoundedBytes(1024); ok != c.ok || ok && n != c.n {
			t.Errorf("%v: %d bytes, %v, want %d, %v", c.sizes, n, ok, c.n, c.ok)
		}
	}
}

func TestValidOrder(t *testing.T) {
	for _, c := range []struct {
		order []uint8
		ok    bool
	}{
		{nil, true}, {[]uint8{0, 1, 2}, true}, {[]uint8{2, 0, 1}, true},
		{[]uint8{0, 1}, false}, {[]uint8{0, 0, 1}, false}, {[]uint8{0, 1, 3}, false}, {[]uint8{0, 1, 255}, false},
	} {
		m := Meta{Sizes: []Dim{2, 3, 4}, DimOrder: c.order}
		if m.ValidOrder() != c.ok {
			t.Errorf("%v: valid %v, want %v", c.order, !c.ok, c.ok)
		}
	}
}

// TestNilShapes has numbers that are handles of symbols where there is a table.
func TestNilShapes(t *testing.T) {
	var s *Shapes
	if got := s.Add(math.MinInt64+1, 1); got != math.MinInt64+2 {
		t.Errorf("Add = %d", got)
	}
	if s.Less(math.MinInt64+1, 0) != Yes || s.Equal(math.MinInt64+1, 3) != No || s.Max(math.MinInt64+1, 3) != 3 {
		t.Error("comparison of a number near the smallest")
	}
}

func TestElements(t *testing.T) {
	data := []float32{1, 2, 3, 4, 5, 6}
	x := Of(data, 2, 3)
	if x.DType != Float || !slices.Equal(x.Sizes, []Dim{2, 3}) || len(x.Data) != 24 {
		t.Errorf("Of = %+v", x)
	}
	Elements[float32](x)[5] = 7
	if data[5] != 7 {
		t.Error("the elements are not shared")
	}
	half := &Tensor{Meta: Meta{DType: Half, Sizes: []Dim{1}}, Data: []byte{0, 0x3c}}
	if got := Elements[uint16](half); len(got) != 1 || got[0] != 0x3c00 {
		t.Errorf("bits of a half: %x", got)
	}
	shifted := &Tensor{Meta: Meta{DType: Int, Sizes: []Dim{1}}, Data: make([]byte, 9)[1:]}
	shifted.Data[0] = 5
	if got := Elements[int32](shifted); got[0] != 5 {
		t.Errorf("bytes that are not aligned: %v", got)
	}
	for name, f := range map[string]func(){
		"too few elements": func() { Of(data, 2, 4) },
		"a negative size":  func() { Of(data, -2, -3) },
		"another type":     func() { Elements[int32](x) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// TestTypeOf has every element type that has a Go type.
func TestTypeOf(t *testing.T) {
	got := []ScalarType{TypeOf[uint8](), TypeOf[int8](), TypeOf[int16](), TypeOf[int32](), TypeOf[int64](), TypeOf[float32](),
		TypeOf[float64](), TypeOf[bool](), TypeOf[uint16](), TypeOf[uint32](), TypeOf[uint64]()}
	if want := []ScalarType{Byte, Char, Short, Int, Long, Float, Double, Bool, UInt16, UInt32, UInt64}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOverlap looks at parts of one slice.
func TestOverlap(t *testing.T) {
	b := make([]byte, 8)
	for _, c := range []struct {
		x, y []byte
		want bool
	}{
		{b, b, true}, {b[:5], b[4:], true}, {b[4:], b[:5], true}, {b, b[3:4], true}, {b[:4], b[4:], false}, {b[4:], b[:4], false}, {b[2:2], b, false},
		{b, b[2:2], false}, {nil, nil, false}, {b, make([]byte, 8), false},
	} {
		if got := Overlap(c.x, c.y); got != c.want {
			t.Errorf("%d bytes and %d: %v, want %v", len(c.x), len(c.y), got, c.want)
		}
	}
}

func TestCopy(t *testing.T) {
	const most = copyMost / 8
	for _, n := range []int{0, 1, most - 1, most, most + 1, 3*most + 5} {
		src, dst := make([]int64, n+1), make([]int64, n+2)
		for i := range src {
			src[i] = int64(i) + 1
		}
		if got := Copy(dst[:n], src); got != n || !slices.Equal(dst[:n], src[:n]) || dst[n] != 0 {
			t.Errorf("%d elements: %d copied, of which some are wrong, or too many", n, got)
		}
		if got := Copy(dst, src[:n]); got != n || dst[n] != 0 {
			t.Errorf("%d elements to more: %d copied, or too many", n, got)
		}
	}
}

func TestMetaEqual(t *testing.T) {
	of := func(order ...uint8) *Meta { return &Meta{DType: Float, Sizes: []Dim{2, 3}, DimOrder: order} }
	for _, c := range []struct {
		a, b *Meta
		want bool
	}{
		{of(), of(), true},
		{of(), of(0, 1), true},
		{of(1, 0), of(1, 0), true},
		{of(), of(1, 0), false},
		{of(0, 1), of(1, 0), false},
		{of(), of(0), false},
		{of(), of(0, 1, 2), false},
		{of(0), of(0, 1), false},
		{of(), &Meta{DType: Int, Sizes: []Dim{2, 3}}, false},
		{of(), &Meta{DType: Float, Sizes: []Dim{3, 2}}, false},
	} {
		if c.a.Equal(c.b) != c.want || c.b.Equal(c.a) != c.want {
			t.Errorf("%v and %v: equal is not %v", c.a, c.b, c.want)
		}
	}
}
