// Package pt2 reads the archives that torch.export.save of torch 2.8 to 2.13
// writes. It trusts no byte of them: every mistake is an error. Weights stay
// where they are, in the mapped file.
//
// The layout is that of torch/export/pt2_archive/constants.py, the graph that of
// torch/_export/serde/schema.py, major version 8.
package pt2

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// Archive is an open .pt2 file.
type Archive struct {
	path string // "" for one in memory
	// Alloc makes room for weights that are not dense in the file; nil for the heap.
	Alloc func(n int) []byte

	data  []byte
	unmap func() error
	// root is the folder with everything, with its slash, or "".
	root    string
	records map[string]record
	weights map[string]*tables // by model
}

// record is one stored entry of a zip file.
type record struct {
	name         string
	offset, size int
	crc          uint32
}

// Open opens the file at path and maps it where the system can. The error is a diag.List with the path as its place.
func Open(path string) (*Archive, error) {
	data, unmap, err := readFile(path)
	if err != nil {
		return nil, diag.List{diag.New(diag.ModelRead, path, "%w", pathCause(err)).
			WithHint("check the path; it counts from the folder that you stand in")}
	}
	a, err := OpenBytes(data)
	if err != nil {
		if unmap != nil {
			_ = unmap() // the file is of no use anyway
		}
		return nil, diag.At(path, diag.ModelFormat, err)
	}
	a.path, a.unmap = path, unmap
	return a, nil
}

// pathCause is err without the path that *fs.PathError repeats.
func pathCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func readFile(path string) ([]byte, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, errors.New("is a directory, want a .pt2 file")
	}
	if info.Mode().IsRegular() && info.Size() > 0 {
		if data, unmap, err := mapFile(f, info.Size()); err == nil {
			return data, unmap, nil
		}
	}
	data, err := io.ReadAll(f)
	return data, nil, err
}

// Close gives the mapping back. Nothing that ReadWeight returned may be used afterwards.
func (a *Archive) Close() error {
	if a.unmap == nil {
		return nil
	}
	unmap := a.unmap
	a.unmap, a.data = nil, nil
	return unmap()
}

// Release lets the system take the pages of a mapped file out of memory; they come back when they are read.
func (a *Archive) Release() {
	if a.unmap != nil {
		release(a.data)
	}
}

// OpenBytes opens an archive in memory, which must not change afterwards. The error has a code of package diag.
func OpenBytes(data []byte) (*Archive, error) {
	records, err := readZip(data, 0)
	if err != nil {
		return nil, notZip(data, err)
	}
	a := &Archive{data: data, records: records, weights: map[string]*tables{}}
	if err := a.findRoot(); err != nil {
		return nil, err
	}
	if err := a.checkVersion(); err != nil {
		return nil, err
	}
	if err := a.readSplit(); err != nil {
		return nil, damaged(err)
	}
	return a, nil
}

// damaged is an archive that contradicts itself, if err has no code yet.
func damaged(err error) error {
	var known *diag.Error
	if errors.As(err, &known) {
		return err
	}
	return diag.New(diag.ModelFormat, "", "%w", err).WithHint("copy the file again, or " + exportAgain)
}

// readZip lists the records of a zip file that lies at base in the archive.
func readZip(data []byte, base int) (map[string]record, error) {
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	records := make(map[string]record, len(zr.File))
	for _, f := range zr.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 {
			return nil, fmt.Errorf("record %q is compressed, want it stored, as torch does (zip -0)", f.Name)
		}
		off, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", f.Name, err)
		}
		if off < 0 || off > int64(len(data)) || f.UncompressedSize64 > uint64(int64(len(data))-off) {
			return nil, fmt.Errorf("record %q lies outside of the file: the file is cut off", f.Name)
		}
		if _, twice := records[f.Name]; twice {
			return nil, fmt.Errorf("record %q is there twice", f.Name)
		}
		records[f.Name] = record{f.Name, base + int(off), int(f.UncompressedSize64), f.CRC32}
	}
	return records, nil
}

func notZip(data []byte, err error) error {
	const write = "write one with torch.export.save(torch.export.export(model, args), \"model.pt2\")"
	format := func(msg string) *diag.Error { return diag.New(diag.ModelFormat, "", "%s", msg) }
	switch {
	case !errors.Is(err, zip.ErrFormat):
		return damaged(fmt.Errorf("read archive: %w", err))
	case len(data) == 0:
		return format("the file is empty, want a .pt2 archive").WithHint(write)
	case len(data) >= 8 && string(data[4:6]) == "ET":
		return format("this is a .pte program, which is lowered already").
			WithHint("lower the .pt2 that it was made of; `pte inspect` and `pte run` take a .pte")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return damaged(errors.New("the archive is cut off or damaged: its end is missing"))
	}
	return format("no .pt2 archive: it is no zip file").WithHint(write)
}

