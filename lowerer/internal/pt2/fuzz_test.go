package pt2

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// archives are the files in testdata.
func archives(t testing.TB) map[string][]byte {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.pt2")
	out := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".pt2")] = data
	}
	return out
}

// readAll loads the program of an archive and reads every weight that it names.
func readAll(t *testing.T, a *Archive) {
	shapes := symint.NewTable()
	m, _, err := a.Load("forward", shapes)
	if err != nil {
		return
	}
	_ = Describe(m, shapes)
	for _, v := range m.Graph.Inputs {
		if v == nil || v.Const == nil || v.Const.Weight == nil {
			continue
		}
		b, err := a.ReadWeight(v.Const.Weight, v.Const.Meta)
		if err == nil && len(b) != v.Const.Meta.Nbytes() {
			t.Errorf("weight %s has %d bytes, want %d", v.Const.Name, len(b), v.Const.Meta.Nbytes())
		}
	}
}

// FuzzArchive mutates whole archives.
func FuzzArchive(f *testing.F) {
	for _, data := range archives(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := OpenBytes(data); err == nil {
			readAll(t, a)
		}
	})
}

// FuzzRecords replaces the program and the table of weights in tied.pt2, so that mutations get past the checksums.
func FuzzRecords(f *testing.F) {
	for name := range archives(f) {
		var model, weights []byte
		edit(f, name, func(record string, text []byte) []byte {
			switch record {
			case "models/model.json":
				model = bytes.Clone(text)
			case "data/weights/model_weights_config.json":
				weights = bytes.Clone(text)
			}
			return text
		})
		f.Add(model, weights)
	}
	data := archives(f)["tied"]
	f.Fuzz(func(t *testing.T, model, weights []byte) {
		a, err := OpenBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"models/model.json": model, "data/weights/model_weights_config.json": weights} {
			name = a.root + name
			a.records[name] = record{name, len(a.data), len(text), crcOf(text)}
			a.data = append(bytes.Clone(a.data), text...)
		}
		readAll(t, a)
	})
}

// FuzzPickle mutates the pickle that torch 2.8 wrote for the weights.
func FuzzPickle(f *testing.F) {
	a, err := OpenBytes(archives(f)["pickled"])
	if err != nil {
		f.Fatal(err)
	}
	nested := a.records[a.root+"data/weights/model.pt"]
	records, err := readZip(a.slice(nested), nested.offset)
	if err != nil {
		f.Fatal(err)
	}
	for name, r := range records {
		if filepath.Base(name) == "data.pkl" {
			f.Add(a.slice(r))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &unpickler{in: data, memo: map[uint32]any{}, storage: func(string) (record, bool) { return record{size: 64}, true }}
		if v, err := p.run(); err == nil {
			_, _ = tensorDict(v)
		}
	})
}
