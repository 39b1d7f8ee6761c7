// Command tester is what the tests pte_size_test, pte_reproducible_test, pte_closure_test and pte_contract_test run: each
// measures files that Bazel has built and compares them with budgets, with each other, or with a committed text, which
// `bazel run TEST -- --update` writes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rules-pte/rules_pte/internal/textdiff"
)

// checks are the subcommands by name.
var checks = map[string]func(out io.Writer, args []string) error{
	"size":     runSize,
	"same":     runSame,
	"closure":  runClosure,
	"contract": runContract,
}

func main() {
	if len(os.Args) < 2 || checks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: tester size|same|closure|contract [flags]")
		os.Exit(2)
	}
	if err := checks[os.Args[1]](os.Stdout, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// list is a flag that may be repeated.
type list []string

// String is the flag's value for flag.Value.
func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds one value.
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// test is what all subcommands are told.
type test struct {
	target string
	// expected is the committed text, "" if there is none; source is where it lies in the workspace.
	expected, source string
	update           bool
}

func (t *test) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&t.target, "target", "", "label of the test, for errors")
	f.StringVar(&t.expected, "expected", "", "the committed text")
	f.StringVar(&t.source, "source", "", "where the committed text lies in the workspace")
	f.BoolVar(&t.update, "update", false, "write the text instead of comparing it; under `bazel run`")
	return f
}

// write writes the text into the workspace that `bazel run` was called in.
func (t *test) write(text string) error {
	root := os.Getenv("BUILD_WORKSPACE_DIRECTORY")
	switch {
	case t.source == "":
		return fmt.Errorf("%s: --update: the test has no expected file", t.target)
	case root == "":
		return fmt.Errorf("%s: --update works with `bazel run %s -- --update`", t.target, t.target)
	}
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(t.source)), []byte(text), 0o666); err != nil {
		return fmt.Errorf("%s: write expected text: %w", t.target, err)
	}
	return nil
}

// compare holds the text against the committed one, and says how to accept it.
func (t *test) compare(text string) error {
	if t.update {
		return t.write(text)
	}
	if t.expected == "" {
		return nil
	}
	want, err := os.ReadFile(t.expected)
	if err != nil {
		return fmt.Errorf("%s: read expected text: %w", t.target, err)
	}
	if string(want) == text {
		return nil
	}
	return fmt.Errorf("%s: differs from %s (- committed, + now):\n%s%s", t.target, t.source, textdiff.Lines(string(want), text), t.accept())
}

func (t *test) accept() string {
	return fmt.Sprintf("to accept: bazel run %s -- --update", t.target)
}
