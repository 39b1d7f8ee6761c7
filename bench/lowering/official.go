package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// imports are what the official exporter takes before it sees a model.
type imports struct {
	Seconds float64 `json:"import_s"`
	PeakMiB float64 `json:"import_mib"`
}

// official is the official exporter in a Python process that has imported it.
type official struct {
	imports imports

	tmp string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

const script = "tools/oracle/lower.py"

func startOfficial(python, tmp string) (*official, error) {
	cmd := exec.Command(python, script)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start official exporter: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start official exporter: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start official exporter: %w", err)
	}
	o := &official{tmp: tmp, cmd: cmd, in: in, out: bufio.NewReader(out)}
	if err := o.answer(&o.imports); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *official) close() {
	o.in.Close()
	o.cmd.Wait()
}

func (o *official) answer(v any) error {
	text, err := o.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read official exporter's answer: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("parse official exporter's answer: %w", err)
	}
	return nil
}

// lower lowers a model in a child of the process. A refusal is an error of type refusal.
func (o *official) lower(m model) (sample, error) {
	job := map[string]any{"models": m.methods, "out": filepath.Join(o.tmp, "official.pte")}
	if err := json.NewEncoder(o.in).Encode(job); err != nil {
		return sample{}, fmt.Errorf("ask official exporter: %w", err)
	}
	var a struct {
		Error   string
		Parts   map[string]float64
		CPU     float64 `json:"cpu_s"`
		PeakMiB float64 `json:"peak_mib"`
	}
	if err := o.answer(&a); err != nil {
		return sample{}, err
	}
	if a.Error != "" {
		return sample{}, refusal{errors.New(a.Error)}
	}
	s := sample{CPU: a.CPU, PeakMiB: a.PeakMiB, Parts: a.Parts}
	for _, t := range a.Parts {
		s.Seconds += t
	}
	return s, nil
}

// refusal is the official exporter's error about a model.
type refusal struct{ error }
