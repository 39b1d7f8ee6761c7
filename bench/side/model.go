package side

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/bench/side/serve"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Subject is what is measured: one call of a model.
type Subject struct {
	Name   string
	Folder string // of the model in a set; the name if empty
	Call   int    // of the first case
}

// value is an input or an output as a case file has it.
type value struct {
	NPY      string   `json:"npy"`
	Int      *int64   `json:"int"`
	Float    *float64 `json:"float"`
	Bool     *bool    `json:"bool"`
	DimOrder []uint8  `json:"dim_order"`
	Atol     float64  `json:"atol"`
}

// Model is a subject with what its case file says.
type Model struct {
	Subject
	dir     string
	methods map[string]string // method: .pt2
	method  string            // of the call
	inputs  []value
	outputs []value
	rtol    float64
}

// In is the name of the subject's folder.
func (s *Subject) In() string { return cmp.Or(s.Folder, s.Name) }

// Read finds the subject's folder among sets and reads its call.
func Read(s Subject, sets []string) (*Model, error) {
	folder := s.In()
	i := slices.IndexFunc(sets, func(set string) bool { return exists(filepath.Join(set, folder, "case.json")) })
	if i < 0 {
		return nil, fmt.Errorf("find model %s: not in %s; --models names others", folder, strings.Join(sets, ", "))
	}
	m := &Model{Subject: s, dir: filepath.Join(sets[i], folder), methods: map[string]string{}}
	return m, m.readCase()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (m *Model) readCase() error {
	text, err := os.ReadFile(filepath.Join(m.dir, "case.json"))
	if err != nil {
		return fmt.Errorf("read case: %w", err)
	}
	var file struct {
		Rtol    float64
		Methods map[string]struct{ File string }
		Cases   []struct {
			Calls []struct {
				Method          string
				Inputs, Outputs []value
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("parse case of %s: %w", m.Name, err)
	}
	if len(file.Cases) == 0 || len(file.Cases[0].Calls) <= m.Call {
		return fmt.Errorf("parse case of %s: it has no call %d", m.Name, m.Call)
	}
	for name, method := range file.Methods {
		m.methods[name] = filepath.Join(m.dir, method.File)
	}
	if len(m.methods) == 0 {
		m.methods["forward"] = filepath.Join(m.dir, "model.pt2")
	}
	c, method := file.Cases[0].Calls[m.Call], "forward"
	if names := sortedKeys(m.methods); len(names) == 1 {
		method = names[0]
	}
	m.rtol, m.method, m.inputs, m.outputs = file.Rtol, cmp.Or(c.Method, method), c.Inputs, c.Outputs
	return nil
}

// content is a short name for the exported programs' bytes.
func (m *Model) content() (string, error) {
	h := sha256.New()
	for _, name := range sortedKeys(m.methods) {
		f, err := os.Open(m.methods[name])
		if err != nil {
			return "", fmt.Errorf("read model: %w", err)
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", fmt.Errorf("read model: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// words are the inputs as workers take them; their elements go to files in tmp.
func (m *Model) words(tmp string) ([]string, error) {
	var out []string
	for i := range m.inputs {
		v := &m.inputs[i]
		switch {
		case v.NPY != "":
			w, err := m.tensorWord(v, filepath.Join(tmp, fmt.Sprintf("%s_in_%d", m.Name, i)))
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		case v.Int != nil:
			out = append(out, fmt.Sprintf("int:%d", *v.Int))
		case v.Float != nil:
			out = append(out, fmt.Sprintf("float:%g", *v.Float))
		case v.Bool != nil && *v.Bool:
			out = append(out, "bool:1")
		case v.Bool != nil:
			out = append(out, "bool:0")
		default:
			out = append(out, "none:")
		}
	}
	return out, nil
}

func (m *Model) tensorWord(v *value, file string) (string, error) {
	t, err := m.tensor(v)
	if err != nil {
		return "", err
	}
	if v.DimOrder != nil {
		t = npy.Ordered(t, v.DimOrder)
	}
	if err := os.WriteFile(file, t.Data, 0o600); err != nil {
		return "", fmt.Errorf("write input: %w", err)
	}
	return "t:" + serve.Header(t) + ":" + file, nil
}

// tensor is the elements of a value's file.
func (m *Model) tensor(v *value) (*tensor.Tensor, error) {
	b, err := os.ReadFile(filepath.Join(m.dir, v.NPY))
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	t, err := npy.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read case: %s: %w", v.NPY, err)
	}
	return t, nil
}
