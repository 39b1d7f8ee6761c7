package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// official is the official runtime in a Python process.
type official struct {
	python, tmp string
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
}

const script = "tools/oracle/ops.py"

// refusal is why the official runtime does not run a program.
type refusal struct{ error }

func newOfficial(python, tmp string) (*official, error) {
	o := &official{python: python, tmp: tmp}
	return o, o.start()
}

func (o *official) name() string { return "official" }

func (o *official) start() error {
	o.cmd = exec.Command(o.python, script)
	o.cmd.Stderr = os.Stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	o.out = bufio.NewReader(out)
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start official runtime: %w", err)
	}
	return nil
}

func (o *official) close() {
	o.in.Close()
	o.cmd.Wait()
}

// input describes an input that lies in a file.
type input struct {
	File  string  `json:"file"`
	DType string  `json:"dtype"`
	Sizes []int64 `json:"sizes"`
}

// job is what Python is asked: to load a program if Program is not empty, and then to run it for some seconds.
type job struct {
	Program string  `json:"program,omitempty"`
	Inputs  []input `json:"inputs,omitempty"`
	Seconds float64 `json:"seconds"`
}

// load loads a program and runs it once.
func (o *official) load(p *program) error {
	j := job{Program: filepath.Join(o.tmp, "program.pte")}
	if err := os.WriteFile(j.Program, p.file, 0o644); err != nil {
		return fmt.Errorf("write program: %w", err)
	}
	for i, t := range p.inputs {
		in := input{filepath.Join(o.tmp, "input"+strconv.Itoa(i)), t.DType.String(), t.Sizes}
		if err := os.WriteFile(in.File, t.Data, 0o644); err != nil {
			return fmt.Errorf("write input: %w", err)
		}
		j.Inputs = append(j.Inputs, in)
	}
	_, err := o.ask(&j)
	return err
}

// time is ours.time of the program that was loaded last.
func (o *official) time(limit time.Duration) (time.Duration, error) {
	return o.ask(&job{Seconds: limit.Seconds()})
}

// ask gives the answer to a job; a program that it does not run is a refusal.
func (o *official) ask(j *job) (time.Duration, error) {
	if err := json.NewEncoder(o.in).Encode(j); err != nil {
		return 0, fmt.Errorf("ask official runtime: %w", err)
	}
	text, err := o.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) { // it ends the process when a kernel checks its arguments
		o.close()
		return 0, errors.Join(refusal{errors.New("it ends the process")}, o.start())
	}
	var a struct {
		NS    int64
		Error string
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err == nil && a.Error != "" {
		return 0, refusal{errors.New(a.Error)}
	}
	if err != nil {
		return 0, fmt.Errorf("read official runtime's answer: %w", err)
	}
	return time.Duration(a.NS), nil
}
