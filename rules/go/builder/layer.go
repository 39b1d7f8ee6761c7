package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// layerMagic is the first line of a layer: one file that holds entries of Go's
// build cache. After it come one index line an entry, "action output size" in
// hexadecimal and decimal, sorted by action, an empty line, and the bodies, each
// once, in the order in which the index first names them.
const layerMagic = "pte go cache 1"

// entry is one result in the build cache.
type entry struct {
	action, output string // hexadecimal
	size           int64
}

// place is where a layer holds the body of an entry.
type place struct {
	entry
	file   string
	offset int64
}

// readLayer adds the entries of a layer to index, which is keyed by action.
func readLayer(file string, index map[string]place) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open layer: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	line, err := r.ReadString('\n')
	if err != nil || strings.TrimSuffix(line, "\n") != layerMagic {
		return fmt.Errorf("read layer %s: not a layer", file)
	}
	entries, header, err := readIndex(r)
	if err != nil {
		return fmt.Errorf("read layer %s: %w", file, err)
	}
	offsets := map[string]int64{}
	next := int64(len(line)) + header
	for _, e := range entries {
		if _, ok := offsets[e.output]; !ok {
			offsets[e.output] = next
			next += e.size
		}
		index[e.action] = place{e, file, offsets[e.output]}
	}
	return nil
}

// readIndex reads the index lines, and says how many bytes they and the empty line take.
func readIndex(r *bufio.Reader) (entries []entry, n int64, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, 0, errors.New("the index ends early")
		}
		n += int64(len(line))
		if line == "\n" {
			return entries, n, nil
		}
		var e entry
		if _, err := fmt.Sscanf(line, "%s %s %d\n", &e.action, &e.output, &e.size); err != nil {
			return nil, 0, fmt.Errorf("index line %q: %w", line, err)
		}
		if _, err := hex.DecodeString(e.output); err != nil {
			return nil, 0, fmt.Errorf("index line %q: %w", line, err)
		}
		entries = append(entries, e)
	}
}

// extract writes the body of an entry to file.
func (p place) extract(file string) error {
	f, err := os.Open(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(f, p.offset, p.size))
	return errors.Join(err, out.Close())
}

// writeLayer writes the entries as a layer. body gives the file with the content of an output.
func writeLayer(file string, entries []entry, body func(output string) string) error {
	sort.Slice(entries, func(i, j int) bool { return entries[i].action < entries[j].action })
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("create layer: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, layerMagic)
	for _, e := range entries {
		fmt.Fprintf(w, "%s %s %d\n", e.action, e.output, e.size)
	}
	fmt.Fprintln(w)
	err = writeBodies(w, entries, body)
	return errors.Join(err, w.Flush(), f.Close())
}

func writeBodies(w io.Writer, entries []entry, body func(string) string) error {
	done := map[string]bool{}
	for _, e := range entries {
		if done[e.output] {
			continue
		}
		done[e.output] = true
		if err := copyFrom(w, body(e.output), e.size); err != nil {
			return fmt.Errorf("write layer: %w", err)
		}
	}
	return nil
}

func copyFrom(w io.Writer, file string, size int64) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(w, f, size)
	return err
}
