package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample is one measurement of one side.
type sample struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	PeakMiB float64 `json:"peak_mib"`
	// Parts are the seconds of each part.
	Parts map[string]float64 `json:"parts"`
	// HeapMiB is all that was allocated on Go's heap.
	HeapMiB float64 `json:"heap_mib,omitempty"`
}

// ours is the tool pte.
type ours struct{ pte, tmp string }

// bazelPte is where Bazel puts the tool.
const bazelPte = "lowerer/cmd/pte/pte"

// newOurs finds the tool, or builds it, if pte is empty.
func newOurs(pte, tmp string) (*ours, error) {
	if pte == "" {
		pte = bazelPte
	}
	if info, err := os.Stat(pte); err == nil && info.Mode().IsRegular() {
		abs, err := filepath.Abs(pte)
		return &ours{abs, tmp}, err
	}
	out := filepath.Join(tmp, "pte")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./lowerer/cmd/pte")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build pte: %w", err)
	}
	return &ours{out, tmp}, nil
}

// lower runs pte lower once.
func (o *ours) lower(m model) (sample, error) {
	timings := filepath.Join(o.tmp, "timings.json")
	args := []string{"lower", "--timings", timings, "-o", filepath.Join(o.tmp, "ours.pte")}
	var methods []string
	for name, file := range m.methods {
		methods = append(methods, name+"="+file)
	}
	slices.Sort(methods)
	cmd := exec.Command(o.pte, append(args, methods...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("pte lower %s: %w: %s", m.name, err, strings.TrimSpace(stderr.String()))
	}
	s := sample{Seconds: time.Since(start).Seconds(), PeakMiB: peakMiB(cmd.ProcessState)}
	s.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return s, s.readTimings(timings)
}

// peakMiB is the largest resident memory of a process that ended.
func peakMiB(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	unit := 1024.0
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(usage.Maxrss) * unit / (1 << 20)
}

func (s *sample) readTimings(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read timings: %w", err)
	}
	var t struct {
		Parts []struct {
			Name string
			NS   float64
		}
		HeapBytes float64 `json:"heap_bytes"`
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("parse timings: %w", err)
	}
	s.HeapMiB = t.HeapBytes / (1 << 20)
	s.Parts = map[string]float64{}
	for _, p := range t.Parts {
		s.Parts[p.Name] = p.NS / 1e9
	}
	return nil
}
