// Command mutants damages programs and prints what our runtime says of each, for tools/oracle/mutants.py to compare
// with the official loader.
//
//	go run ./tools/mutants -out DIR -n 10000 FILE.pte...
//
// It writes DIR/NNNNN.pte and prints one JSON line per file: {"file", "ok", "error"}, where ok says that the program
// loads and an instance of it can be made, with every kernel and no backend. Equal arguments give equal files.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

type verdict struct {
	File  string `json:"file"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func main() {
	out := flag.String("out", "", "folder to write to")
	n := flag.Int("n", 10000, "number of files")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	if err := run(*out, *n, rand.New(rand.NewPCG(*seed, 0)), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(dir string, n int, r *rand.Rand, names []string) error {
	var files [][]byte
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read program: %w", err)
		}
		files = append(files, file)
	}
	if len(files) == 0 || dir == "" {
		return fmt.Errorf("read arguments: want -out and at least one program")
	}
	enc := json.NewEncoder(os.Stdout)
	for i := range n {
		file := mutate(r, files[i%len(files)])
		name := fmt.Sprintf("%05d.pte", i)
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			return fmt.Errorf("write mutant: %w", err)
		}
		v, err := judge(name, file)
		if err != nil {
			return err
		}
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("print verdict: %w", err)
		}
	}
	return nil
}

// maxMemory bounds what a mutant may ask for, maxTime what it may take.
const (
	maxMemory = 256 << 20
	maxTime   = time.Minute
)

func judge(name string, file []byte) (verdict, error) {
	done := make(chan error, 1)
	go func() { done <- load(file) }()
	select {
	case err := <-done:
		if err != nil {
			return verdict{name, false, err.Error()}, nil
		}
		return verdict{name, true, ""}, nil
	case <-time.After(maxTime):
		return verdict{}, fmt.Errorf("load %s: takes more than %v", name, maxTime)
	}
}

func load(file []byte) error {
	p, err := executor.Load(file, executor.LoadOptions{Kernels: op.Kernels, MaxMemory: maxMemory, Threads: 1})
	if err != nil {
		return err
	}
	defer p.Close()
	in, err := p.NewInstance()
	if err != nil {
		return err
	}
	in.Close()
	return nil
}

// mutate changes one to three places of a copy of file.
func mutate(r *rand.Rand, file []byte) []byte {
	out := append([]byte(nil), file...)
	for range 1 + r.IntN(3) {
		out = edits[r.IntN(len(edits))](r, out)
	}
	return out
}

// edits are the kinds of damage.
var edits = []func(*rand.Rand, []byte) []byte{flip, set, word, header, truncate}

func flip(r *rand.Rand, b []byte) []byte {
	b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	return b
}

func set(r *rand.Rand, b []byte) []byte {
	b[r.IntN(len(b))] = []byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
	return b
}

// word changes an aligned 32-bit word a little or much.
func word(r *rand.Rand, b []byte) []byte {
	at := r.IntN(max(1, len(b)/4-1)) * 4
	if at+4 > len(b) {
		return b
	}
	v := uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
	v += []uint32{1, 4, 8, ^uint32(0), ^uint32(3), 1 << 31, 1 << 16}[r.IntN(7)]
	b[at], b[at+1], b[at+2], b[at+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	return b
}

// header changes a byte of the first 64.
func header(r *rand.Rand, b []byte) []byte {
	b[r.IntN(min(64, len(b)))] = byte(r.Uint32())
	return b
}

// truncate cuts the end, in one of ten cases.
func truncate(r *rand.Rand, b []byte) []byte {
	if r.IntN(10) > 0 {
		return flip(r, b)
	}
	return b[:1+r.IntN(len(b))]
}
