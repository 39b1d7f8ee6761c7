package executor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// fuzzMemory is what a program under test may take.
const fuzzMemory = 1 << 20

// FuzzRun loads a mutated program and runs each of its methods once, on zeros.
func FuzzRun(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/portable.pte")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := Load(file, LoadOptions{Kernels: op.Kernels, MaxMemory: fuzzMemory, MaxInstructions: 1000, Threads: 1})
		if err != nil {
			return
		}
		defer p.Close()
		inst, err := p.NewInstance()
		if err != nil {
			return
		}
		defer inst.Close()
		for _, name := range p.Methods() {
			info, _ := p.Method(name)
			if ins, ok := zeroInputs(info.Inputs); ok {
				if _, err := inst.Method(name).Run(context.Background(), ins); err != nil && strings.Contains(err.Error(), "panic") {
					t.Error(err)
				}
			}
		}
	})
}

// zeroInputs are inputs as the method wants them; ok is false where they would be too large.
func zeroInputs(infos []ValueInfo) (ins []Value, ok bool) {
	for _, info := range infos {
		v := Value{Kind: info.Kind}
		if info.Kind == Tensor {
			n, fits := info.Meta.BoundedBytes(fuzzMemory)
			if !fits {
				return nil, false
			}
			v.Tensor = &tensor.Tensor{Meta: info.Meta, Data: make([]byte, n)}
		}
		ins = append(ins, v)
	}
	return ins, true
}
