package pte

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/runcmd"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

func runMerge(_ *env, args []string) error {
	f := newFlags()
	out := f.String("o", "", "the `file` for all entries")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if err := f.required("o"); err != nil {
		return err
	}
	if len(rest) == 0 {
		return usageError("want data files")
	}
	m := merger{from: map[string]string{}, at: map[string]int{}}
	for _, path := range rest {
		list, err := runcmd.DataFile(path)
		if err != nil {
			return err
		}
		if err := m.add(path, list); err != nil {
			return err
		}
	}
	slices.SortFunc(m.entries, func(a, b pte.NamedData) int { return strings.Compare(a.Key, b.Key) })
	return writeApart(*out, rest, func(w io.Writer) error { return ptd.Write(w, m.entries, 0) })
}

// merger collects the entries of data files.
type merger struct {
	entries []pte.NamedData
	from    map[string]string // the file of each key
	at      map[string]int    // the place of each key in entries
}

func (m *merger) add(path string, list []pte.NamedData) error {
	for _, d := range list {
		at, ok := m.at[d.Key]
		if !ok {
			m.from[d.Key], m.at[d.Key] = path, len(m.entries)
			m.entries = append(m.entries, d)
			continue
		}
		if old := m.entries[at]; !bytes.Equal(old.Data, d.Data) || !reflect.DeepEqual(old.Layout, d.Layout) {
			return diag.New(diag.NamedDataConflict, path, "%q is not what it is in %s", d.Key, m.from[d.Key]).
				WithHint("programs that are to share data files have to come from the same weights")
		}
	}
	return nil
}
