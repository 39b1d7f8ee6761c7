package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rules-pte/rules_pte/bench/side"
)

//go:embed python/modules.py
var modules []byte

// row is an operator with its measurements; python/modules.py describes the first fields.
type row struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	Area   string `json:"area"`
	// Ops are floating-point operations of a call, or those of integers if Integers is set; a product and a sum are two.
	Ops      float64 `json:"ops"`
	Bytes    float64 `json:"bytes"`
	Integers bool    `json:"integers"`

	*side.Result
	// Limit is what bounds the speed, "fma", "dot" or "read", and Least the nanoseconds of a call at that limit.
	Limit string  `json:"limit,omitempty"`
	Least float64 `json:"least_ns,omitempty"`

	model *side.Model
}

// readRows reads the rows that match, and makes their programs.
func readRows(k *side.Kit, match *regexp.Regexp) ([]*row, error) {
	set, err := makeSet(k)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(set, "rows.json"))
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	var all, rows []*row
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("parse rows: %w", err)
	}
	var models []*side.Model
	for _, r := range all {
		if !match.MatchString(r.Name) {
			continue
		}
		if r.model, err = side.Read(side.Subject{Name: r.Folder}, []string{set}); err != nil {
			return nil, err
		}
		rows, models = append(rows, r), append(models, r.model)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("choose rows: none has a name that matches %q", match)
	}
	return rows, k.Export(models...)
}

// makeSet is the folder of the models, in the cache under a name that changes with their source.
func makeSet(k *side.Kit) (string, error) {
	sum := sha256.Sum256(modules)
	set := filepath.Join(k.Cache, "kernels-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(filepath.Join(set, "rows.json")); err == nil {
		return set, nil
	}
	if err := os.RemoveAll(set); err != nil {
		return "", fmt.Errorf("make models: %w", err)
	}
	if err := k.RunPython(modules, set); err != nil {
		return "", fmt.Errorf("make models: %w", err)
	}
	return set, nil
}

// peaks are what the machine can do at most, as "pte hwbench" writes it.
type peaks struct {
	Tier  string  `json:"tier"`
	FLOPS float64 `json:"flops"`
	Ops   float64 `json:"int8_ops"`
	// Reads are the speeds of reading so many bytes again and again, the smallest first.
	Reads []struct {
		Bytes float64 `json:"bytes"`
		Speed float64 `json:"bytes_per_second"`
	} `json:"reads"`
}

// read is the speed of reading so many bytes.
func (p *peaks) read(bytes float64) float64 {
	for _, r := range p.Reads {
		if bytes <= r.Bytes {
			return r.Speed
		}
	}
	return p.Reads[len(p.Reads)-1].Speed
}

// limit finds what bounds the row.
func (r *row) limit(p *peaks) {
	r.Limit, r.Least = "read", 1e9*r.Bytes/p.read(r.Bytes)
	name, speed := "fma", p.FLOPS
	if r.Integers {
		name, speed = "dot", p.Ops
	}
	if least := 1e9 * r.Ops / speed; least > r.Least {
		r.Limit, r.Least = name, least
	}
}

// ours is the shorter call of our runtime; nil if there is none.
func (r *row) ours() *side.Figures { return r.Fastest(side.BestOf, "ours", "same") }

// times is how many times faster ours is than the official runtime; NaN where one of them has no figures.
func (r *row) times() float64 { return r.Ratio(r.ours(), "official", side.BestOf) }

// peak is the part of the limit that a side reaches; NaN where it has no figures.
func (r *row) peak(f *side.Figures) float64 {
	if f == nil || f.Error != "" {
		return math.NaN()
	}
	return r.Least / f.Best
}
