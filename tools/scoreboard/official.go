package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// oracle is a script of tools/oracle in a Python process, started when first needed and again after it died. It takes a
// job a line and gives an answer a line.
type oracle struct {
	python, script string
	// greets says that it prints a line before it takes jobs.
	greets bool

	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// ask gives the answer to a job.
func (o *oracle) ask(job, answer any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cmd == nil {
		if err := o.start(); err != nil {
			return fmt.Errorf("start %s: %w", o.script, err)
		}
	}
	err := o.exchange(job, answer)
	if err != nil {
		o.stop()
		return fmt.Errorf("ask %s: %w", o.script, err)
	}
	return nil
}

func (o *oracle) exchange(job, answer any) error {
	if err := json.NewEncoder(o.in).Encode(job); err != nil {
		return err
	}
	text, err := o.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

func (o *oracle) start() error {
	cmd := exec.Command(o.python, "tools/oracle/"+o.script)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	o.cmd, o.in, o.out = cmd, in, bufio.NewReader(out)
	if o.greets {
		_, err = o.out.ReadBytes('\n')
	}
	return err
}

// stop ends the process, which ends by itself when it has no more input.
func (o *oracle) stop() {
	o.in.Close()
	o.cmd.Wait()
	o.cmd = nil
}

func (o *oracle) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cmd != nil {
		o.stop()
	}
}

// official is the official ExecuTorch: its runtime and its exporter.
type official struct {
	runtime, exporter oracle
}

func newOfficial(python string) *official {
	return &official{oracle{python: python, script: "official.py"}, oracle{python: python, script: "lower.py", greets: true}}
}

func (o *official) close() {
	o.runtime.close()
	o.exporter.close()
}

// run gives why program does not give the goldens of folder, or "" if it does.
func (o *official) run(folder, program string) (string, error) {
	var answer struct{ Reason string }
	err := o.runtime.ask(map[string]string{"pte": program, "folder": folder}, &answer)
	return answer.Reason, err
}

// lower makes out of models, by method, with the official partitioner. Where the official delegate cannot make graphs of
// what that takes, the payloads are empty and hollow is true. The error is the exporter's where there is no program.
func (o *official) lower(models map[string]string, out string) (hollow bool, err error) {
	for _, delegate := range []string{"xnnpack", "hollow"} {
		var answer struct{ Error string }
		if err := o.exporter.ask(map[string]any{"models": models, "out": out, "delegate": delegate}, &answer); err != nil {
			return false, err
		}
		if answer.Error == "" {
			return delegate == "hollow", nil
		}
		err = fmt.Errorf("%s", answer.Error)
	}
	return false, err
}

// compare holds the results of ours on the official runtime, and those in folders, against what theirs gives there.
func (o *official) compare(folder, theirs, ours string, results []string) (*distances, error) {
	d := new(distances)
	job := map[string]any{"pte": theirs, "folder": folder, "programs": []string{ours}, "results": results}
	return d, o.runtime.ask(job, d)
}
