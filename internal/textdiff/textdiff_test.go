package textdiff

import "testing"

func TestLines(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\nc\n", "a\nx\nc\nd\n", "  - b\n  + x\n  + d\n"},
		{"", "a\n", "  + a\n"},
		{"a\nb\n", "", "  - a\n  - b\n"},
	} {
		if got := Lines(c.old, c.now); got != c.want {
			t.Errorf("%q, %q: got %q, want %q", c.old, c.now, got, c.want)
		}
	}
}
