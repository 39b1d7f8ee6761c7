package main

import (
	"debug/elf"
	"debug/gosym"
	"debug/macho"
	"fmt"
	"os"
	"slices"
	"strings"
)

// packagePrefix begins the names of rows with the code of one Go package.
const packagePrefix = "code "

// binaryRows are the size of a Go binary and, for ELF and Mach-O, of the code of each package in it.
func binaryRows(name string) ([]row, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read runtime: %w", err)
	}
	rows := []row{{"runtime_bytes", info.Size()}}
	table, text, err := lineTable(name)
	if err != nil || table == nil {
		return rows, err
	}
	functions, err := gosym.NewTable(nil, gosym.NewLineTable(table, text))
	if err != nil {
		return nil, fmt.Errorf("read functions of %s: %w", name, err)
	}
	code := map[string]int64{}
	for _, f := range functions.Funcs {
		code[packageOf(f.Name)] += int64(f.End - f.Entry)
	}
	var packages []row
	for p, n := range code {
		packages = append(packages, row{packagePrefix + p, n})
	}
	slices.SortFunc(packages, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return append(rows, packages...), nil
}

// lineTable is the table of functions that stripping leaves, and the address of the code; nil for other formats.
func lineTable(name string) (table []byte, text uint64, err error) {
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		if s, t := f.Section(".gopclntab"), f.Section(".text"); s != nil && t != nil {
			table, err := s.Data()
			return table, t.Addr, err
		}
		return nil, 0, nil
	}
	if f, err := macho.Open(name); err == nil {
		defer f.Close()
		if s, t := f.Section("__gopclntab"), f.Section("__text"); s != nil && t != nil {
			table, err := s.Data()
			return table, t.Addr, err
		}
	}
	return nil, 0, nil
}

// packageOf is the import path in a function's name, such as "a/b.(*T).m"; escaped dots stay as they are. Functions that
// the compiler made, such as "type:.eq.T", have none.
func packageOf(function string) string {
	if strings.HasPrefix(function, "type:") || strings.HasPrefix(function, "go:") {
		return "runtime"
	}
	if i := strings.IndexByte(function, '['); i >= 0 { // arguments of a generic function
		function = function[:i]
	}
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return function[:slash+dot]
	}
	return "runtime" // assembly without a package
}
