// Command models measures how fast models run, beside the official runtime and ONNX Runtime.
//
//	bazel run //bench:gate -- ...     # the same with --gate, against the floors that are committed
//	go run ./bench/models --sets DIR[:DIR] [--python PYTHON] [--litert PYTHON] [--models REGEXP] [--sides LIST]
//	                      [--threads 1,2] [--rounds N] [--turn 60ms] [--json FILE] [--markdown FILE] [--gate FILE] [--floors FILE]
//
// It runs in the root of the repository, whose sources and `go` it needs, also under bazel. DIR is a folder of models with
// case.json, as the zoo's export.py makes them. The sides are
//
//	ours            our program without a delegate, on our runtime with the kernels that it needs, as pte_runtime links it
//	ours_xnnpack    our program with XNNPACK's part delegated, on our runtime with what it needs
//	ours_all        our program without a delegate, on our runtime with all kernels, for what those cost in memory and loading
//	official        the official program for XNNPACK on the official runtime, by the C++ runner in official/
//	onnx            torch.onnx's program on ONNX Runtime, in Python with inputs and outputs bound
//	litert          litert-torch's program on LiteRT, in Python with inputs bound
//	portable        the official program without a delegate on the official runtime
//
// PYTHON, or PTE_PYTHON, has torch, executorch, onnxruntime and onnxscript; the runner is compiled with g++ against the
// headers and libraries of its executorch. Without it there are only our sides. The side litert wants --litert, or
// PTE_LITERT: an interpreter with litert-torch, whose packages do not go with those of executorch. What they export is kept
// in --cache.
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

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// options are the command line.
type options struct {
	side.Tools
	side.Turns
	sets         []string
	names        string         // what --models says
	models       *regexp.Regexp // the names that it picks
	sides        []*side.Side
	threads      []int
	json, page   string
	gate, floors string
}

// subjects are measured unless --models picks some, of these and of the other folders of the sets.
var subjects = []side.Subject{
	{Name: "mobilenet_v2"}, {Name: "mobilenet_v3_small"}, {Name: "resnet18"}, {Name: "deit_tiny"}, {Name: "minilm"}, {Name: "bert_small"},
	{Name: "llama_prefill", Folder: "llama"}, {Name: "llama_decode", Folder: "llama", Call: 1},
	{Name: "wav2letter"}, {Name: "crepe_tiny"}, {Name: "pnet"}, {Name: "digits"}, {Name: "add"}, {Name: "silero_vad"}, {Name: "lstm"}, {Name: "gru"},
	{Name: "mobilenet_v2_int8"},
}

// withAll is our program without a delegate in a process that has all kernels.
var withAll = &side.Side{Name: "ours_all", Worker: side.Ours}

// sides take turns in this order.
var sides = []*side.Side{
	{Name: "ours"},
	{Name: "ours_xnnpack", Partition: "xnnpack"},
	withAll,
	{Name: "official", Export: "xnnpack", Worker: side.Official},
	{Name: "onnx", Export: "onnx", Worker: side.ONNX},
	{Name: "litert", Export: "litert", Worker: side.LiteRT},
	{Name: "portable", Export: "portable", Worker: side.Official},
}

func main() {
	err := command(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	return run(o)
}

func parse(args []string) (*options, error) {
	o := &options{Turns: side.Turns{Rounds: 7, Each: 60 * time.Millisecond}}
	f := flag.NewFlagSet("models", flag.ContinueOnError)
	sets := f.String("sets", os.Getenv("PTE_ZOO"), "folders of models, with colons between")
	o.Tools.Define(f)
	o.Turns.Define(f)
	f.StringVar(&o.names, "models", "", "expression for the names of the models, of the usual ones and of other folders of the sets")
	list := f.String("sides", "", "sides with commas between; all if empty")
	threads := f.String("threads", "1", "numbers of threads, with commas between")
	f.StringVar(&o.json, "json", "", "file for the measurements")
	f.StringVar(&o.page, "markdown", "", "file for the tables")
	f.StringVar(&o.gate, "gate", "", "file of floors that no ratio may be below")
	f.StringVar(&o.floors, "floors", "", "file of floors to write")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if *sets == "" || f.NArg() > 0 || o.Rounds < 1 {
		return nil, errors.New("want --sets DIR, --rounds of 1 or more, and no other arguments")
	}
	o.sets = strings.Split(*sets, ":")
	paths := []*string{&o.json, &o.page, &o.floors}
	for i := range o.sets {
		paths = append(paths, &o.sets[i])
	}
	o.FromUser(paths...)
	return o, errors.Join(o.parseModels(), o.parseSides(*list), o.parseThreads(*threads))
}

func (o *options) parseModels() (err error) {
	if o.models, err = regexp.Compile("^(?:" + o.names + ")$"); err != nil {
		return fmt.Errorf("parse --models: %w", err)
	}
	return nil
}

func (o *options) parseSides(text string) error {
	for _, s := range sides {
		wanted := text == "" || slices.Contains(strings.Split(text, ","), s.Name)
		if wanted && o.Has(s) {
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
	var models []*side.Model
	for _, s := range o.subjects() {
		m, err := side.Read(s, o.sets)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	if len(models) == 0 {
		return fmt.Errorf("find models: none in %s is named %s", strings.Join(o.sets, ", "), o.names)
	}
	tmp, err := os.MkdirTemp("", "models")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	k, err := side.NewKit(o.Tools, o.sides, tmp)
	if err != nil {
		return err
	}
	rep := &report{Results: measureAll(k, models, o)}
	rep.Setup = k.NewSetup(o.Rounds)
	fmt.Print(rep.text())
	return o.write(rep)
}

// subjects are what the options pick: of the usual models, and of others that the sets have.
func (o *options) subjects() []side.Subject {
	if o.names == "" {
		return subjects
	}
	var folders, usual []string
	for _, set := range o.sets {
		files, _ := filepath.Glob(filepath.Join(set, "*", "case.json"))
		for _, file := range files {
			if name := filepath.Base(filepath.Dir(file)); !slices.Contains(folders, name) {
				folders = append(folders, name)
			}
		}
	}
	var picked []side.Subject
	for _, s := range subjects {
		usual = append(usual, s.In())
		if o.models.MatchString(s.Name) && slices.Contains(folders, s.In()) {
			picked = append(picked, s)
		}
	}
	for _, name := range folders {
		if !slices.Contains(usual, name) && o.models.MatchString(name) {
			picked = append(picked, side.Subject{Name: name})
		}
	}
	return picked
}

// measureAll measures all models and says each result at once.
func measureAll(k *side.Kit, models []*side.Model, o *options) []result {
	var out []result
	for _, threads := range o.threads {
		for _, m := range models {
			r := result{k.Measure(m, o.sides, threads, o.Turns)}
			fmt.Fprintln(os.Stderr, r.line())
			out = append(out, r)
		}
	}
	return out
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
