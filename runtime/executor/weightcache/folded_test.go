package weightcache

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// foldedProgram multiplies a 2×8 input by weights of 8 bits (4×8) that are dequantized and turned, by float weights (8×4) of the file
// as they are, and by ones of Long that are cast, and added to what is folded. The first element of each is given.
func foldedProgram(t *testing.T, d tensor.ScalarType, scale float64, zero int64, ints, floats byte) []byte {
	t.Helper()
	low := int64(0)
	if d == tensor.Char {
		low = math.MinInt8
	}
	at := uint64(0)
	value := func(d tensor.ScalarType, sizes ...int32) pte.EValue {
		order := make([]uint8, len(sizes))
		for i := range order {
			order[i] = uint8(i)
		}
		return pte.EValue{Type: pte.TensorValue, Tensor: &pte.Tensor{ScalarType: d, Sizes: sizes, DimOrder: order}}
	}
	planned := func(sizes ...int32) pte.EValue {
		v := value(tensor.Float, sizes...)
		v.Tensor.Allocation = &pte.Allocation{MemoryID: 1, Offset: at}
		at += 128
		return v
	}
	stored := func(d tensor.ScalarType, buffer uint32, sizes ...int32) pte.EValue {
		v := value(d, sizes...)
		v.Tensor.DataBufferIdx = buffer
		return v
	}
	i := func(n int64) pte.EValue { return pte.EValue{Type: pte.Int, Int: n} }
	vals := []pte.EValue{
		0: planned(2, 8), 1: stored(d, 1, 4, 8), 2: planned(4, 8), 3: planned(8, 4), 4: planned(2, 4), 5: {Type: pte.Double, Double: scale},
		6: i(zero), 7: i(low), 8: i(low + 255), 9: i(int64(tensor.Float)), 10: {Type: pte.Null}, 11: {Type: pte.IntList, Items: []int64{18, 12}}, 12: i(0),
		13: stored(tensor.Float, 2, 8, 4), 14: planned(2, 4), 15: stored(tensor.Long, 3, 8, 4), 16: planned(8, 4), 17: planned(2, 4), 18: i(1),
	}
	call := func(operator int32, args ...int32) pte.Instruction {
		return pte.Instruction{Type: pte.KernelCall, A: operator, Args: append(args, args[len(args)-1])}
	}
	p := &pte.Program{Plans: []*pte.ExecutionPlan{{Name: "forward", Values: vals, NonConstBufferSizes: []int64{0, int64(at)},
		Inputs: []int32{0}, Outputs: []int32{4, 14, 17},
		Operators: []pte.Operator{{Name: "quantized_decomposed::dequantize_per_tensor", Overload: "out"}, {Name: "aten::permute_copy", Overload: "out"},
			{Name: "aten::mm", Overload: "out"}, {Name: "aten::mul", Overload: "out"}},
		Chains: []pte.Chain{{Instructions: []pte.Instruction{
			call(0, 1, 5, 6, 7, 8, 9, 10, 2), call(1, 2, 11, 3), call(2, 0, 3, 4), call(2, 0, 13, 14),
			call(3, 3, 15, 16), call(2, 0, 16, 17)}}}}}}
	var f, l []byte
	for k := range 32 {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(float32(k)+float32(floats)))
		l = binary.LittleEndian.AppendUint64(l, uint64(k)+uint64(floats))
	}
	p.ConstantBuffers = [][]byte{nil, append([]byte{ints, 255}, f[:30]...), f, l}
	b, err := pte.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFolded has constants that instructions give: they are packed at each load, and the others come from the file, whatever bytes
// those have.
func TestFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	for _, test := range []struct {
		name         string
		ints, floats byte
		warns        bool
	}{
		{"no file", 1, 0, false},
		{"written", 1, 0, false},
		{"read", 1, 0, false},
		{"other integers, which are folded", 9, 0, false},
		{"other floats", 9, 3, true},
		{"read again", 9, 3, false},
	} {
		file := foldedProgram(t, tensor.Byte, 0.5, 1, test.ints, test.floats)
		want, _ := run(t, file, "")
		got, said := run(t, file, path)
		if got != want || strings.Contains(said, errOther.Error()) != test.warns || said != "" && !test.warns {
			t.Errorf("%s: got %s, want %s; the cache says %q", test.name, got, want, said)
		}
	}
}

// TestBlocks has weights with a zero point, which stay integers, packed with their scales and zero points: others are other weights.
func TestBlocks(t *testing.T) {
	if kernel.MixedOf(kernel.Best(), kernel.StoredQ8) == nil {
		t.Skip("the tier has no tiles for weights with zero points, so that they become Float at each load")
	}
	path := filepath.Join(t.TempDir(), "weights")
	for _, test := range []struct {
		name  string
		scale float64
		zero  int64
		warns bool
	}{
		{"no file", 0.5, 1, false},
		{"read", 0.5, 1, false},
		{"another scale", 0.25, 1, true},
		{"another zero point", 0.25, 2, true},
		{"read again", 0.25, 2, false},
	} {
		file := foldedProgram(t, tensor.Char, test.scale, test.zero, 100, 0)
		want, _ := run(t, file, "")
		got, said := run(t, file, path)
		if got != want || strings.Contains(said, errOther.Error()) != test.warns || said != "" && !test.warns {
			t.Errorf("%s: got %s, want %s; the cache says %q", test.name, got, want, said)
		}
	}
}
