package main

import (
	"archive/zip"
	"compress/flate"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// thinOptions are the command line of "scoreboard thin".
type thinOptions struct{ sets, out string }

func (o *thinOptions) parse(args []string) error {
	f := flag.NewFlagSet("thin", flag.ContinueOnError)
	f.StringVar(&o.sets, "sets", "", "folders of packs, as a path list")
	f.StringVar(&o.out, "out", "tools/scoreboard/testdata/operators.zip", "pack to write")
	return f.Parse(args)
}

// thinned is the smallest program of a pack that is right, and its files.
type thinned struct {
	object map[string]any // of cases.json, with the pack's name in its id
	files  map[string][]byte
	size   int
}

// runThin writes one pack with one program of every pack, of those that are right on our runtime.
func runThin(o thinOptions) error {
	tmp, err := os.MkdirTemp("", "thin")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	j, err := newOpJudge(tmp, false)
	if err != nil {
		return err
	}
	var kept []*thinned
	for _, dir := range filepath.SplitList(o.sets) {
		packs, err := findPacks(dir, "")
		if err != nil {
			return err
		}
		for _, path := range packs {
			t, err := j.thin(path)
			if err != nil {
				return err
			}
			if t != nil {
				kept = append(kept, t)
			}
		}
	}
	f, err := os.Create(o.out)
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	defer f.Close()
	if err := writeThinned(f, kept); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return f.Close()
}

// thin picks a program of the pack at path; nil if none is right.
func (j *opJudge) thin(path string) (*thinned, error) {
	p, err := openPack(path)
	if err != nil {
		return nil, err
	}
	defer p.zip.Close()
	text, err := p.read("cases.json")
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", p.name, err)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil {
		return nil, fmt.Errorf("read pack %s: %w", p.name, err)
	}
	sizes := make([]int, len(objects))
	order := make([]int, len(objects))
	for i := range objects {
		order[i], sizes[i] = i, p.sizeOf(p.cases[i].Dir)
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	for _, i := range order {
		if j.inTime(p, &p.cases[i]).state != "ok" {
			continue
		}
		files, err := p.filesOf(p.cases[i].Dir)
		if err != nil {
			return nil, fmt.Errorf("read pack %s: %w", p.name, err)
		}
		objects[i]["id"] = p.name + " " + p.cases[i].ID
		delete(objects[i], "official")
		return &thinned{objects[i], files, sizes[i]}, nil
	}
	return nil, nil
}

// sizeOf is how many bytes the files of a program take in the pack.
func (p *pack) sizeOf(dir string) int {
	n := 0
	for _, f := range p.zip.File {
		if strings.HasPrefix(f.Name, dir+"/") {
			n += int(f.CompressedSize64)
		}
	}
	return n
}

// filesOf are the files of a program, by their name behind its folder's.
func (p *pack) filesOf(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range p.zip.File {
		name, ok := strings.CutPrefix(f.Name, dir+"/")
		if !ok {
			continue
		}
		b, err := p.read(f.Name)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}

// writeThinned writes the programs as one pack; the same ones give the same bytes.
func writeThinned(w io.Writer, kept []*thinned) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	add := func(name string, data []byte) error {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	}
	objects := make([]map[string]any, len(kept))
	for i, t := range kept {
		dir := strconv.Itoa(i)
		objects[i], t.object["dir"] = t.object, dir
		names := make([]string, 0, len(t.files))
		for name := range t.files {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if err := add(dir+"/"+name, t.files[name]); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(objects)
	if err != nil {
		return err
	}
	if err := add("cases.json", text); err != nil {
		return err
	}
	return z.Close()
}
