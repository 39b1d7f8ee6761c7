package pte_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// small is a program with one planned and one constant tensor.
func small() *pte.Program {
	planned := &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{2, 3}, DimOrder: []uint8{0, 1}, Allocation: &pte.Allocation{MemoryID: 1}}
	constant := &pte.Tensor{ScalarType: tensor.Float, Sizes: []int32{3}, DimOrder: []uint8{0}, DataBufferIdx: 1}
	return &pte.Program{
		ConstantBuffers: [][]byte{nil, make([]byte, 12)},
		Plans: []*pte.ExecutionPlan{{
			Name: "forward", Inputs: []int32{0}, Outputs: []int32{0}, NonConstBufferSizes: []int64{0, 64},
			Values: []pte.EValue{
				{Type: pte.TensorValue, Tensor: planned}, {Type: pte.TensorValue, Tensor: constant},
				{Type: pte.Int, Int: 4}, {Type: pte.IntList, Items: []int64{2}},
			},
			Operators: []pte.Operator{{Name: "aten::add", Overload: "out"}},
			Chains:    []pte.Chain{{Instructions: []pte.Instruction{{Type: pte.KernelCall, Args: []int32{0, 1, 2, 0, 0}}}}},
		}},
	}
}

func TestReadFaults(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(p *pte.Program)
		code pte.Code
		want string
	}{
		{"input", func(p *pte.Program) { p.Plans[0].Inputs[0] = 9 }, pte.InvalidProgram, "inputs of plan 0: index 9, want 0 to 3"},
		{"version", func(p *pte.Program) { p.Version = 1 }, pte.InvalidProgram, "program: version 1, want at most 0"},
		{"text", func(p *pte.Program) { p.Plans[0].Name = "\xff" }, pte.InvalidProgram, `string "\xff" is not UTF-8`},
		{"operator", func(p *pte.Program) { p.Plans[0].Chains[0].Instructions[0].A = 1 }, pte.InvalidProgram, "instruction 0: index 1"},
		{"argument", func(p *pte.Program) { p.Plans[0].Chains[0].Instructions[0].Args[1] = -1 }, pte.InvalidProgram, "instruction 0: index -1"},
		{"size", func(p *pte.Program) { p.Plans[0].Values[0].Tensor.Sizes[1] = -2 }, pte.InvalidProgram, "value 0: size -2 of dimension 1 is negative"},
		{"overflow", func(p *pte.Program) {
			x := p.Plans[0].Values[0].Tensor
			x.Sizes = []int32{1 << 30, 1 << 30, 64}
			x.DimOrder = []uint8{0, 1, 2}
		}, pte.InvalidProgram, "number of elements overflows at dimension 2"},
		{"order", func(p *pte.Program) { p.Plans[0].Values[0].Tensor.DimOrder[1] = 0 }, pte.InvalidProgram, "dim_order is not a permutation of 2"},
		{"rank", func(p *pte.Program) {
			x := p.Plans[0].Values[0].Tensor
			x.Sizes = make([]int32, 17)
			x.DimOrder = make([]uint8, 17)
		}, pte.NotSupported, "rank 17, want at most 16"},
		{"type", func(p *pte.Program) { p.Plans[0].Values[0].Tensor.ScalarType = 30 }, pte.InvalidProgram, "unknown scalar type 30"},
		{"constant", func(p *pte.Program) { p.Plans[0].Values[1].Tensor.DataBufferIdx = 2 }, pte.InvalidProgram, "constant buffer 2: a tensor refers to it"},
		{"bytes", func(p *pte.Program) { p.ConstantBuffers[1] = make([]byte, 11) }, pte.InvalidProgram, "constant buffer 1: 11 bytes, but a tensor has 12"},
		{"arena", func(p *pte.Program) { p.Plans[0].Values[0].Tensor.Allocation.MemoryID = 2 }, pte.InvalidProgram, "arena 2, want 1 to 1"},
		{"arena size", func(p *pte.Program) { p.Plans[0].Values[0].Tensor.Allocation.Offset = 48 }, pte.MemoryAllocationFailed, "24 bytes at 48 of arena 1 of 64"},
		{"item", func(p *pte.Program) { p.Plans[0].Values[3].Items[0] = 0 }, pte.InvalidProgram, "value 3: item 0 has type 5, want 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := small()
			test.edit(p)
			file, err := pte.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			_, err = pte.Read(file)
			var e *pte.Error
			if !errors.As(err, &e) || e.Code != test.code || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.code, test.want)
			}
		})
	}
}

// TestHeaderFaults damages and cuts a file whose constants are in a segment.
func TestHeaderFaults(t *testing.T) {
	whole, err := pte.Marshal(small())
	if err != nil {
		t.Fatal(err)
	}
	size := uint64(len(whole))
	for _, test := range []struct {
		name   string
		damage func(file []byte) []byte
		want   string
	}{
		{"short", func(f []byte) []byte { return f[:63] }, "header: file of 63 bytes, want at least 64"},
		{"length", func(f []byte) []byte { f[12] = 23; return f }, "header: length 23, want at least 24"},
		{"program", func(f []byte) []byte { return f[:100] },
			fmt.Sprintf("header: the file is cut short: it has 100 of its %d bytes", binary.LittleEndian.Uint64(whole[16:]))},
		{"base", func(f []byte) []byte { binary.LittleEndian.PutUint64(f[24:], size+1); return f },
			fmt.Sprintf("header: the file is cut short: it has %d of its %d bytes", size, size+1)},
		{"segments", func(f []byte) []byte { return f[:size-1] },
			fmt.Sprintf("header: the file is cut short: it has %d of its %d bytes", size-1, size)},
		{"overflow", func(f []byte) []byte { binary.LittleEndian.PutUint64(f[32:], math.MaxUint64); return f },
			fmt.Sprintf("header: the file is cut short: it has %d of its %d bytes", size, uint64(math.MaxUint64))},
	} {
		if _, err := pte.Read(test.damage(bytes.Clone(whole))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestLayoutAddsUp(t *testing.T) {
	for _, name := range official(t) {
		file, _ := os.ReadFile(name)
		regions, err := pte.Layout(file)
		if err != nil {
			t.Fatal(err)
		}
		at := uint64(0)
		for _, r := range regions {
			if r.Offset != at {
				t.Errorf("%s: %s at %d, want %d", name, r.Name, r.Offset, at)
			}
			at += r.Size
		}
		if at != uint64(len(file)) {
			t.Errorf("%s: regions end at %d of %d", name, at, len(file))
		}
	}
}

// TestMutations changes every byte of the flatbuffers and cuts the files at every length: no panic.
func TestMutations(t *testing.T) {
	for _, name := range official(t)[:3] {
		file, _ := os.ReadFile(name)
		for i := range file {
			pte.Read(file[:i])
			for _, x := range []byte{1, 0x80, 0xff} {
				file[i] ^= x
				if p, err := pte.Read(file); err == nil {
					if _, err := pte.Marshal(p); err != nil {
						t.Errorf("%s: byte %d: %v", name, i, err)
					}
				}
				pte.Layout(file)
				file[i] ^= x
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range official(f)[:3] {
		file, _ := os.ReadFile(name)
		f.Add(file)
	}
	file, _ := pte.Marshal(small())
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := pte.Read(file)
		if _, layoutErr := pte.Layout(file); err == nil && layoutErr != nil {
			t.Errorf("Layout refuses what Read takes: %v", layoutErr)
		}
		if err != nil {
			return
		}
		again, err := pte.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pte.Read(again); err != nil {
			t.Errorf("read back: %v", err)
		}
	})
}
