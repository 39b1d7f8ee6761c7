// Command kernels measures single operators beside XNNPACK's and the official runtime's.
//
//	bazel run //bench:kernels -- --python PYTHON ...
//	go run ./bench/kernels --python PYTHON [--match REGEXP] [--threads N] [--rounds N] [--turn 25ms] [--cache DIR]
//	                       [--json FILE] [--markdown FILE]
//
// It runs in the root of the repository. python/modules.py makes models of one operator each, which become programs as in
// bench/models. The sides are
//
//	ours       our program without a delegate, on our runtime
//	same       the official program for XNNPACK, on our runtime
//	official   the same program on the official runtime
//
// Each side is a process that has loaded the program. They take turns; the shortest call of each counts. What is made
// with PYTHON, or PTE_PYTHON, which has torch and executorch, is kept in --cache: the first run takes longer.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// options are the command line.
type options struct {
	side.Tools
	side.Turns
	match      *regexp.Regexp
	threads    int
	json, page string
}

// sides take turns in this order.
var sides = []*side.Side{
	{Name: "ours", Worker: side.Ours},
	{Name: "same", Export: "xnnpack", Worker: side.Ours},
	{Name: "official", Export: "xnnpack", Worker: side.Official},
}

func main() {
	if err := command(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	return run(o, tmp)
}

func parse(args []string) (*options, error) {
	o := &options{Turns: side.Turns{Rounds: 5, Each: 25 * time.Millisecond}}
	f := flag.NewFlagSet("kernels", flag.ContinueOnError)
	o.Tools.Define(f)
	o.Turns.Define(f)
	match := f.String("match", "", "measure only rows whose name this regular expression matches")
	f.IntVar(&o.threads, "threads", 1, "number of threads")
	f.StringVar(&o.json, "json", "", "file for the measurements")
	f.StringVar(&o.page, "markdown", "", "file for the tables")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.Python == "" || o.Rounds < 1 || o.threads < 1 || f.NArg() > 0 {
		return nil, errors.New("want --python, --rounds and --threads of 1 or more, and no other arguments")
	}
	o.FromUser(&o.json, &o.page)
	var err error
	if o.match, err = regexp.Compile(*match); err != nil {
		return nil, fmt.Errorf("parse --match: %w", err)
	}
	return o, nil
}

func run(o *options, tmp string) error {
	k, err := side.NewKit(o.Tools, sides, tmp)
	if err != nil {
		return err
	}
	rep := &report{Threads: o.threads}
	if rep.Rows, err = readRows(k, o.match); err != nil {
		return err
	}
	if rep.Peaks, err = measurePeaks(k, o.threads); err != nil {
		return err
	}
	for _, r := range rep.Rows {
		r.Result = k.Measure(r.model, sides, o.threads, o.Turns)
		r.limit(rep.Peaks)
		fmt.Fprintln(os.Stderr, r.line())
	}
	rep.Setup = k.NewSetup(o.Rounds)
	fmt.Print(rep.text())
	return o.write(rep)
}

// measurePeaks measures what the machine can do at most.
func measurePeaks(k *side.Kit, threads int) (*peaks, error) {
	text, err := exec.Command(k.Pte, "hwbench", "--json", "--threads", strconv.Itoa(threads)).Output()
	p := &peaks{}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil || len(p.Reads) == 0 {
		return nil, fmt.Errorf("measure machine: %w", err)
	}
	return p, nil
}

// write writes the files that were asked for.
func (o *options) write(rep *report) error {
	if o.json != "" {
		if err := table.WriteJSON(o.json, rep); err != nil {
			return err
		}
	}
	if o.page == "" {
		return nil
	}
	if err := os.WriteFile(o.page, []byte(rep.page()), 0o644); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}
