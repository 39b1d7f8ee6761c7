package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rules-pte/rules_pte/runtime/op"
)

// runElements is how many elements make a Run take far longer than what surrounds its calls.
const runElements = 1 << 17

// turn is how long a side runs before the other one does.
const turn = 15 * time.Millisecond

// row is the measurement of a call.
type row struct {
	Family string `json:"family"`
	Call   string `json:"call"`
	// Elements are those of the largest tensor.
	Elements int `json:"elements"`
	// Ours and Other are nanoseconds of a call; 0 stands for not measured.
	Ours  float64 `json:"ours_ns"`
	Other float64 `json:"other_ns,omitempty"`
	// Refusal is why the other side does not run the call.
	Refusal string `json:"refusal,omitempty"`
}

// speed is how many times faster ours is.
func (r *row) speed() float64 { return r.Other / r.Ours }

// perElement is nanoseconds per element of a call that takes so many.
func (r *row) perElement(ns float64) float64 { return ns / float64(r.Elements) }

// result is everything measured.
type result struct {
	Rounds int `json:"rounds"`
	// Beside is the other side's name, empty for none.
	Beside string `json:"beside,omitempty"`
	Rows   []*row `json:"rows"`
}

// rival is what ours is measured beside.
type rival interface {
	name() string
	// load makes p the program that time runs; a refusal says that it cannot.
	load(p *program) error
	// time runs the program for a while and gives the shortest run.
	time(limit time.Duration) (time.Duration, error)
	close()
}

func measure(o options, other rival) (*result, error) {
	res := &result{Rounds: o.rounds}
	if other != nil {
		res.Beside = other.name()
	}
	table := op.NewTable(op.Kernels)
	for _, f := range families {
		for _, text := range f.calls {
			if !o.match.MatchString(text) {
				continue
			}
			r, err := measureCall(table, f.name, text, other, o.rounds)
			if err != nil {
				return nil, err
			}
			res.Rows = append(res.Rows, r)
			fmt.Fprintln(os.Stderr, r.summary())
		}
	}
	if len(res.Rows) == 0 {
		return nil, fmt.Errorf("no call matches %s", o.match)
	}
	return res, nil
}

func measureCall(table *op.Table, family, text string, other rival, rounds int) (*row, error) {
	c, err := parseCall(text)
	if err != nil {
		return nil, err
	}
	p, err := build(table, c, runElements)
	if err != nil {
		return nil, err
	}
	o, err := loadOurs(p)
	if err != nil {
		return nil, err
	}
	defer o.close()
	r := &row{Family: family, Call: text, Elements: max(p.elements, 1)}
	if other != nil {
		if err := r.refused(other.load(p)); err != nil {
			return nil, err
		}
	}
	for range rounds {
		took, err := o.time(turn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		r.Ours = shorter(r.Ours, took, p.repeats)
		if other == nil || r.Refusal != "" {
			continue
		}
		took, err = other.time(turn)
		if err := r.refused(err); err != nil {
			return nil, err
		}
		r.Other = shorter(r.Other, took, p.repeats)
	}
	return r, nil
}

// refused notes err if it is a refusal, and gives it back if it is not.
func (r *row) refused(err error) error {
	var no refusal
	if errors.As(err, &no) {
		r.Refusal, err = no.Error(), nil
	}
	return err
}

// shorter is the shorter one of best, if there is one, and the time of one of the calls that took so long.
func shorter(best float64, took time.Duration, calls int) float64 {
	ns := float64(took.Nanoseconds()) / float64(calls)
	if best == 0 || ns < best {
		return ns
	}
	return best
}
