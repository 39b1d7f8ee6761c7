package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// opOptions are the command line of "scoreboard conformance".
type opOptions struct {
	sets, check, file, ops string
	guard                  guardSide
	update, trace          bool
	workers                int
}

func (o *opOptions) parse(args []string) error {
	f := flag.NewFlagSet("conformance", flag.ContinueOnError)
	f.StringVar(&o.sets, "sets", "", "folder of packs, the conformance set's ops")
	f.StringVar(&o.check, "check", "", "table to compare with")
	f.BoolVar(&o.update, "update", false, "write the table")
	f.StringVar(&o.file, "file", "conformance.txt", "table that --update writes")
	f.StringVar(&o.ops, "ops", "", "judge only packs whose whole name this expression matches")
	f.BoolVar(&o.trace, "trace", false, "print the stack of a panic")
	f.IntVar(&o.workers, "workers", 2, "packs at a time")
	f.Func("guard", "put a page that nobody may touch `before` or behind every tensor; Linux only", func(name string) (err error) {
		o.guard, err = parseGuard(name)
		return err
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.update && o.ops != "" && o.file == "conformance.txt" {
		return errors.New("--update with --ops would write a table of these operators alone: name another --file")
	}
	return nil
}

// runConformance measures, writes and compares as o says. It gives whether the comparison found no difference.
func runConformance(o opOptions, w io.Writer) (bool, error) {
	if _, err := os.Stat(o.sets); errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		fmt.Fprintln(w, "no conformance set: skipped")
		return true, nil
	}
	packs, err := findPacks(o.sets, o.ops)
	if err != nil {
		return false, err
	}
	b, err := judgePacks(packs, o)
	if err != nil {
		return false, err
	}
	if o.update {
		if err := os.WriteFile(o.file, []byte(b.String()), 0o644); err != nil {
			return false, fmt.Errorf("write table: %w", err)
		}
	}
	if o.check == "" {
		if o.update {
			fmt.Fprint(w, b.totals())
		} else {
			fmt.Fprint(w, b.String())
		}
		return true, nil
	}
	text, err := os.ReadFile(o.check)
	if err != nil {
		return false, fmt.Errorf("read table: %w", err)
	}
	listed, err := parseOps(string(text))
	if err != nil {
		return false, fmt.Errorf("parse table: %w", err)
	}
	return compareOps(listed, b, w), nil
}

// findPacks gives the files of dir whose name matches pattern, in order.
func findPacks(dir, pattern string) ([]string, error) {
	match, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("find packs: %w", err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil {
		return nil, fmt.Errorf("find packs: %w", err)
	}
	packs = slices.DeleteFunc(packs, func(p string) bool {
		return pattern != "" && !match.MatchString(strings.TrimSuffix(filepath.Base(p), ".zip"))
	})
	if len(packs) == 0 {
		return nil, errors.New("find packs: none in the folder")
	}
	return packs, nil
}

func judgePacks(packs []string, o opOptions) (opBoard, error) {
	tmp, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	lists, errs := make([]opBoard, len(packs)), make([]error, len(packs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, o.workers) {
		j, err := newOpJudge(tmp, o.trace)
		if err != nil {
			return nil, err
		}
		j.guard = o.guard
		wg.Go(func() {
			for i := range next {
				lists[i], errs[i] = j.pack(packs[i])
			}
		})
	}
	for i := range packs {
		next <- i
	}
	close(next)
	wg.Wait()
	return slices.Concat(lists...), errors.Join(errs...)
}
