// Command models measures how fast models run, beside the official runtime and ONNX Runtime.
//
//	bazel run //bench:gate -- ...     # the same with --gate, against the floors that are committed
//	go run ./bench/models --sets DIR[:DIR] [--python PYTHON] [--models REGEXP] [--sides LIST] [--threads 1,2]
//	                      [--rounds N] [--turn 60ms] [--json FILE] [--markdown FILE] [--gate FILE] [--floors FILE]
//
// It runs in the root of the repository. DIR is a folder of models with case.json, as the zoo's export.py makes them. The
// sides are
//
//	ours            our program without a delegate, on our runtime
//	ours_xnnpack    our program with XNNPACK's part delegated, on our runtime
//	official        the official program for XNNPACK on the official runtime, by the C++ runner in official/
//	onnx            torch.onnx's program on ONNX Runtime, in Python with inputs and outputs bound
//	portable        the official program without a delegate on the official runtime
//
// PYTHON, or PTE_PYTHON, has torch, executorch, onnxruntime and onnxscript; the runner is compiled with g++ against the
// headers and libraries of its executorch. Without it there are only our sides. What it exports is kept in --cache.
//
// Each side is a process that has loaded the model. They take turns, N of each, and a figure is the median of all calls.
// A side whose results are not the model's has none.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/bench/table"
)

// options are the command line.
type options struct {
	sets         []string
	python, pte  string
	models       *regexp.Regexp
	sides        []*side
	threads      []int
	rounds       int
	turn         time.Duration
	cache        string
	json, page   string
	gate, floors string
}

func main() {
	err := command(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) == 1 && args[0] == "serve" {
		return serve(os.Stdin, os.Stdout)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	return run(o)
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("models", flag.ContinueOnError)
	sets := f.String("sets", os.Getenv("PTE_ZOO"), "folders of models, with colons between")
	f.StringVar(&o.python, "python", os.Getenv("PTE_PYTHON"), "interpreter that has the other runtimes")
	f.StringVar(&o.pte, "pte", "", "tool that lowers, instead of one built from the source")
	names := f.String("models", "", "expression for the names of the models")
	list := f.String("sides", "", "sides with commas between; all if empty")
	threads := f.String("threads", "1", "numbers of threads, with commas between")
	f.IntVar(&o.rounds, "rounds", 7, "turns of each side")
	f.DurationVar(&o.turn, "turn", 60*time.Millisecond, "about how long a turn takes")
	f.StringVar(&o.cache, "cache", "", "folder for exported programs; the user's cache if empty")
	f.StringVar(&o.json, "json", "", "file for the measurements")
	f.StringVar(&o.page, "markdown", "", "file for the tables")
	f.StringVar(&o.gate, "gate", "", "file of floors that no ratio may be below")
	f.StringVar(&o.floors, "floors", "", "file of floors to write")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if *sets == "" || f.NArg() > 0 || o.rounds < 1 {
		return nil, errors.New("want --sets DIR, --rounds of 1 or more, and no other arguments")
	}
	o.sets = strings.Split(*sets, ":")
	o.fromUser()
	return o, errors.Join(o.parseModels(*names), o.parseSides(*list), o.parseThreads(*threads))
}

// fromUser makes paths count from where the user stands: under `bazel run` that is another folder.
func (o *options) fromUser() {
	from := os.Getenv("BUILD_WORKING_DIRECTORY")
	if from == "" {
		return
	}
	paths := []*string{&o.pte, &o.cache, &o.json, &o.page, &o.floors}
	for i := range o.sets {
		paths = append(paths, &o.sets[i])
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(from, *p)
		}
	}
}

func (o *options) parseModels(text string) (err error) {
	if o.models, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
		return fmt.Errorf("parse --models: %w", err)
	}
	if text == "" {
		o.models = regexp.MustCompile("")
	}
	return nil
}

func (o *options) parseSides(text string) error {
	for _, s := range sides {
		wanted := text == "" || slices.Contains(strings.Split(text, ","), s.name)
		if wanted && (o.python != "" || s.export == "") {
			o.sides = append(o.sides, s)
		}
	}
	if len(o.sides) == 0 {
		return fmt.Errorf("parse --sides: nothing to measure in %q", text)
	}
	return nil
}

func (o *options) parseThreads(text string) error {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("parse --threads: %q", word)
		}
		o.threads = append(o.threads, n)
	}
	return nil
}

func run(o *options) error {
	var models []*model
	for _, s := range subjects {
		if !o.models.MatchString(s.name) {
			continue
		}
		m, err := readModel(s, o.sets)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	tmp, err := os.MkdirTemp("", "models")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	k, err := newKit(o, tmp)
	if err != nil {
		return err
	}
	rep := newReport(k, o)
	rep.Results, rep.Load = measureAll(k, models, o), table.LoadAverage()
	fmt.Print(rep.text())
	return o.write(rep)
}

// write writes the files that were asked for, and holds the floors.
func (o *options) write(rep *report) error {
	if o.json != "" {
		if err := table.WriteJSON(o.json, rep); err != nil {
			return err
		}
	}
	if o.page != "" {
		if err := os.WriteFile(o.page, []byte(rep.page()), 0o644); err != nil {
			return fmt.Errorf("write tables: %w", err)
		}
	}
	if o.floors != "" {
		if err := rep.writeFloors(o.floors); err != nil {
			return err
		}
	}
	if o.gate != "" {
		return rep.hold(o.gate)
	}
	return nil
}
