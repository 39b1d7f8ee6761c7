// Package serve is our runtime as a worker of bench/side.
package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// server is our runtime as a worker.
type server struct {
	options  executor.LoadOptions
	program  *executor.Program
	instance *executor.Instance
	method   *executor.Method
	inputs   []executor.Value
	results  []executor.Value
}

// Serve answers the lines that ../official/runner.cc describes, with programs that are loaded with o, but for the threads. Before the first
// line it makes the table of kernels, as the official runtime registers its kernels before main.
func Serve(in io.Reader, out io.Writer, o executor.LoadOptions) error {
	s := &server{options: o}
	op.TableOf(o.Kernels)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words, err := s.answer(strings.Split(lines.Text(), "\t"))
		text := "ok\t" + strings.Join(words, "\t")
		if err != nil {
			text = "error\t" + err.Error()
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

func (s *server) answer(args []string) ([]string, error) {
	switch {
	case args[0] == "load" && len(args) >= 4:
		return s.load(args[1], args[2], args[3], args[4:])
	case args[0] == "run" && len(args) == 3:
		samples, err := strconv.Atoi(args[1])
		if err != nil {
			return nil, fmt.Errorf("parse request: %w", err)
		}
		calls, err := strconv.Atoi(args[2])
		if err != nil {
			return nil, fmt.Errorf("parse request: %w", err)
		}
		return s.run(samples, calls)
	case args[0] == "outputs" && len(args) == 2:
		return s.outputs(args[1])
	}
	return nil, fmt.Errorf("parse request: unknown %q", args)
}

func (s *server) load(file, method, threads string, inputs []string) ([]string, error) {
	s.close()
	n, err := strconv.Atoi(threads)
	if err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	s.options.Threads = n
	base, start := memory("VmRSS"), time.Now()
	if s.program, err = executor.LoadFile(file, s.options); err != nil {
		return nil, err
	}
	if s.instance, err = s.program.NewInstance(); err != nil {
		return nil, err
	}
	took := time.Since(start)
	if s.method = s.instance.Method(method); s.method == nil {
		return nil, fmt.Errorf("find method %s: the program has %v", method, s.program.Methods())
	}
	if err := s.read(inputs); err != nil {
		return nil, err
	}
	start = time.Now()
	if err := s.call(); err != nil {
		return nil, err
	}
	first := time.Since(start)
	return []string{number(took.Nanoseconds()), number(first.Nanoseconds()), number(base), number(memory("VmHWM"))}, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (s *server) close() {
	if s.instance != nil {
		s.instance.Close()
	}
	if s.program != nil {
		s.program.Close()
	}
	*s = server{options: s.options}
}

func (s *server) call() (err error) {
	s.results, err = s.method.Run(context.Background(), s.inputs)
	return err
}

func (s *server) read(specs []string) error {
	for _, spec := range specs {
		v, err := parseInput(spec)
		if err != nil {
			return err
		}
		s.inputs = append(s.inputs, v)
	}
	return nil
}

func parseInput(spec string) (v executor.Value, err error) {
	kind, text, _ := strings.Cut(spec, ":")
	switch kind {
	case "t":
		i := strings.Index(text, ":/")
		if i < 0 {
			return v, fmt.Errorf("parse input %q: no file", spec)
		}
		t := &tensor.Tensor{}
		if t.Meta, err = ParseHeader(text[:i]); err != nil {
			return v, err
		}
		t.Data = op.AlignedBytes(t.Nbytes())
		if err := readInto(t.Data, text[i+1:]); err != nil {
			return v, fmt.Errorf("read input: %w", err)
		}
		return executor.TensorOf(t), nil
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		return executor.IntOf(n), err
	case "float":
		x, err := strconv.ParseFloat(text, 64)
		return executor.FloatOf(x), err
	case "bool":
		return executor.BoolOf(text != "0"), nil
	}
	return v, nil
}

// readInto reads a file of as many bytes as b has, without others that count as memory of the program.
func readInto(b []byte, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, b)
	return err
}

func (s *server) run(samples, calls int) ([]string, error) {
	var out []string
	for range samples {
		start := time.Now()
		for range calls {
			if err := s.call(); err != nil {
				return nil, err
			}
		}
		out = append(out, strconv.FormatFloat(float64(time.Since(start).Nanoseconds())/float64(calls), 'f', 1, 64))
	}
	return out, nil
}

func (s *server) outputs(dir string) ([]string, error) {
	for i, v := range s.results {
		text := []byte("none\n")
		if v.Kind == executor.Tensor {
			text = append([]byte(Header(v.Tensor)+"\n"), v.Tensor.Data...)
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), text, 0o600); err != nil {
			return nil, fmt.Errorf("write output: %w", err)
		}
	}
	return []string{strconv.Itoa(len(s.results))}, nil
}

// memory is a line of /proc/self/status in KiB; 0 where there is none.
func memory(key string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n
		}
	}
	return 0
}
