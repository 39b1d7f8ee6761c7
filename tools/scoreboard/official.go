package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// official is the official runtime in a Python process, started when first needed and again after it died.
type official struct {
	python string

	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// run gives why program does not give the goldens of folder, or "" if it does.
func (o *official) run(folder, program string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cmd == nil {
		if err := o.start(); err != nil {
			return "", err
		}
	}
	reason, err := o.ask(folder, program)
	if err != nil {
		o.stop()
	}
	return reason, err
}

func (o *official) ask(folder, program string) (string, error) {
	job := map[string]string{"pte": program, "folder": folder}
	if err := json.NewEncoder(o.in).Encode(job); err != nil {
		return "", fmt.Errorf("ask official runtime: %w", err)
	}
	text, err := o.out.ReadBytes('\n')
	if err != nil {
		return "", fmt.Errorf("read official runtime's answer: %w", err)
	}
	var answer struct{ Reason string }
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("parse official runtime's answer: %w", err)
	}
	return answer.Reason, nil
}

func (o *official) start() error {
	cmd := exec.Command(o.python, "tools/oracle/official.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	o.cmd, o.in, o.out = cmd, in, bufio.NewReader(out)
	return nil
}

// stop ends the process, which ends by itself when it has no more input.
func (o *official) stop() {
	o.in.Close()
	o.cmd.Wait()
	o.cmd = nil
}

func (o *official) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cmd != nil {
		o.stop()
	}
}