// names is every record in order.
func (a *Archive) names() []string {
	names := make([]string, 0, len(a.records))
	for n := range a.records {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

const exportAgain = "export the model again with torch 2.8 to 2.13 and torch.export.save"

// otherVersion is an archive that torch wrote in a way that this package does not read.
func otherVersion(format string, args ...any) error {
	return diag.New(diag.ModelVersion, "", format, args...).WithHint(exportAgain)
}

func (a *Archive) findRoot() error {
	found := false
	for _, n := range a.names() {
		if path.Base(n) == "archive_format" && (!found || len(n) < len(a.root+"archive_format")) {
			a.root, found = strings.TrimSuffix(n, "archive_format"), true
		}
	}
	if !found {
		return a.otherLayout()
	}
	return nil
}

// otherLayout says what a zip file is that is no PT2 archive.
func (a *Archive) otherLayout() error {
	base := map[string]string{}
	for _, n := range a.names() {
		base[path.Base(n)] = n
	}
	switch {
	case base["serialized_exported_program.json"] != "":
		return otherVersion("%s wrote this archive in the layout from before torch 2.8", a.legacyWriter(base))
	case base["constants.pkl"] != "" && base["data.pkl"] != "":
		return otherVersion("this is a TorchScript archive (torch.jit.save)")
	case base["data.pkl"] != "":
		return otherVersion("this is a torch.save file (a state dict or a pickled module)")
	}
	for n := range a.records {
		if strings.HasSuffix(n, ".so") || strings.Contains(n, "aotinductor") {
			return otherVersion("this is an AOTInductor package, which holds machine code and no graph")
		}
	}
	return diag.New(diag.ModelFormat, "", "the zip file is no .pt2 archive: it has no record archive_format").WithHint(exportAgain)
}

func (a *Archive) legacyWriter(base map[string]string) string {
	var head struct {
		Torch string `json:"torch_version"`
	}
	if text, err := a.read(base["serialized_exported_program.json"]); err == nil {
		if decodeJSON(text, &head) == nil && head.Torch != "" {
			return "torch " + head.Torch
		}
	}
	if text, err := a.read(base["version"]); err == nil && len(text) < 16 {
		return fmt.Sprintf("torch 2.7 or older (schema %s)", strings.TrimSpace(string(text)))
	}
	return "torch 2.7 or older"
}

func (a *Archive) checkVersion() error {
	for _, want := range []struct{ record, text string }{{"archive_format", "pt2"}, {"archive_version", "0"}, {"byteorder", "little"}} {
		name := a.root + want.record
		if _, ok := a.records[name]; !ok && want.record == "byteorder" {
			continue
		}
		got, err := a.read(name)
		if err != nil {
			return err
		}
		if text := strings.TrimSpace(string(got)); text != want.text {
			return otherVersion("%s is %.20q, want %q", want.record, text, want.text)
		}
	}
	if len(a.Models()) == 0 {
		for n := range a.records {
			if strings.HasPrefix(n, a.root+"data/aotinductor/") {
				return otherVersion("this is an AOTInductor package, which holds machine code and no graph")
			}
		}
		return damaged(errors.New("the archive holds no models/*.json"))
	}
	return nil
}

// Models lists the programs in the archive; torch.export.save writes one, "model".
func (a *Archive) Models() []string {
	var models []string
	for _, n := range a.names() {
		rest, ok := strings.CutPrefix(n, a.root+"models/")
		if model, isJSON := strings.CutSuffix(rest, ".json"); ok && isJSON {
			models = append(models, model)
		}
	}
	return models
}

// slice is the bytes of a record.
func (a *Archive) slice(r record) []byte { return a.data[r.offset : r.offset+r.size : r.offset+r.size] }

// read is the bytes of a record whose checksum is right.
func (a *Archive) read(name string) ([]byte, error) {
	r, ok := a.records[name]
	if !ok {
		return nil, damaged(fmt.Errorf("the archive has no record %q", name))
	}
	if r.offset < 0 {
		return nil, diag.New(diag.StaleStep, "", "record %q is not in this file, which holds a graph without its weights", name).
			WithHint("give the .pt2 that the graph was split off")
	}
	b := a.slice(r)
	if crcOf(b) != r.crc {
		return nil, damaged(fmt.Errorf("record %q is damaged: wrong checksum", name))
	}
	return b, nil
}

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }
