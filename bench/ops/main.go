// Command ops measures how long operators take, beside the kernels of the official runtime or those of another tier.
//
//	bazel run //bench:ops -- [--python PYTHON | --beside TIER] [--match RE] [--rounds N] [--json FILE] [--markdown FILE]
//	go run ./bench/ops ...   # in the root of the repository
//
// Each call of cases.go becomes a program that makes it many times, so that nothing but the calls counts. The two runtimes
// load the same file and take turns, one thread each; the shortest run of each counts. PYTHON, or PTE_PYTHON, has
// executorch; without it only our runtime is measured. The official kernels are those of its wheel, the optimized ones
// among them; programs are not delegated. With --beside the other side is our own runtime in that tier: what a vector kernel
// gains shows beside scalar.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// options are the command line.
type options struct {
	python, beside, jsonFile, markdown string
	match                              *regexp.Regexp
	rounds                             int
}

func main() {
	o, err := parseFlags()
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ops:", err)
		os.Exit(1)
	}
}

func parseFlags() (options, error) {
	var o options
	flag.StringVar(&o.python, "python", os.Getenv("PTE_PYTHON"), "interpreter that has the official runtime")
	flag.StringVar(&o.beside, "beside", "", "tier to measure beside, in place of the official runtime: "+tierNames())
	flag.StringVar(&o.jsonFile, "json", "", "file for the measurements")
	flag.StringVar(&o.markdown, "markdown", "", "file for the tables, where they replace the ones of before")
	flag.IntVar(&o.rounds, "rounds", 3, "turns of each side")
	match := flag.String("match", "", "measure only calls that this regular expression matches")
	flag.Parse()
	if o.rounds < 1 {
		return o, errors.New("--rounds: want 1 or more")
	}
	if o.beside != "" && o.markdown != "" {
		return o, errors.New("--beside: the page is that of the official runtime")
	}
	var err error
	if o.match, err = regexp.Compile(*match); err != nil {
		return o, fmt.Errorf("--match: %w", err)
	}
	side.CommandsFromUser(&o.python)
	side.FilesFromUser(&o.jsonFile, &o.markdown)
	return o, nil
}

func run(o options) error {
	tmp, err := os.MkdirTemp("", "ops")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	other, err := o.other(tmp)
	if err != nil {
		return err
	}
	if other == nil {
		fmt.Fprintln(os.Stderr, "ops: no --python: the official runtime is not measured")
	} else {
		defer other.close()
	}
	res, err := measure(o, other)
	if err != nil {
		return err
	}
	return report(o, res)
}

// other is the other side, nil for none. tmp is a folder for its files.
func (o *options) other(tmp string) (rival, error) {
	switch {
	case o.beside != "":
		return newTier(o.beside)
	case o.python != "":
		return newOfficial(o.python, tmp)
	}
	return nil, nil
}

func report(o options, res *result) error {
	fmt.Print(res.text())
	if o.jsonFile != "" {
		if err := table.WriteJSON(o.jsonFile, res); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return table.WriteSection(o.markdown, res.page())
	}
	return nil
}
