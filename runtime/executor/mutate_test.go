//go:build unix

package executor

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// mutationMemory is what a mutated program may take.
const mutationMemory = 1 << 22

// TestMutatedPrograms changes values and instructions of programs, which a flip of bytes seldom does in a way that
// the reader takes, and runs what still loads from memory that cannot be written: an error is fine, a panic is not.
// PTE_MUTATIONS is how often each program is changed, PTE_ZOO a directory with more programs.
func TestMutatedPrograms(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/portable.pte")
	more, _ := filepath.Glob(filepath.Join(os.Getenv("PTE_ZOO"), "*", "portable.pte"))
	if os.Getenv("PTE_ZOO") != "" {
		files = append(files, more...)
	}
	rounds, err := strconv.ParseUint(os.Getenv("PTE_MUTATIONS"), 10, 32)
	if err != nil {
		rounds = 300
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range rounds {
				if err := runMutant(t, b, seed); err != nil && strings.Contains(err.Error(), "panic") {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// TestMutatedMade is TestMutatedPrograms of random programs, with delegates among their steps.
func TestMutatedMade(t *testing.T) {
	rounds, err := strconv.ParseUint(os.Getenv("PTE_MUTATIONS"), 10, 32)
	if err != nil {
		rounds = 500
	}
	for seed := range rounds {
		p := mixedProgram(seed/2, int(seed/2)%(2*mixTurns))
		if seed%2 == 0 {
			p, _ = byteProgram(seed / 2)
			delegateSome(rand.New(rand.NewPCG(seed, 21)), p)
		}
		b, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range []bool{false, true} {
			backends := []backend.Backend{mixer{}, newNegator()}
			if known {
				backends = []backend.Backend{knownMixer{}, counter{newNegator(), 1}}
			}
			if err := runMutant(t, b, seed, backends...); err != nil && strings.Contains(err.Error(), "panic") {
				t.Errorf("seed %d, inputs known %v: %v", seed, known, err)
			}
		}
	}
}

// runMutant loads the mutant of a program that seed makes, and runs each of its methods twice on zeros.
func runMutant(t *testing.T, program []byte, seed uint64, backends ...backend.Backend) error {
	t.Helper()
	p, err := pte.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	mu := mutator{rand.New(rand.NewPCG(seed, 1))}
	for range 1 + mu.IntN(3) {
		mu.plan(p.Plans[mu.IntN(len(p.Plans))])
	}
	b, err := pte.Marshal(p)
	if err != nil {
		return nil
	}
	locked := readOnly(t, b)
	defer func() { _ = syscall.Munmap(locked) }()
	prog, err := Load(locked, LoadOptions{Kernels: op.Kernels, MaxMemory: mutationMemory, MaxInstructions: 1000, Threads: 1, Backends: backends})
	if err != nil {
		return err
	}
	defer prog.Close()
	return runAll(prog)
}

func readOnly(t *testing.T, b []byte) []byte {
	t.Helper()
	m, err := syscall.Mmap(-1, 0, len(b), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	copy(m, b)
	if err := syscall.Mprotect(m, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	return m
}

func runAll(p *Program) error {
	inst, err := p.NewInstance()
	if err != nil {
		return err
	}
	defer inst.Close()
	for _, name := range p.Methods() {
		info, _ := p.Method(name)
		ins, ok := zeroInputs(info.Inputs)
		if !ok {
			continue
		}
		for range 2 {
			if _, err := inst.Method(name).Run(context.Background(), ins); err != nil {
				return err
			}
		}
	}
	return nil
}

// mutator changes plans at random.
type mutator struct{ *rand.Rand }

func pick[T any](m mutator, list ...T) T { return list[m.IntN(len(list))] }

func (m mutator) plan(p *pte.ExecutionPlan) {
	switch chain := &p.Chains[m.IntN(len(p.Chains))]; {
	case m.IntN(3) == 0 && len(chain.Instructions) > 0:
		m.instruction(p, chain)
	case m.IntN(12) == 0 && len(p.Inputs) > 0:
		p.Inputs[m.IntN(len(p.Inputs))] = m.value(p)
	case m.IntN(12) == 0 && len(p.Outputs) > 0:
		p.Outputs[m.IntN(len(p.Outputs))] = m.value(p)
	default:
		m.change(p, &p.Values[m.value(p)])
	}
}

// value is the index of one of the plan's values.
func (m mutator) value(p *pte.ExecutionPlan) int32 { return int32(m.IntN(len(p.Values))) }

func (m mutator) instruction(p *pte.ExecutionPlan, c *pte.Chain) {
	in := &c.Instructions[m.IntN(len(c.Instructions))]
	switch n := len(in.Args); {
	case n > 0 && m.IntN(8) == 0:
		in.Args = in.Args[:n-1]
	case n > 0 && m.IntN(4) != 0:
		in.Args[m.IntN(n)] = m.value(p)
	case n > 0 && m.IntN(2) == 0:
		in.A = int32(m.IntN(max(1, len(p.Operators))))
	default:
		*in = pte.Instruction{Type: pick(m, pte.MoveCall, pte.JumpFalseCall, pte.FreeCall), A: m.value(p), B: m.value(p)}
		if in.Type == pte.FreeCall {
			in.B = 0
		}
	}
}

func (m mutator) number() int64 {
	return pick[int64](m, math.MinInt64, -1<<40, -3, -1, 0, 1, 2, 3, 5, 17, 1<<20, 1<<31, 1<<40, 1<<62, math.MaxInt64)
}

func (m mutator) change(p *pte.ExecutionPlan, v *pte.EValue) {
	switch v.Type {
	case pte.Int:
		v.Int = m.number()
	case pte.Bool:
		v.Int ^= 1
	case pte.Double:
		v.Double = pick(m, 0, -1, 1e300, math.Inf(1), math.NaN())
	case pte.TensorValue:
		m.tensor(v.Tensor)
	case pte.IntList, pte.TensorList, pte.OptionalTensorList:
		m.list(p, v)
	}
	if m.IntN(20) == 0 {
		*v = pick(m, pte.EValue{Type: pte.Null}, pte.EValue{Type: pte.Int, Int: m.number()}, pte.EValue{Type: pte.IntList})
	}
}

func (m mutator) list(p *pte.ExecutionPlan, v *pte.EValue) {
	switch n := len(v.Items); {
	case n > 0 && m.IntN(3) == 0:
		v.Items = v.Items[:n-1]
	case n > 0 && m.IntN(3) != 0:
		v.Items[m.IntN(n)] = int64(m.value(p))
	default:
		v.Items = append(v.Items, int64(m.value(p)))
	}
}

func (m mutator) tensor(t *pte.Tensor) {
	rank := len(t.Sizes)
	switch kind := m.IntN(8); {
	case kind < 3 && rank > 0:
		t.Sizes[m.IntN(rank)] = pick[int32](m, 0, 1, 2, 3, 5, 7, 16, 1<<10, 1<<20, math.MaxInt32)
	case kind == 3 && rank > 0:
		m.Shuffle(rank, func(i, j int) { t.DimOrder[i], t.DimOrder[j] = t.DimOrder[j], t.DimOrder[i] })
	case kind == 4:
		t.ScalarType = pick(m, tensor.Byte, tensor.Char, tensor.Int, tensor.Long, tensor.Half, tensor.Float, tensor.Double, tensor.Bool)
	case kind == 5:
		t.Dynamism = pick(m, pte.Static, pte.DynamicBound, pte.DynamicUnbound)
	case kind == 6 && t.Allocation != nil:
		t.Allocation.Offset = pick[uint64](m, 0, 1, 16, 1<<40)
	case kind == 6:
		t.Allocation = &pte.Allocation{MemoryID: 1}
	case rank > 0 && m.IntN(2) == 0:
		t.Sizes, t.DimOrder = append(t.Sizes, 1), append(t.DimOrder, byte(rank))
	default:
		t.DataBufferIdx = uint32(m.IntN(3))
	}
}
