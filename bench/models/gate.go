package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/rules-pte/rules_pte/bench/side"
	"github.com/rules-pte/rules_pte/bench/table"
)

// floors are the least ratios by "model, threads, figure", of the figures in whats.
type floors map[string]float64

// margin is how far below what was measured a floor is.
const margin = 0.15

// whats are the figures of a result that a gate holds, each the larger the better; NaN where there is none.
var whats = []struct {
	name string
	side string // that ours is compared with
	of   func(r result) float64
}{
	{"official", "official", func(r result) float64 { return r.Ratio(r.ours(), "official", side.MedianOf) }},
	{"onnx", "onnx", func(r result) float64 { return r.Ratio(r.ours(), "onnx", side.MedianOf) }},
	{"litert", "litert", func(r result) float64 { return r.Ratio(r.ours(), "litert", side.MedianOf) }},
	{"portable", "portable", func(r result) float64 { return r.Ratio(r.Sides["ours"], "portable", side.MedianOf) }},
	{"load", "official", func(r result) float64 { return r.Ratio(r.Sides["ours"], "official", side.LoadOf) }},
	{"reload", "official", func(r result) float64 { return r.Ratio(r.Sides["ours"], "official", side.ReloadOf) }},
	{"memory", "official", func(r result) float64 { return r.Ratio(r.Sides["ours"], "official", side.PeakOf) }},
}

// each calls f with the name and the value of every figure whose side took part, also where it failed.
func (rep *report) each(f func(key string, x float64)) {
	for _, r := range rep.Results {
		for _, w := range whats {
			if r.Sides[w.side] == nil {
				continue
			}
			f(fmt.Sprintf("%s, %d, %s", r.Model, r.Threads, w.name), w.of(r))
		}
	}
}

// floors are those that the report's ratios give, with two digits.
func (rep *report) floors() floors {
	f := floors{}
	rep.each(func(key string, x float64) {
		if !math.IsNaN(x) {
			f[key] = math.Round((1-margin)*x*100) / 100
		}
	})
	return f
}

// readFloors reads a file of floors by machine: a ratio of one says little of another.
func readFloors(path string) (map[string]floors, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read floors: %w", err)
	}
	all := map[string]floors{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("parse floors: %s: %w", path, err)
	}
	return all, nil
}

// writeFloors writes the floors as JSON, in the order of their names, beside those of other machines that the file has.
func (rep *report) writeFloors(path string) error {
	all, err := readFloors(path)
	if errors.Is(err, fs.ErrNotExist) {
		all, err = map[string]floors{}, nil
	}
	if err != nil {
		return err
	}
	all[rep.Machine] = rep.floors()
	if err := table.WriteJSON(path, all); err != nil {
		return fmt.Errorf("write floors: %w", err)
	}
	return nil
}

// hold compares the report with the floors of its machine in path. The error names every ratio that is lower, or missing although
// its model was measured.
func (rep *report) hold(path string) error {
	all, err := readFloors(path)
	if err != nil {
		return err
	}
	f, ok := all[rep.Machine]
	if !ok {
		return fmt.Errorf("%s has no floors of %s; --floors writes them", path, rep.Machine)
	}
	return f.hold(rep)
}

func (f floors) hold(rep *report) error {
	var errs []error
	rep.each(func(key string, x float64) {
		switch floor, ok := f[key]; {
		case !ok:
		case math.IsNaN(x):
			errs = append(errs, fmt.Errorf("%s: not measured, want at least %.2f", key, floor))
		case x < floor:
			errs = append(errs, fmt.Errorf("%s: %.2f, want at least %.2f", key, x, floor))
		}
	})
	return errors.Join(errs...)
}
