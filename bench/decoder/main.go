// Command decoder measures how long a decoder with a cache of 2048 rows takes for a token behind a prompt, beside the official runtime.
//
//	go run ./bench/decoder --python PYTHON [--threads 1,2] [--rounds N]   # in the root of the repository
//
// PYTHON has torch, torchao and executorch. The model is a small one of ExecuTorch's own examples with random weights. The official exporter lowers
// it with custom_sdpa, its caches and XNNPACK, and its runtime runs the program, called from Python, which costs some microseconds. Ours is lowered from
// the same .pt2, without a delegate; third comes the official program on our runtime. They take turns, medians count. Weights are of float32, and
// of 4 bits.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	xnnpack "github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/bench/table"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

//go:embed decoder.py
var script string

func main() {
	python := flag.String("python", os.Getenv("PTE_PYTHON"), "interpreter that has the official exporter and runtime")
	threads := flag.String("threads", "1,2", "numbers of threads")
	rounds := flag.Int("rounds", 3, "turns of each side")
	flag.Parse()
	if err := run(*python, *threads, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "decoder:", err)
		os.Exit(1)
	}
}

func run(python, threads string, rounds int) error {
	if python == "" || rounds < 1 {
		return errors.New("want --python, and --rounds of 1 or more")
	}
	tmp, err := os.MkdirTemp("", "decoder")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	rows := [][]string{{"weights", "threads", "rows before", "ours ms", "official program on ours ms", "official ms", "x official"}}
	for _, weights := range []string{"float32", "8da4w"} {
		folder := filepath.Join(tmp, weights)
		if err := export(python, folder, weights); err != nil {
			return err
		}
		for _, n := range strings.Split(threads, ",") {
			for _, at := range []int{100, 1500} {
				row, err := measure(python, folder, n, at, rounds)
				if err != nil {
					return err
				}
				rows = append(rows, append([]string{weights}, row...))
			}
		}
	}
	fmt.Print(table.Aligned(rows))
	return nil
}

// export makes the two programs of a model with such weights.
func export(python, folder, weights string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if _, err := output(python, "-c", script, "export", folder, weights); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if _, err := output("go", "run", "./lowerer/cmd/pte", "lower", "-o", filepath.Join(folder, "ours.pte"), filepath.Join(folder, "model.pt2")); err != nil {
		return fmt.Errorf("lower: %w", err)
	}
	return nil
}

// measure is the row of so many threads, and rows before the token.
func measure(python, tmp, threads string, at, rounds int) ([]string, error) {
	n, err := strconv.Atoi(threads)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("--threads: %q is no number of threads", threads)
	}
	var took [3][]float64
	for range rounds {
		for i, file := range []string{"ours.pte", "official.pte"} {
			ms, err := ours(filepath.Join(tmp, file), n, at)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", file, err)
			}
			took[i] = append(took[i], ms)
		}
		text, err := output(python, "-c", script, "time", tmp, strconv.Itoa(at), threads)
		if err != nil {
			return nil, fmt.Errorf("run the official runtime: %w", err)
		}
		words := strings.Fields(text)
		ms, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			return nil, fmt.Errorf("run the official runtime: %w", err)
		}
		took[2] = append(took[2], ms)
	}
	row := []string{threads, strconv.Itoa(at)}
	for i := range took {
		row = append(row, table.Digits(table.Median(took[i])))
	}
	return append(row, table.Digits(table.Median(took[2])/table.Median(took[0]))), nil
}

// ours is the median time of a token on our runtime, in milliseconds.
func ours(file string, threads, at int) (float64, error) {
	p, err := executor.LoadFile(file, executor.LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{xnnpack.New()}, Threads: threads})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	in, err := p.NewInstance()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	inputs := func(at int, tokens ...int64) []executor.Value {
		return executor.Values(tensor.Of(tokens, 1, tensor.Dim(len(tokens))), tensor.Of([]int64{int64(at)}, 1))
	}
	forward := func(ins []executor.Value) error {
		_, err := in.Method("forward").Run(context.Background(), ins)
		return err
	}
	prompt := make([]int64, at)
	for i := range prompt {
		prompt[i] = int64(i % 1000)
	}
	if err := forward(inputs(0, prompt...)); err != nil {
		return 0, err
	}
	token := inputs(at, 3)
	var took []float64
	for range 60 {
		start := time.Now()
		if err := forward(token); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start).Seconds()*1e3)
	}
	return table.Median(took[10:]), nil
}

// output runs a command, whose errors hold what it says.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var says strings.Builder
	c.Stderr = &says
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, says.String())
	}
	return string(b), nil
}
