package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func TestDescribe(t *testing.T) {
	of := func(dtype tensor.ScalarType, data []byte, sizes ...tensor.Dim) executor.Value {
		return executor.Value{Kind: executor.Tensor, Tensor: &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: sizes}, Data: data}}
	}
	columns := of(tensor.Byte, []byte{1, 3, 2, 4}, 2, 2)
	columns.Tensor.DimOrder = []uint8{1, 0}
	for _, c := range []struct {
		value executor.Value
		want  string
	}{
		{of(tensor.Float, []byte{0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0xff}, 1, 2), "float32[1, 2]: 1 NaN"},
		{of(tensor.BFloat16, []byte{0x49, 0x40}), "bfloat16[]: 3.141"},
		{of(tensor.Char, []byte{255, 1, 2, 3, 4, 5, 6}, 7), "int8[7]: -1 1 2 3 4 5 …"},
		{of(tensor.UInt64, []byte{255, 255, 255, 255, 255, 255, 255, 255}, 1), "uint64[1]: 18446744073709551615"},
		{of(tensor.Bool, []byte{0, 1}, 2), "bool[2]: false true"},
		{of(tensor.Float, nil, 0, 3), "float32[0, 3]"},
		{columns, "uint8[2, 2]: 1 2 3 4"},
		{executor.Value{Kind: executor.Float, Float: 0.5}, "0.5"},
	} {
		if got := Describe(&c.value); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLost is an error where what is printed gets nowhere, as on a full disk.
func TestLost(t *testing.T) {
	closed, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	saved := os.Stdout
	defer func() { os.Stdout = saved }()
	os.Stdout = closed
	if err := WriteOutputs("", []executor.Value{executor.IntOf(3)}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want %v", err, fs.ErrClosed)
	}
}
