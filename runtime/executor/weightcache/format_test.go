package weightcache

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// writeLayouts writes the rows of this version, in order.
func writeLayouts(t *testing.T, path string, rows []string) {
	t.Helper()
	slices.Sort(rows)
	if err := os.WriteFile(path, []byte(strings.Join(rows, "")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// FuzzParse reads any bytes; what it takes is written the same way.
func FuzzParse(f *testing.F) {
	for _, list := range [][]piece{nil, {{"a", nil}}, {{"", []byte("x")}, {"panels [3, 4]", make([]byte, 64)}, {"b", make([]byte, 100)}}} {
		b := head("amd64 avx2 1", list)
		for _, p := range list {
			b = append(append(b, p.data...), padding(len(p.data))...)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		machine, list, err := parse(file)
		if err != nil {
			return
		}
		b := head(machine, list)
		for _, p := range list {
			b = append(append(b, p.data...), padding(len(p.data))...)
		}
		if len(b) != len(file) {
			t.Errorf("%d bytes become %d", len(file), len(b))
		}
		got, again, err := parse(b)
		same := func(a, b piece) bool { return a.key == b.key && bytes.Equal(a.data, b.data) }
		if err != nil || got != machine || !slices.EqualFunc(list, again, same) {
			t.Errorf("%q, %v becomes %q, %v (%v)", machine, list, got, again, err)
		}
	})
}
