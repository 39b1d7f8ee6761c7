package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pack is an open file of the conformance set: programs of one operator, with what they must give.
type pack struct {
	name  string
	zip   *zip.ReadCloser
	cases []opCase
}

// opCase is a program. Its fields are those of cases.json.
type opCase struct {
	Dir, ID, DType, Class string
	Runs                  []opRun
	Flags                 []string
	Official              map[string]struct{ Equal bool }
}

// opRun is a call of the program with what it must give.
type opRun struct {
	Inputs, Outputs []opValue
	Mutated         map[int]opValue
	Refused         string // why PyTorch refuses the inputs: the run must end with an error
}

// opValue is a tensor in a file of the pack, or a number.
type opValue struct {
	File, DType   string
	Shape         []int64
	DimOrder      []uint8 `json:"dim_order"`
	Scalar, Value string
	Rtol, Atol    float64
}

// tolerate gives v torch.testing's tolerances of its type. The set says none for mutated inputs.
func (v *opValue) tolerate() {
	switch v.DType {
	case "float64":
		v.Rtol, v.Atol = 1e-7, 1e-7
	case "float32":
		v.Rtol, v.Atol = 1.3e-6, 1e-5
	case "float16":
		v.Rtol, v.Atol = 1e-3, 1e-5
	case "bfloat16":
		v.Rtol, v.Atol = 1.6e-2, 1e-5
	}
}

func openPack(path string) (*pack, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("open pack: %w", err)
	}
	p := &pack{name: strings.TrimSuffix(filepath.Base(path), ".zip"), zip: z}
	text, err := p.read("cases.json")
	if err == nil {
		err = json.Unmarshal(text, &p.cases)
	}
	if err != nil {
		z.Close()
		return nil, fmt.Errorf("read pack %s: %w", p.name, err)
	}
	return p, nil
}

func (p *pack) read(name string) ([]byte, error) {
	f, err := p.zip.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// value is v of the program c, ready to be an input or to be compared with.
func (p *pack) value(c *opCase, v *opValue) (executor.Value, error) {
	if v.Scalar != "" {
		return number(v)
	}
	b, err := p.read(c.Dir + "/" + v.File)
	if err != nil {
		return executor.Value{}, err
	}
	t, err := npy.Parse(b)
	if err != nil {
		return executor.Value{}, fmt.Errorf("%s: %w", v.File, err)
	}
	if v.DType == tensor.BFloat16.String() { // NumPy has no such type: the file has its bits
		t.DType = tensor.BFloat16
	}
	if v.DimOrder != nil {
		t = npy.Ordered(t, v.DimOrder)
	}
	return executor.TensorOf(t), nil
}

func number(v *opValue) (executor.Value, error) {
	switch v.Scalar {
	case "int":
		n, err := strconv.ParseInt(v.Value, 10, 64)
		return executor.IntOf(n), err
	case "float":
		f, err := strconv.ParseFloat(v.Value, 64)
		return executor.FloatOf(f), err
	case "bool":
		return executor.BoolOf(v.Value == "True"), nil
	}
	return executor.Value{}, fmt.Errorf("no scalar type %q", v.Scalar)
}

// complexValued says whether an input or an output of c is complex.
func (c *opCase) complexValued() bool {
	for _, r := range c.Runs {
		for _, list := range [][]opValue{r.Inputs, r.Outputs} {
			for _, v := range list {
				if strings.HasPrefix(v.DType, "complex") {
					return true
				}
			}
		}
	}
	return false
}
