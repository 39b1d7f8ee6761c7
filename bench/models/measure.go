package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"
)

// figures are one side's of one model. Times are in nanoseconds, memory in KiB.
type figures struct {
	Median float64 `json:"median_ns,omitempty"`
	Best   float64 `json:"best_ns,omitempty"`
	// Load is the median of the loads, with packing; First the call after it.
	Load  float64 `json:"load_ns,omitempty"`
	First float64 `json:"first_ns,omitempty"`
	// Base is the process's memory before it loaded, Peak the most after a load and a call.
	Base float64 `json:"base_kib,omitempty"`
	Peak float64 `json:"peak_kib,omitempty"`
	// Error is why there are no figures.
	Error string `json:"error,omitempty"`
}

// result is a model's figures by side.
type result struct {
	Model   string              `json:"model"`
	Threads int                 `json:"threads"`
	Sides   map[string]*figures `json:"sides"`
}

// entrant is a side while its model is measured.
type entrant struct {
	side    *side
	figures *figures
	worker  *worker
	words   []string // of the load
	loads   []float64
	times   []float64
	samples int
	calls   int
}

// loads is how many times a program is loaded.
const loads = 5

// settle is how long a turn waits for the threads of the one before to stop spinning.
const settle = 30 * time.Millisecond

// measure runs a model on the sides in turns.
func (k *kit) measure(m *model, list []*side, threads int, o *options) *result {
	r := &result{Model: m.name, Threads: threads, Sides: map[string]*figures{}}
	var field []*entrant
	for _, s := range list {
		e := &entrant{side: s, figures: &figures{}}
		r.Sides[s.name] = e.figures
		if err := k.enter(e, m, threads, o); err != nil {
			e.drop(err)
			continue
		}
		field = append(field, e)
	}
	for range o.rounds {
		for _, e := range field {
			e.turn(threads)
		}
	}
	for _, e := range field {
		e.finish()
	}
	return r
}

// drop ends an entrant's part.
func (e *entrant) drop(err error) {
	*e.figures = figures{Error: err.Error()}
	if e.worker != nil {
		e.worker.close()
		e.worker = nil
	}
}

// enter makes and loads the side's program, holds its results against the goldens, and finds how many calls make a turn.
func (k *kit) enter(e *entrant, m *model, threads int, o *options) error {
	file, err := k.program(m, e.side)
	if err != nil {
		return err
	}
	inputs, err := m.words(k.tmp)
	if err != nil {
		return err
	}
	if e.worker, err = k.start(e.side); err != nil {
		return err
	}
	e.words = append([]string{"load", file, m.method, strconv.Itoa(threads)}, inputs...)
	got, err := e.worker.numbers(4, e.words...)
	if err != nil {
		return err
	}
	e.figures.First, e.figures.Base, e.figures.Peak = got[1], got[2], got[3]
	e.loads = got[:1]
	if m.call == 0 { // later calls of a case depend on the earlier ones' state
		if err := e.worker.check(m, k.tmp); err != nil {
			return err
		}
	}
	return e.calibrate(o.turn)
}

// calibrate fits a turn into d: samples of at least 20 µs, of one call or more.
func (e *entrant) calibrate(d time.Duration) error {
	took, err := e.worker.numbers(1, "run", "3", "1")
	if err != nil {
		return err
	}
	call := slices.Min(took)
	e.calls = int(math.Ceil(20e3 / call))
	e.samples = min(max(int(float64(d.Nanoseconds())/(call*float64(e.calls))), 1), 2000)
	return nil
}

// slow is a time after which a side has few turns.
const slow = 3 * time.Second

// turn measures one turn.
func (e *entrant) turn(threads int) {
	if e.worker == nil || len(e.times) >= 3 && e.times[0]*3 > float64(slow) {
		return
	}
	if threads > 1 {
		time.Sleep(settle)
	}
	got, err := e.worker.numbers(e.samples, "run", strconv.Itoa(e.samples), strconv.Itoa(e.calls))
	if err != nil {
		e.drop(err)
		return
	}
	e.times = append(e.times, got...)
}

// finish loads again for the median and closes.
func (e *entrant) finish() {
	if e.worker == nil {
		return
	}
	for len(e.loads) < loads {
		got, err := e.worker.numbers(4, e.words...)
		if err != nil {
			e.drop(err)
			return
		}
		e.loads = append(e.loads, got[0])
	}
	e.worker.close()
	e.figures.Median, e.figures.Best, e.figures.Load = median(e.times), slices.Min(e.times), median(e.loads)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// measureAll measures all models and says each result at once.
func measureAll(k *kit, models []*model, o *options) []*result {
	var out []*result
	for _, threads := range o.threads {
		for _, m := range models {
			r := k.measure(m, o.sides, threads, o)
			fmt.Fprintln(os.Stderr, r.line())
			out = append(out, r)
		}
	}
	return out
}
