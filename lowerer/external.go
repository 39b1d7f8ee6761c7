package lowerer

import (
	"io"
	"path"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

// DataWriter opens the data file of a name, which external_constants and backends give, lets write fill it, and closes
// it.
type DataWriter func(name string, write func(w io.Writer) error) error

// externalize moves the constants that spec wants in data files out of x: tensors get the key under which packing puts
// their constant, and named data of backends the file.
func externalize(spec *config.Spec, x *exir.ExecutorchProgram) error {
	s := sorter{spec: spec, used: make([]bool, len(spec.ExternalConstants))}
	x.Files = make([]string, len(x.Constants))
	for i, c := range x.Constants {
		x.Files[i] = s.file(c)
	}
	for _, d := range x.NamedData {
		if d.ExternalTag == "" {
			d.ExternalTag = s.file(d.Content)
		}
	}
	for _, plan := range x.Program.Plans {
		for i := range plan.Values {
			t := plan.Values[i].Tensor
			if t == nil || t.Allocation != nil || t.DataBufferIdx == 0 || x.Files[t.DataBufferIdx-1] == "" {
				continue
			}
			t.Extra = &pte.ExtraTensorInfo{FullyQualifiedName: pack.Key(x.Constants[t.DataBufferIdx-1]), Location: pte.LocationExternal}
		}
	}
	return s.unused()
}

// sorter finds the data files of constants.
type sorter struct {
	spec *config.Spec
	used []bool // by entry of ExternalConstants
}

// file is the data file of c, or "": that of the first entry that fits one of its weights.
func (s *sorter) file(c *exir.Constant) string {
	if len(s.spec.ExternalConstants) == 0 {
		return ""
	}
	names := weightNames(nil, c)
	for i, e := range s.spec.ExternalConstants {
		for _, name := range names {
			if ok, _ := path.Match(e.Name.V, name); ok { // config has checked the pattern
				s.used[i] = true
				return e.File.V
			}
		}
	}
	return ""
}

func (s *sorter) unused() error {
	var errs diag.List
	for i, used := range s.used {
		if e := &s.spec.ExternalConstants[i]; !used {
			errs = append(errs, diag.New(diag.PinFailed, s.spec.Where(e.Name.Pos), "external_constants: no weight is left for %q, which is to lie in %s.ptd", e.Name.V, e.File.V).
				WithHint("the names are those of named_parameters() and named_buffers(); an entry before this one may have them all"))
		}
	}
	return errs.Err()
}

// weightNames adds the names of the weights that c is made of to names.
func weightNames(names []string, c *exir.Constant) []string {
	if c.Weight != nil {
		return append(names, c.Name)
	}
	if c.Node != nil {
		for i := range c.Node.Args {
			c.Node.Args[i].EachValue(func(v **exir.Value) { names = weightNames(names, (*v).Const) })
		}
	}
	return names
}

// packedBytes is the sum of the entries of each data file.
func packedBytes(files []pack.DataFile) map[string]int64 {
	sizes := map[string]int64{}
	for _, f := range files {
		for _, e := range f.Entries {
			sizes[f.Name] += int64(len(e.Data))
		}
	}
	return sizes
}

// externalBytes is the same before packing, which may find equal ones.
func externalBytes(x *exir.ExecutorchProgram) map[string]int64 {
	sizes := map[string]int64{}
	for i, c := range x.Constants {
		if file := x.File(i); file != "" {
			sizes[file] += int64(c.Meta.Nbytes())
		}
	}
	for _, d := range x.NamedData {
		if d.ExternalTag != "" {
			sizes[d.ExternalTag] += int64(d.Content.Meta.Nbytes())
		}
	}
	return sizes
}

// writeData writes the data files of a packed program.
func writeData(files []pack.DataFile, alignment int, data DataWriter) error {
	for _, f := range files {
		if data == nil {
			return diag.New(diag.UndeclaredData, "", "the program has constants in a data file %q, and there is no place for data files", f.Name)
		}
		if err := data(f.Name, func(w io.Writer) error { return ptd.Write(w, f.Entries, alignment) }); err != nil {
			return err
		}
	}
	return nil
}
