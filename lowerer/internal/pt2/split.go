package pt2

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// splitRecord lists the records that WriteSplit left out, by name, with their sizes.
const splitRecord = "split.json"

// WriteSplit writes the archive without the payloads of weights: their sizes stay, so that Load gives the same
// methods from it, but not their bytes. What is written does not depend on the bytes of weights; the weights that
// torch 2.8 pickled stay in.
func (a *Archive) WriteSplit(w io.Writer) error {
	absent, err := a.weightRecords()
	if err != nil {
		return err
	}
	zw := zip.NewWriter(w)
	for _, name := range a.names() {
		if _, drop := absent[name]; drop || name == a.root+"data/sample_inputs/model.pt" {
			continue
		}
		if err := storeRecord(zw, name, a.slice(a.records[name])); err != nil {
			return err
		}
	}
	list, err := json.Marshal(absent)
	if err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	if err := storeRecord(zw, a.root+splitRecord, list); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	return nil
}

func storeRecord(zw *zip.Writer, name string, data []byte) error {
	rw, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = rw.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write record %q: %w", name, err)
	}
	return nil
}

// weightRecords are the sizes of the records that only weights lie in.
func (a *Archive) weightRecords() (map[string]int, error) {
	absent := map[string]int{}
	for _, model := range a.Models() {
		m, _, err := a.Load(model, symint.NewTable())
		if err != nil {
			return nil, err
		}
		for _, v := range m.Graph.Inputs {
			if v != nil && v.Const != nil && v.Const.Weight != nil && v.Const.Weight.Key == "" {
				absent[v.Const.Weight.Record] = v.Const.Weight.Size
			}
		}
	}
	return absent, nil
}

// readSplit adds the records that WriteSplit left out, at no offset.
func (a *Archive) readSplit() error {
	name := a.root + splitRecord
	if _, ok := a.records[name]; !ok {
		return nil
	}
	text, err := a.read(name)
	if err != nil {
		return err
	}
	var absent map[string]int
	if err := json.Unmarshal(text, &absent); err != nil {
		return fmt.Errorf("parse record %q: %w", name, err)
	}
	for n, size := range absent {
		if _, there := a.records[n]; there || size < 0 {
			return fmt.Errorf("record %q of %q: there twice, or of negative size", n, name)
		}
		a.records[n] = record{name: n, offset: -1, size: size}
	}
	return nil
}
