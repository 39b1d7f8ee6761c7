// Command bzldoc writes the reference part of docs/rules.md, below its marker, from the .bzl files that users load: every
// rule with its attributes, every macro with its arguments, every provider with its fields. What has no documentation is an
// error. Run it in the module's root after changing one:
//
//	go run ./tools/bzldoc
//
// With -check it writes nothing and fails if something would change.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// page is what bzldoc writes.
const page = "docs/rules.md"

// marker begins the written part of the page.
const marker = "<!-- Written by go run ./tools/bzldoc from the .bzl files. DO NOT EDIT below this line. -->\n"

// public are the files that users load.
var public = []string{"rules/defs.bzl", "rules/cc.bzl", "rules/repositories.bzl", "rules/extensions.bzl"}

func main() {
	check := flag.Bool("check", false, "write nothing, fail if the page is not fresh")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintf(os.Stderr, "bzldoc: %v\n", err)
		os.Exit(1)
	}
}

// run writes the page of the module in a folder.
func run(root string, check bool) error {
	reference, err := reference(root, public)
	if err != nil {
		return err
	}
	name := root + "/" + page
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	hand, _, found := strings.Cut(string(text), marker)
	if !found {
		return fmt.Errorf("%s has no line %q", page, strings.TrimSpace(marker))
	}
	fresh := hand + marker + reference
	switch {
	case fresh == string(text):
		return nil
	case check:
		return errors.New(page + " is not fresh, run `go run ./tools/bzldoc`")
	}
	return os.WriteFile(name, []byte(fresh), 0o666)
}
