package bigmodel

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.pt2")
	side, err := Write(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var matrices [][]byte
	for _, f := range r.File {
		if f.Method != zip.Store {
			t.Errorf("%s is compressed", f.Name)
		}
		if f.UncompressedSize64 != uint64(4*side*side) {
			continue
		}
		matrices = append(matrices, content(t, f))
	}
	if len(matrices) != layers {
		t.Fatalf("%d matrices, want %d", len(matrices), layers)
	}
	for i, m := range matrices[1:] {
		if bytes.Equal(m, matrices[i]) {
			t.Errorf("matrices %d and %d are equal", i, i+1)
		}
	}
}

func content(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
