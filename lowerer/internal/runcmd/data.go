package runcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

// dataFiles are the entries of data files, which stay mapped until the process ends.
func dataFiles(paths []string) ([]pte.NamedData, error) {
	var all []pte.NamedData
	for _, path := range paths {
		list, err := DataFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// DataFile are the entries of a data file, which stays mapped until the process ends. The error has a code and a hint.
func DataFile(path string) ([]pte.NamedData, error) {
	file, _, err := executor.MapFile(path)
	if err != nil {
		return nil, faultOf(path, err)
	}
	list, err := ptd.Read(file)
	if err == nil {
		return list, nil
	}
	e := faultOf(path, err)
	if !ptd.Is(file) {
		e.WithHint("a data file is a .ptd, which `pte lower` writes beside a program whose weights lie apart")
	}
	return nil, e
}

// entryJSON is an entry of a data file.
type entryJSON struct {
	Key      string  `json:"key"`
	Bytes    int     `json:"bytes"`
	DType    string  `json:"dtype,omitempty"`
	Sizes    []int32 `json:"sizes,omitempty"`
	DimOrder []int   `json:"dim_order,omitempty"`
}

// inspectData prints the entries of a data file.
func inspectData(path string, file []byte, asJSON bool, w io.Writer) error {
	list, err := ptd.Read(file)
	if err != nil {
		return faultOf(path, err)
	}
	entries := make([]entryJSON, len(list))
	for i, d := range list {
		entries[i] = entryJSON{Key: d.Key, Bytes: len(d.Data)}
		if l := d.Layout; l != nil {
			entries[i].DType, entries[i].Sizes = l.ScalarType.String(), l.Sizes
			for _, x := range l.DimOrder {
				entries[i].DimOrder = append(entries[i].DimOrder, int(x))
			}
		}
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Bytes   int         `json:"bytes"`
			Entries []entryJSON `json:"entries"`
		}{len(file), entries})
	}
	fmt.Fprintf(w, "data file %d bytes\n", len(file))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		what := "bytes"
		if e.DType != "" {
			what = e.DType + fmt.Sprint(e.Sizes)
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\n", e.Key, what, e.Bytes)
	}
	return t.Flush()
}
