package side

import (
	"flag"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rules-pte/rules_pte/bench/table"
)

// Figures are one side's of one model. Times are in nanoseconds, memory in KiB.
type Figures struct {
	Median float64 `json:"median_ns,omitempty"`
	Best   float64 `json:"best_ns,omitempty"`
	// Load is the median of loads, with packing, each the first of its process; Reload is the shortest of later ones in one
	// process, which has the memory of those before. First is the call after the first load.
	Load   float64 `json:"load_ns,omitempty"`
	Reload float64 `json:"reload_ns,omitempty"`
	First  float64 `json:"first_ns,omitempty"`
	// Base is the process's memory before it loaded, Peak the most after a load and a call.
	Base float64 `json:"base_kib,omitempty"`
	Peak float64 `json:"peak_kib,omitempty"`
	// Error is why there are no figures.
	Error string `json:"error,omitempty"`
}

// Result is a model's figures by side.
type Result struct {
	Model   string              `json:"model"`
	Threads int                 `json:"threads"`
	Sides   map[string]*Figures `json:"sides"`
}

// entrant is a side while its model is measured.
type entrant struct {
	side    *Side
	figures *Figures
	worker  *worker
	words   []string      // of the load; the second is the program
	loads   []float64     // the first ones of processes
	started time.Duration // how long they took with their processes
	reloads []float64
	times   []float64
	samples int
	calls   int
}

// A program is loaded in newLoads processes, or as many as start in startTime. In one it is loaded again until there are
// mostLoads, or fewLoads that took loadTime, or callTime with the calls behind them.
const (
	newLoads            = 11
	startTime           = time.Second
	fewLoads, mostLoads = 5, 60
	loadTime            = 150 * time.Millisecond
	callTime            = time.Second
)

// settle is how long a turn waits for the threads of the one before to stop spinning.
const settle = 30 * time.Millisecond

// Turns say how long the sides of a model are measured.
type Turns struct {
	Rounds int
	// Each is about how long a turn takes.
	Each time.Duration
}

// Define adds the flags to f; what t has are their defaults.
func (t *Turns) Define(f *flag.FlagSet) {
	f.IntVar(&t.Rounds, "rounds", t.Rounds, "turns of each side")
	f.DurationVar(&t.Each, "turn", t.Each, "about how long a turn takes")
}

// Measure runs a model on the sides in turns.
func (k *Kit) Measure(m *Model, sides []*Side, threads int, t Turns) *Result {
	r := &Result{Model: m.Name, Threads: threads, Sides: map[string]*Figures{}}
	var field []*entrant
	for _, s := range sides {
		e := &entrant{side: s, figures: &Figures{}}
		r.Sides[s.Name] = e.figures
		if err := k.enter(e, m, threads, t); err != nil {
			e.drop(err)
			continue
		}
		field = append(field, e)
	}
	for range t.Rounds {
		for _, e := range field {
			e.turn(threads)
		}
	}
	for range newLoads - 1 {
		for _, e := range field {
			k.loadNew(e)
		}
	}
	for range mostLoads {
		for _, e := range field {
			e.reload()
		}
	}
	for _, e := range field {
		e.finish()
	}
	return r
}

// drop ends an entrant's part.
func (e *entrant) drop(err error) {
	*e.figures = Figures{Error: err.Error()}
	if e.worker != nil {
		e.worker.close()
		e.worker = nil
	}
}

// enter makes and loads the side's program, holds its results against the goldens, and finds how many calls make a turn.
func (k *Kit) enter(e *entrant, m *Model, threads int, t Turns) error {
	program, err := k.program(m, e.side)
	if err != nil {
		return err
	}
	inputs, err := m.words(k.tmp)
	if err != nil {
		return err
	}
	e.words = append([]string{"load", program, m.method, strconv.Itoa(threads)}, inputs...)
	worker, got, err := k.load(e)
	if e.worker = worker; err != nil {
		return err
	}
	e.figures.First, e.figures.Base, e.figures.Peak = got[1], got[2], got[3]
	if m.Call == 0 { // later calls of a case depend on the earlier ones' state
		if err := e.worker.check(m, k.tmp); err != nil {
			return err
		}
	}
	return e.calibrate(t.Each)
}

// load starts a worker, which loads the program for the first time.
func (k *Kit) load(e *entrant) (*worker, []float64, error) {
	start := time.Now()
	w, err := k.start(e.side, e.words[1])
	if err != nil {
		return nil, nil, err
	}
	got, err := w.numbers(4, e.words...)
	if err != nil {
		return w, nil, err
	}
	e.started += time.Since(start)
	e.loads = append(e.loads, got[0])
	return w, got, nil
}

// loadNew loads the program in one more process, unless there were enough.
func (k *Kit) loadNew(e *entrant) {
	if e.worker == nil || e.started > startTime {
		return
	}
	w, _, _ := k.load(e) // the first went well: one that fails leaves the figure to the others
	if w != nil {
		w.close()
	}
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

// reload loads the program once more, unless there are enough loads.
func (e *entrant) reload() {
	sum := 0.0
	for _, ns := range e.reloads {
		sum += ns
	}
	calls := float64(len(e.reloads)) * e.figures.First
	if e.worker == nil || len(e.reloads) >= fewLoads && (sum > float64(loadTime) || sum+calls > float64(callTime)) {
		return
	}
	got, err := e.worker.numbers(4, e.words...)
	if err != nil {
		e.drop(err)
		return
	}
	e.reloads = append(e.reloads, got[0])
}

// finish closes the worker and sums up.
func (e *entrant) finish() {
	if e.worker == nil {
		return
	}
	e.worker.close()
	e.figures.Median, e.figures.Best = table.Median(e.times), slices.Min(e.times)
	e.figures.Load, e.figures.Reload = table.Median(e.loads), slices.Min(e.reloads)
}

// Fastest is the figures of those of the sides that have the smallest one, by of; nil where none of them has any.
func (r *Result) Fastest(of func(*Figures) float64, sides ...string) *Figures {
	var best *Figures
	for _, name := range sides {
		f := r.Sides[name]
		if f != nil && f.Error == "" && (best == nil || of(f) < of(best)) {
			best = f
		}
	}
	return best
}

// Ratio is how many times the other side's figure is ours, by of; NaN where there is none.
func (r *Result) Ratio(ours *Figures, other string, of func(*Figures) float64) float64 {
	f := r.Sides[other]
	if f == nil || f.Error != "" || ours == nil || ours.Error != "" || of(f) == 0 {
		return math.NaN()
	}
	return of(f) / of(ours)
}

// MedianOf is a figure's median time.
func MedianOf(f *Figures) float64 { return f.Median }

// BestOf is a figure's shortest time.
func BestOf(f *Figures) float64 { return f.Best }

// LoadOf is what loading took.
func LoadOf(f *Figures) float64 { return f.Load }

// ReloadOf is what loading took again.
func ReloadOf(f *Figures) float64 { return f.Reload }

// PeakOf is the most memory.
func PeakOf(f *Figures) float64 { return f.Peak }
