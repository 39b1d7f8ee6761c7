// Command lowering measures how fast models are lowered and how much memory that takes, beside the official exporter.
//
//	bazel run //bench:lowering -- [--models DIR] [--python PYTHON] [--rounds N] [--json FILE] [--markdown FILE] [NAME...]
//	go run ./bench/lowering ...   # in the root of the repository
//
// A model is a folder of DIR with its .pt2 files, one a method; without --models, those of the examples. PYTHON, or
// PTE_PYTHON, has torch and executorch; without it only pte is measured. The two take turns on each model, the median
// counts. Of pte it is the whole process, its start included; of the official exporter only the work on the model: its
// imports, and a first small model, come before.
//
// Last, a model of 5 MB and one of 500 MB with the same graph are made and lowered: all that is allocated on Go's heap
// follows the graph, not the weights.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rules-pte/rules_pte/bench/table"
)

// options are the command line.
type options struct {
	models, python, pte, jsonFile, markdown string
	rounds                                  int
	heap                                    bool
	names                                   []string
}

func main() {
	o, err := parse()
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lowering:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	flag.StringVar(&o.models, "models", "", "folder of models; the examples' if empty")
	flag.StringVar(&o.python, "python", os.Getenv("PTE_PYTHON"), "interpreter that has the official exporter")
	flag.StringVar(&o.pte, "pte", "", "tool to measure, instead of one built from the source")
	flag.StringVar(&o.jsonFile, "json", "", "file for the measurements")
	flag.StringVar(&o.markdown, "markdown", "", "file for the tables, where they replace the ones of before")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of each model and side")
	flag.BoolVar(&o.heap, "heap", true, "also lower a model of 500 MB")
	flag.Parse()
	o.names = flag.Args()
	if o.rounds < 1 {
		return o, errors.New("--rounds: want 1 or more")
	}
	// Under `bazel run` paths count from where the user stands, while tools and examples lie here.
	if from := os.Getenv("BUILD_WORKING_DIRECTORY"); from != "" {
		for _, p := range []*string{&o.models, &o.python, &o.pte, &o.jsonFile, &o.markdown} {
			if filepath.Base(*p) != *p && !filepath.IsAbs(*p) {
				*p = filepath.Join(from, *p)
			}
		}
	}
	return o, nil
}

// result is everything measured.
type result struct {
	Rounds int          `json:"rounds"`
	Python *imports     `json:"official_imports,omitempty"`
	Models []comparison `json:"models"`
	Heap   []growth     `json:"heap,omitempty"`
}

func run(o options) error {
	models, err := findModels(o.models, o.names)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "lowering")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	ours, err := newOurs(o.pte, tmp)
	if err != nil {
		return err
	}
	res, err := measure(o, ours, models, tmp)
	if err != nil {
		return err
	}
	return report(o, res)
}

func measure(o options, ours *ours, models []model, tmp string) (*result, error) {
	res := &result{Rounds: o.rounds}
	var theirs *official
	if o.python != "" {
		var err error
		if theirs, err = startOfficial(o.python, tmp); err != nil {
			return nil, err
		}
		defer theirs.close()
		res.Python = &theirs.imports
	}
	for _, m := range models {
		c, err := compare(ours, theirs, m, o.rounds)
		if err != nil {
			return nil, err
		}
		res.Models = append(res.Models, c)
		fmt.Fprintf(os.Stderr, "%s: %s\n", m.name, c.summary())
	}
	if !o.heap {
		return res, nil
	}
	var err error
	res.Heap, err = measureHeap(ours, tmp)
	return res, err
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

// model is a program's methods and their files.
type model struct {
	name    string
	methods map[string]string
}

// findModels gives the models in dir, or of the examples, in order; only those in names, if there are any.
func findModels(dir string, names []string) ([]model, error) {
	pattern := filepath.Join(dir, "*", "*.pt2")
	if dir == "" {
		pattern = filepath.Join("examples", "*", "*.pt2")
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("find models: %w", err)
	}
	var models []model
	for _, f := range files {
		f, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("find models: %w", err)
		}
		name := filepath.Base(filepath.Dir(f))
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		if len(models) == 0 || models[len(models)-1].name != name {
			models = append(models, model{name, map[string]string{}})
		}
		method := filepath.Base(f)
		models[len(models)-1].methods[method[:len(method)-len(".pt2")]] = f
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("find models: none in %s", filepath.Dir(pattern))
	}
	for _, m := range models {
		nameForward(m.methods)
	}
	return models, nil
}

// nameForward calls the only method forward.
func nameForward(methods map[string]string) {
	if len(methods) > 1 {
		return
	}
	for name, file := range methods {
		delete(methods, name)
		methods["forward"] = file
	}
}
