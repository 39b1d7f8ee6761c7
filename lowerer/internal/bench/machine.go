// Package bench is the commands "pte bench" and "pte hwbench": what a program takes, instruction by instruction, beside
// what the machine can do at most.
package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/peak"
)

// Machine is what a machine can do, measured.
type Machine struct {
	CPU     string `json:"cpu,omitempty"`
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	// FLOPS are float32 products and sums a second; Ops those of int8.
	FLOPS float64 `json:"flops"`
	Ops   float64 `json:"int8_ops"`
	// Reads are the speeds of reading memory, the smallest first.
	Reads []Read `json:"reads"`
	// Spread is how many times as much the best round gave as the worst one, of the limit where that is most, if it is much: something
	// else may have used the machine, and the limits be higher than this.
	Spread float64 `json:"spread,omitempty"`
}

// Read is how fast so many bytes are read again and again, each thread some of its own.
type Read struct {
	Bytes int64   `json:"bytes"`
	Speed float64 `json:"bytes_per_second"`
}

// readSizes are below the size of usual first, second and third caches, and above.
var readSizes = []int64{16 << 10, 512 << 10, 8 << 20, 256 << 20}

// meter says how speeds are measured: the best of some attempts that each take at least some time, in rounds over all of them, so that
// what disturbs one round spares another.
type meter struct {
	rounds, attempts int
	least            time.Duration
}

// Measure measures this machine with the instructions of tier t, on so many threads; 0 means one for each CPU, and more than those are
// as many.
func Measure(t kernel.Tier, threads int) *Machine {
	return meter{rounds: 5, attempts: 5, least: 2 * time.Millisecond}.measure(t, threads)
}

func (mt meter) measure(t kernel.Tier, threads int) *Machine {
	if most := runtime.GOMAXPROCS(0); threads <= 0 || threads > most {
		threads = most
	}
	l := peak.Of(t)
	speeds := []*speed{
		{work: float64(l.FLOPs), run: func(_, n int) { l.FMA(n) }},
		{work: float64(l.Ops), run: func(_, n int) { l.Dot(n) }},
	}
	data := buffers(threads)
	for _, size := range readSizes {
		part := min(int(size), len(data[0]))
		speeds = append(speeds, &speed{work: float64(part), run: func(thread, n int) {
			for range n {
				l.Read(data[thread][:part])
			}
		}})
	}
	for range mt.rounds {
		for _, s := range speeds {
			mt.round(s, threads)
		}
	}
	m := &Machine{CPU: cpuName(), Tier: t.String(), Threads: threads, FLOPS: speeds[0].best(), Ops: speeds[1].best()}
	for i, size := range readSizes {
		m.Reads = append(m.Reads, Read{size, speeds[2+i].best()})
	}
	for _, s := range speeds {
		if spread := s.best() / slices.Min(s.rounds); spread > disturbed {
			m.Spread = max(m.Spread, spread)
		}
	}
	return m
}

// buffers are for each thread its part of the largest size to read.
func buffers(threads int) [][]byte {
	data := make([][]byte, threads)
	for i := range data {
		data[i] = make([]byte, readSizes[len(readSizes)-1]/int64(threads))
		for at := 0; at < len(data[i]); at += 1 << 10 {
			data[i][at] = 1 // the system gives memory when it is written
		}
	}
	return data
}

// speed is something that is measured: work is what one thread does in a step of run.
type speed struct {
	work   float64
	run    func(thread, steps int)
	steps  int       // of an attempt
	rounds []float64 // the best of each: how much work a second all threads do together
}

func (s *speed) best() float64 { return slices.Max(s.rounds) }

// round measures s once more.
func (mt meter) round(s *speed, threads int) {
	if s.steps == 0 {
		for s.steps = 1; elapsed(1, func(int) { s.run(0, s.steps) }) < mt.least && s.steps < 1<<40; {
			s.steps *= 2
		}
	}
	best := time.Duration(math.MaxInt64)
	for range mt.attempts {
		best = min(best, elapsed(threads, func(thread int) { s.run(thread, s.steps) }))
	}
	s.rounds = append(s.rounds, s.work*float64(s.steps)*float64(threads)/best.Seconds())
}

// elapsed is how long threads goroutines take that begin together.
func elapsed(threads int, run func(thread int)) time.Duration {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range threads {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			run(i)
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}

// cpuName is the processor's name where the system says it.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// read is the speed at which so many bytes are read: that of the smallest measured size that holds them.
func (m *Machine) read(bytes int64) float64 {
	for _, r := range m.Reads {
		if bytes <= r.Bytes {
			return r.Speed
		}
	}
	return m.Reads[len(m.Reads)-1].Speed
}

// Write prints the machine.
func (m *Machine) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(m)
	}
	_, err := io.WriteString(w, m.text())
	return err
}

func (m *Machine) text() string {
	head := m.Tier
	if m.CPU != "" {
		head = m.CPU + ", " + head
	}
	threads := "threads"
	if m.Threads == 1 {
		threads = "thread"
	}
	s := fmt.Sprintf("%s, %d %s\n", head, m.Threads, threads)
	rows := [][]string{
		{"float32 multiply-add", three(m.FLOPS / 1e9), "GFLOP/s"},
		{"int8 dot product", three(m.Ops / 1e9), "GOP/s"},
	}
	for _, r := range m.Reads {
		rows = append(rows, []string{"read " + Size(r.Bytes), three(r.Speed / 1e9), "GB/s"})
	}
	s += columns(rows, 1)
	if m.Spread > 0 {
		s += fmt.Sprintf("limits vary: one was %s times as high in one round as in another; if something else runs, wait for it and try again\n", three(m.Spread))
	}
	return s
}
