package side

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/bench/side/serve"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// worker is a process that has loaded one program.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a worker for a program's file.
func (k *Kit) start(s *Side, program string) (*worker, error) {
	cmd := exec.Command(workerOf(program))
	if s.Worker != nil {
		cmd = s.Worker(k)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	return &worker{cmd, in, bufio.NewReader(out)}, nil
}

// close ends the worker. A worker that crashed has said so in an answer.
func (w *worker) close() {
	w.in.Close()
	_ = w.cmd.Wait()
}

// ask sends a request and gives the words of the answer.
func (w *worker) ask(words ...string) ([]string, error) {
	if _, err := io.WriteString(w.in, strings.Join(words, "\t")+"\n"); err != nil {
		return nil, fmt.Errorf("ask worker: %w", err)
	}
	line, err := w.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read worker's answer: %w", err)
	}
	got := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if got[0] != "ok" {
		return nil, errors.New(strings.Join(got[1:], " "))
	}
	return got[1:], nil
}

// numbers is ask for an answer of numbers, at least n.
func (w *worker) numbers(n int, words ...string) ([]float64, error) {
	got, err := w.ask(words...)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, word := range got {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("parse worker's answer: %w", err)
		}
		out = append(out, x)
	}
	if len(out) < n {
		return nil, fmt.Errorf("parse worker's answer: %d numbers, want %d", len(out), n)
	}
	return out, nil
}

// slack is how much farther than the goldens' own tolerance a result may be: kernels sum in other orders.
const slack = 10

// check holds the worker's last results against the model's.
func (w *worker) check(m *Model, tmp string) error {
	dir, err := os.MkdirTemp(tmp, "out")
	if err != nil {
		return fmt.Errorf("check results: %w", err)
	}
	defer os.RemoveAll(dir)
	if _, err := w.ask("outputs", dir); err != nil {
		return err
	}
	for i := range m.outputs {
		if err := m.checkOutput(i, filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return fmt.Errorf("check output %d: %w", i, err)
		}
	}
	return nil
}

func (m *Model) checkOutput(i int, file string) error {
	v := &m.outputs[i]
	if v.NPY == "" {
		return nil
	}
	want, err := m.tensor(v)
	if err != nil {
		return err
	}
	got, err := readOutput(file)
	if err != nil {
		return err
	}
	return golden.Same(got, want, slack*m.rtol, slack*v.Atol)
}

// readOutput reads a tensor as workers write it.
func readOutput(file string) (*tensor.Tensor, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	head, data, _ := bytes.Cut(b, []byte("\n"))
	meta, err := serve.ParseHeader(string(head))
	if err != nil {
		return nil, err
	}
	t := &tensor.Tensor{Meta: meta, Data: data}
	if len(data) != t.Nbytes() {
		return nil, fmt.Errorf("read output: %d bytes, want %d", len(data), t.Nbytes())
	}
	return t, nil
}
