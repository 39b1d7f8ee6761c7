// Command gobuild writes the BUILD.bazel of every Go package of the module, the
// list of packages of other modules (go_packages.txt) and the lists of what the
// cache layers compile (rules/go/zlayers.bzl). Run it in the module's root after
// adding a package or an import:
//
//	go run ./tools/gobuild
//
// Commands that import pteprogram belong to a pte_runtime, whose BUILD.bazel is written
// by hand. Of the others it replaces what stands above the line "# keep". With -check
// it writes nothing and fails if something would change.
//
// Comments in a test file of a package add to its test target:
//
//	//bazel:data //some:label
//	//bazel:tags manual host
//	//bazel:size large
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "write nothing, fail if something would change")
	flag.Parse()
	stale, err := run(*check)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gobuild: %v\n", err)
		os.Exit(1)
	}
	if *check && len(stale) > 0 {
		fmt.Fprintf(os.Stderr, "gobuild: not fresh, run `go run ./tools/gobuild`: %s\n", strings.Join(stale, " "))
		os.Exit(1)
	}
}

// run writes what is not fresh and returns the names of those files.
func run(check bool) ([]string, error) {
	packages, err := load(".")
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"go_packages.txt":      goPackages(packages),
		"rules/go/zlayers.bzl": layers(packages),
	}
	for _, p := range packages {
		if p.dir == "." || p.lib.imports[modulePath+"/pteprogram"] {
			continue
		}
		files[filepath.Join(p.dir, "BUILD.bazel")] = buildFile(p)
	}
	var stale []string
	for name, text := range files {
		old, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		text += kept(string(old))
		if text == string(old) {
			continue
		}
		stale = append(stale, name)
		if !check {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				return nil, err
			}
		}
	}
	return stale, nil
}

const keepLine = "# keep\n"

// kept is the hand-written part of a BUILD.bazel, the line "# keep" included.
func kept(text string) string {
	if strings.HasPrefix(text, keepLine) {
		return "\n" + text
	}
	if i := strings.Index(text, "\n"+keepLine); i >= 0 {
		return text[i:]
	}
	return ""
}
