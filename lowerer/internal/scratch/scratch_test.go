package scratch

import "testing"

func TestAlloc(t *testing.T) {
	var s Scratch
	small, first, second := s.Alloc(10), s.Alloc(large), s.Alloc(large+1)
	for _, c := range []struct {
		name string
		b    []byte
		want int
	}{{"small", small, 10}, {"first", first, large}, {"second", second, large + 1}} {
		if len(c.b) != c.want || c.b[0] != 0 || c.b[c.want-1] != 0 {
			t.Errorf("%s: %d bytes, want %d zeros", c.name, len(c.b), c.want)
		}
	}
	first[large-1], second[0] = 1, 2
	s.Release()
	if first[large-1] != 1 || second[0] != 2 {
		t.Error("released rooms lost their content")
	}
	if first[0] != 0 || second[large] != 0 || small[0] != 0 {
		t.Error("rooms overlap")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
