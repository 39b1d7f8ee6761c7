package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// runSame wants the two files of each pair, of programs or data files, to be the same bytes.
func runSame(_ io.Writer, args []string) error {
	var t test
	f := t.flags("same")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 || f.NArg()%2 != 0 {
		return fmt.Errorf("same: want pairs of files, got %d files", f.NArg())
	}
	for pair := range slices.Chunk(f.Args(), 2) {
		if err := samePair(pair[0], pair[1]); err != nil {
			return fmt.Errorf("%s: %w", t.target, err)
		}
	}
	return nil
}

func samePair(first, again string) error {
	a, err := os.ReadFile(first)
	if err != nil {
		return fmt.Errorf("read what was lowered: %w", err)
	}
	b, err := os.ReadFile(again)
	if err != nil {
		return fmt.Errorf("read what was lowered again: %w", err)
	}
	if bytes.Equal(a, b) {
		return nil
	}
	return fmt.Errorf("lowered again, %s has other bytes: %s", filepath.Base(first), difference(a, b))
}

// difference says where two different files differ first.
func difference(a, b []byte) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	text := fmt.Sprintf("%d bytes and %d bytes, the first difference at offset %d", len(a), len(b), n)
	parts, err := pte.Layout(a)
	if err != nil {
		return text
	}
	for _, p := range parts {
		if uint64(n) >= p.Offset && uint64(n) < p.Offset+p.Size {
			return text + fmt.Sprintf(", in %s at %d", p.Name, uint64(n)-p.Offset)
		}
	}
	return text
}
