package pack

import (
	"bytes"
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// delegates evaluates the named data of p, each content once, and writes the content keys into the payloads. Entries
// with a tag go into the data files.
func (e *evaluator) delegates(p *exir.ExecutorchProgram, external *dataFiles) error {
	keys := map[string]string{}
	seen := map[string][]byte{}
	for _, d := range p.NamedData {
		data, err := e.constant(d.Content)
		if err != nil {
			return fmt.Errorf("evaluate named data %s: %w", d.Content.Name, err)
		}
		key := d.Key
		if d.ByContent {
			key = exir.ContentKey(data)
			keys[d.Key] = key
		}
		if old, ok := seen[key]; ok {
			if !bytes.Equal(old, data) {
				return fmt.Errorf("named data %q has two contents", key)
			}
			align(p.Program.NamedData, key, d.Alignment)
			for _, f := range external.files {
				align(f.Entries, key, d.Alignment)
			}
			continue
		}
		seen[key] = data
		if d.ExternalTag != "" {
			if err := external.add(d.ExternalTag, pte.NamedData{Key: key, Data: data, Alignment: d.Alignment}); err != nil {
				return err
			}
			continue
		}
		p.Program.NamedData = append(p.Program.NamedData, pte.NamedData{Key: key, Data: data, Alignment: d.Alignment})
	}
	for _, b := range p.Payloads {
		p.Program.DelegateData = append(p.Program.DelegateData, fillKeys(b, keys))
	}
	return nil
}

// align raises the alignment of the entry of a key, if list has it.
func align(list []pte.NamedData, key string, alignment int) {
	for i := range list {
		if d := &list[i]; d.Key == key {
			d.Alignment = max(d.Alignment, alignment)
		}
	}
}

// fillKeys is the payload with keys in the places of their placeholders.
func fillKeys(b exir.Blob, keys map[string]string) []byte {
	if len(b.Places) == 0 {
		return b.Bytes
	}
	out := bytes.Clone(b.Bytes)
	for _, at := range b.Places {
		copy(out[at.Offset:at.Offset+exir.KeyLength], keys[at.Key])
	}
	return out
}

// Evaluator gives the bytes of constants, for backends that read weights. What is computed lies in s.
func Evaluator(weights Weights, s *scratch.Scratch) func(c *exir.Constant) ([]byte, error) {
	e := &evaluator{weights: weights, scratch: s, table: op.NewTable(op.Kernels), done: map[*exir.Constant][]byte{}}
	return e.constant
}
