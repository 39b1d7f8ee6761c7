// Command scoreboard lowers and runs every model of the zoo and keeps the list of what works.
//
//	go run ./tools/scoreboard --sets DIR [--python PYTHON] [--update] [--check scoreboard.txt]
//
// It runs in the root of the repository. Each folder of DIR with a case.json is a model; DIR may be several folders with
// colons between. A model has these verdicts:
//
//	lowered         pte lower makes a program of it
//	ours            that program gives the goldens on our runtime
//	official        that program gives them on the official runtime, with its internal consistency checks
//	import          the portable.pte beside the model, made by the official ExecuTorch, gives them on our runtime
//	xnnpack, xnnpack-ours, xnnpack-official, xnnpack-import
//	                the four, with what XNNPACK takes delegated to it: by our partitioner, and in xnnpack.pte by the official
//	delegation      our partitioner takes at least what the official one takes, read from both programs
//	quantized       of quantized models: our results with XNNPACK lie within one step of the official ones
//
// Where a model has no xnnpack.pte, the official exporter makes one.
//
// A verdict is ok, fail (with a reason below) or none, where there is no program to run. Without --python, which names
// an interpreter with executorch 1.5.1, the official runtime is not asked and its verdicts are not compared.
//
//	go run ./tools/scoreboard conformance --sets DIR [--ops REGEXP] [--update] [--check conformance.txt]
//
// does the same with the packs of operator programs in DIR, on our runtime, in this process.
//
//	go run ./tools/scoreboard thin --sets DIR [--out PACK]
//
// writes a pack with one right program of each pack in DIR, the data of a test that a clone runs by itself.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// options are the command line.
type options struct {
	sets, python, pte, check, file string
	update                         bool
	workers                        int
}

func main() {
	good, err := command(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "scoreboard:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

func command(args []string) (bool, error) {
	if len(args) > 0 && args[0] == "conformance" {
		var o opOptions
		if err := o.parse(args[1:]); err != nil {
			return false, err
		}
		return runConformance(o, os.Stdout)
	}
	if len(args) > 0 && args[0] == "thin" {
		var o thinOptions
		if err := o.parse(args[1:]); err != nil {
			return false, err
		}
		return true, runThin(o)
	}
	var o options
	flag.StringVar(&o.sets, "sets", "", "folders of models, the zoo's ready")
	flag.StringVar(&o.python, "python", "", "interpreter that has the official runtime")
	flag.StringVar(&o.pte, "pte", "", "tool to judge with, instead of one built from the source")
	flag.StringVar(&o.check, "check", "", "scoreboard to compare with")
	flag.BoolVar(&o.update, "update", false, "write the scoreboard")
	flag.StringVar(&o.file, "file", "scoreboard.txt", "scoreboard that --update writes")
	flag.IntVar(&o.workers, "workers", 2, "models at a time")
	flag.Parse()
	return run(o, os.Stdout)
}

// run measures, writes and compares as o says. It gives whether the comparison found no difference.
func run(o options, w io.Writer) (bool, error) {
	models, err := findModels(o.sets)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		fmt.Fprintln(w, "no models: skipped")
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if o.update && o.python == "" {
		return false, errors.New("update scoreboard: want --python, else the official verdicts would be lost")
	}
	b, err := measure(o, models)
	if err != nil {
		return false, err
	}
	if o.update {
		if err := os.WriteFile(o.file, []byte(b.String()), 0o644); err != nil {
			return false, fmt.Errorf("write scoreboard: %w", err)
		}
	}
	if o.check == "" {
		fmt.Fprint(w, b.String())
		return true, nil
	}
	return checkFile(o.check, b, w)
}

func checkFile(name string, got board, w io.Writer) (bool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return false, fmt.Errorf("read scoreboard: %w", err)
	}
	want, err := parseBoard(string(text))
	if err != nil {
		return false, fmt.Errorf("parse scoreboard: %w", err)
	}
	return compareBoards(want, got, w), nil
}

// findModels gives the folders of a list of sets that have a case file, by name. A set without any is an error.
func findModels(sets string) ([]string, error) {
	var models []string
	for _, dir := range filepath.SplitList(sets) {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("find models: %w", err)
		}
		cases, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
		if err != nil || len(cases) == 0 {
			return nil, fmt.Errorf("find models: none in %s: %w", dir, errors.Join(err, os.ErrNotExist))
		}
		for _, c := range cases {
			models = append(models, filepath.Dir(c))
		}
	}
	slices.SortFunc(models, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return models, nil
}

// measure builds the tool and judges all models.
func measure(o options, models []string) (board, error) {
	tmp, err := os.MkdirTemp("", "scoreboard")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	j := &judge{pte: o.pte, tmp: tmp}
	if j.pte == "" {
		j.pte = filepath.Join(tmp, "pte")
		if err := build(j.pte); err != nil {
			return nil, err
		}
	}
	if o.python != "" {
		j.official = newOfficial(o.python)
		defer j.official.close()
	}
	return judgeAll(j, models, o.workers), nil
}

func build(out string) error {
	cmd := exec.Command("go", "build", "-o", out, "./lowerer/cmd/pte")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build pte: %w", err)
	}
	return nil
}

func judgeAll(j *judge, models []string, workers int) board {
	b := make(board, len(models))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, workers) {
		wg.Go(func() {
			for i := range next {
				b[i] = j.model(models[i])
			}
		})
	}
	for i := range models {
		next <- i
	}
	close(next)
	wg.Wait()
	return b
}
