package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// runSame wants two programs to be the same bytes.
func runSame(_ io.Writer, args []string) error {
	var t test
	f := t.flags("same")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return fmt.Errorf("same: want two files, got %d", f.NArg())
	}
	var data [2][]byte
	for i, name := range f.Args() {
		var err error
		if data[i], err = os.ReadFile(name); err != nil {
			return fmt.Errorf("%s: read program: %w", t.target, err)
		}
	}
	if bytes.Equal(data[0], data[1]) {
		return nil
	}
	return fmt.Errorf("%s: lowered again, the program has other bytes: %s", t.target, difference(data[0], data[1]))
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
