package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// What surrounds the table of what is linked, which pte_runtime puts into its binaries: stripped ones and WebAssembly keep
// it.
const (
	tableHead = "pte closure 1\n"
	tableEnd  = "end of pte closure\n"
)

const closureHead = "# What a runtime links. Made by pte_closure_test.\n"

// runClosure holds the kernels and backends in a binary against those that its programs call, and against a committed text.
func runClosure(_ io.Writer, args []string) error {
	var t test
	var manifests list
	f := t.flags("closure")
	binary := f.String("binary", "", "the runtime")
	declared := f.Bool("declared", false, "whether the runtime names its backends itself")
	f.Var(&manifests, "manifest", "label|manifest of a program")
	if err := f.Parse(args); err != nil {
		return err
	}
	got, err := linked(*binary)
	if err != nil {
		return fmt.Errorf("%s: %w", t.target, err)
	}
	want, err := called(manifests)
	if err != nil {
		return fmt.Errorf("%s: %w", t.target, err)
	}
	if err := agree(got, want, *declared); err != nil {
		return fmt.Errorf("%s: %s: %w", t.target, *binary, err)
	}
	return t.compare(closureHead + strings.Join(got, ""))
}

// linked is the table in a binary: lines "kernel NAME" and "backend ID", sorted.
func linked(binary string) ([]string, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read runtime: %w", err)
	}
	_, rest, found := bytes.Cut(data, []byte(tableHead))
	table, _, ended := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ended {
		return nil, fmt.Errorf("read runtime %s: no table of what is linked: it does not use package pteprogram", binary)
	}
	return slices.DeleteFunc(strings.SplitAfter(string(table), "\n"), func(l string) bool { return l == "" }), nil
}

// called is the table that follows from manifests.
func called(manifests []string) (lines []string, err error) {
	for _, m := range manifests {
		label, name, _ := strings.Cut(m, "|")
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		var needs struct{ Kernels, Backends []string }
		if err := json.Unmarshal(data, &needs); err != nil {
			return nil, fmt.Errorf("read manifest of %s: %w", label, err)
		}
		for _, k := range needs.Kernels {
			lines = append(lines, "kernel "+k+"\n")
		}
		for _, b := range needs.Backends {
			lines = append(lines, "backend "+b+"\n")
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// agree wants the same lines; with declared, further backends may be linked.
func agree(got, want []string, declared bool) error {
	var errs []error
	for _, l := range want {
		if !slices.Contains(got, l) {
			errs = append(errs, fmt.Errorf("%s is called and not linked", strings.TrimSpace(l)))
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) && !(declared && strings.HasPrefix(l, "backend ")) {
			errs = append(errs, fmt.Errorf("%s is linked and not called", strings.TrimSpace(l)))
		}
	}
	return errors.Join(errs...)
}
