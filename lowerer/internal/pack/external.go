package pack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// DataFile is a data file (.ptd) that belongs to a program; its entries are sorted by key.
type DataFile struct {
	Name    string
	Entries []pte.NamedData
}

// Key is the key of c in a data file: the name of a weight, or, for what is computed from weights, a placeholder of the
// hash of its content followed by its description, since tensors of equal bytes may have other shapes.
func Key(c *exir.Constant) string {
	if c.Weight != nil {
		return c.Name
	}
	return c.PlaceholderKey() + fmt.Sprintf(":%s%v%v", c.Meta.DType.Short(), c.Meta.Sizes, c.Meta.DimOrder)
}

// dataFiles collects the data files of a program.
type dataFiles struct {
	files []DataFile
	seen  map[string][]byte
}

func (d *dataFiles) add(file string, e pte.NamedData) error {
	if old, ok := d.seen[e.Key]; ok {
		if !bytes.Equal(old, e.Data) {
			return diag.New(diag.NamedDataConflict, "", "%q stands for two different contents in the data files of one program", e.Key).
				WithHint("leave one of them in the program, or lower the models to programs of their own")
		}
		return nil
	}
	d.seen[e.Key] = e.Data
	at := slices.IndexFunc(d.files, func(f DataFile) bool { return f.Name == file })
	if at < 0 {
		at = len(d.files)
		d.files = append(d.files, DataFile{Name: file})
	}
	d.files[at].Entries = append(d.files[at].Entries, e)
	return nil
}

// constants moves the constants of tensors that are to be external from buffers into data files.
func (d *dataFiles) constants(p *exir.ExecutorchProgram, buffers [][]byte) error {
	for _, plan := range p.Program.Plans {
		for i := range plan.Values {
			t := plan.Values[i].Tensor
			if t == nil || t.Extra == nil || t.Extra.Location != pte.LocationExternal {
				continue
			}
			data, file := buffers[t.DataBufferIdx], p.File(int(t.DataBufferIdx)-1)
			if name := t.Extra.FullyQualifiedName; strings.HasPrefix(name, exir.KeyPrefix) {
				t.Extra.FullyQualifiedName = exir.ContentKey(data) + name[exir.KeyLength:]
			}
			t.DataBufferIdx = 0
			layout := &pte.TensorLayout{ScalarType: t.ScalarType, Sizes: t.Sizes, DimOrder: t.DimOrder}
			if err := d.add(file, pte.NamedData{Key: t.Extra.FullyQualifiedName, Data: data, Layout: layout}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sorted are the data files in the order of their names.
func (d *dataFiles) sorted() []DataFile {
	slices.SortFunc(d.files, func(a, b DataFile) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range d.files {
		slices.SortFunc(f.Entries, func(a, b pte.NamedData) int { return strings.Compare(a.Key, b.Key) })
	}
	return d.files
}
