package ptd_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// two has two names for one content, mere bytes, and nothing.
func two() []pte.NamedData {
	weight := &pte.TensorLayout{ScalarType: tensor.Float, Sizes: []int32{2, 1}, DimOrder: []uint8{1, 0}}
	return []pte.NamedData{
		{Key: "a.weight", Data: []byte("12345678"), Layout: weight},
		{Key: "b.weight", Data: []byte("12345678"), Layout: weight},
		{Key: "bytes", Data: []byte("abc"), Alignment: 512},
		{Key: "empty"},
	}
}

func write(t testing.TB, entries []pte.NamedData) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ptd.Write(&b, entries, 0); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteAndRead(t *testing.T) {
	file := write(t, two())
	if n := bytes.Count(file, []byte("12345678")); n != 1 {
		t.Errorf("equal content is stored %d times", n)
	}
	if at := bytes.Index(file, []byte("abc")); at%512 != 0 {
		t.Errorf("an entry that wants multiples of 512 lies at byte %d", at)
	}
	got, err := ptd.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want := two()
	want[2].Alignment, want[3].Data = 0, []byte{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if again := write(t, two()); !bytes.Equal(file, again) {
		t.Error("the same entries give other bytes")
	}
}

// TestReadOfficial reads a file that the official exporter wrote: the constants of two linear layers and a buffer.
func TestReadOfficial(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "two_linear.ptd"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ptd.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string][]int32{}
	for _, d := range got {
		sizes[d.Key] = d.Layout.Sizes
	}
	want := map[string][]int32{"a.weight": {4, 3}, "a.bias": {4}, "b.weight": {2, 4}, "b.bias": {2}, "scale": {2}}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestWriteFault(t *testing.T) {
	err := ptd.Write(new(bytes.Buffer), []pte.NamedData{{Key: "x", Alignment: 3}}, 0)
	if err == nil || err.Error() != "write data file: alignment 3 of named data x, want a power of two" {
		t.Errorf("got %v", err)
	}
}

func TestReadFaults(t *testing.T) {
	layout := func(edit func(l *pte.TensorLayout)) func(t testing.TB) []byte {
		return func(t testing.TB) []byte {
			e := two()
			edit(e[0].Layout)
			return write(t, e)
		}
	}
	header := func(at int, value uint64) func(t testing.TB) []byte {
		return func(t testing.TB) []byte {
			file := write(t, two())
			binary.LittleEndian.PutUint64(file[at:], value)
			return file
		}
	}
	for _, test := range []struct {
		name string
		file func(t testing.TB) []byte
		want string
	}{
		{"short", func(t testing.TB) []byte { return write(t, two())[:63] }, "header: file of 63 bytes, want at least 64"},
		{"magic", header(8, 7), "header: this is no .ptd file"},
		{"flatbuffer", header(24, 1<<63), "header: the flatbuffer ends behind the file"},
		{"segments", header(40, 1<<63), "header: the segments end behind the file"},
		{"segment", header(40, 1), "segment 0: it ends behind the file"},
		{"root", header(0, 1<<31|uint64('F')<<32), "at byte"},
		{"twice", func(t testing.TB) []byte { return write(t, append(two(), two()[0])) }, `named_data 4: the key "a.weight" stands there twice`},
		{"key", func(t testing.TB) []byte { return write(t, []pte.NamedData{{Data: make([]byte, 64)}}) }, "named_data 0: no key"},
		{"text", func(t testing.TB) []byte { return write(t, []pte.NamedData{{Key: "\xff"}}) }, "named_data 0: no key, or one that is not UTF-8"},
		{"type", layout(func(l *pte.TensorLayout) { l.ScalarType = 99 }), "named_data 0: unknown scalar type 99"},
		{"order", layout(func(l *pte.TensorLayout) { l.DimOrder[0] = 0 }), "named_data 0: dim_order is not a permutation of 2 dimensions"},
		{"bytes", layout(func(l *pte.TensorLayout) { l.Sizes[0] = 3 }), "named_data 0: 8 bytes, but the tensor has 12"},
	} {
		_, err := ptd.Read(test.file(t))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "read data file: ") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		} else if code := pte.CodeOf(err); code != pte.InvalidExternalData {
			t.Errorf("%s: code %s", test.name, code)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f, two()))
	official, _ := os.ReadFile(filepath.Join("testdata", "two_linear.ptd"))
	f.Add(official)
	f.Fuzz(func(t *testing.T, file []byte) {
		entries, err := ptd.Read(file)
		if err != nil {
			return
		}
		again, err := ptd.Read(write(t, entries))
		if err != nil {
			t.Fatalf("read back: %v", err)
		}
		if diff := cmp.Diff(entries, again); diff != "" {
			t.Errorf("read back (-first +second):\n%s", diff)
		}
	})
}
