// Package cases reads case files: inputs of a program's methods with the results that are right.
package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/internal/npy"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/golden"
)

// Value is an input or a result: a .npy file or a number.
type Value struct {
	NPY   string   `json:"npy,omitempty"`
	Int   *int64   `json:"int,omitempty"`
	Float *float64 `json:"float,omitempty"`
	Bool  *bool    `json:"bool,omitempty"`
	Str   *string  `json:"str,omitempty"`
	None  bool     `json:"none,omitempty"`
	// DimOrder is the order in which the program wants the elements; the file is in row-major order.
	DimOrder []int   `json:"dim_order,omitempty"`
	Atol     float64 `json:"atol,omitempty"`
}

// Call is one call of a method.
type Call struct {
	Method  string  `json:"method"`
	Inputs  []Value `json:"inputs"`
	Outputs []Value `json:"outputs"`
	// Mutated are inputs, by index, that the program writes, as they are afterwards.
	Mutated map[int]Value `json:"mutated,omitempty"`
}

// Case is a list of calls on one instance.
type Case struct {
	Calls []Call `json:"calls"`
}

// File is a case file.
type File struct {
	Name  string  `json:"name"`
	Rtol  float64 `json:"rtol"`
	Cases []Case  `json:"cases"`
	dir   string
}

// Paths are those of the files of inputs and results.
func (f *File) Paths() (paths []string) {
	add := func(v *Value) {
		if v.NPY != "" {
			paths = append(paths, filepath.Join(f.dir, v.NPY))
		}
	}
	for i := range f.Cases {
		for _, c := range f.Cases[i].Calls {
			for j := range c.Inputs {
				add(&c.Inputs[j])
			}
			for j := range c.Outputs {
				add(&c.Outputs[j])
			}
			for _, v := range c.Mutated {
				add(&v)
			}
		}
	}
	return paths
}

// Read reads a case file.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	f := &File{dir: filepath.Dir(path)}
	if err := json.Unmarshal(b, f); err != nil {
		return nil, placed(b, err)
	}
	if err := f.checkTolerances(); err != nil {
		return nil, err
	}
	for _, c := range f.Cases {
		if len(c.Calls) > 0 {
			return f, nil
		}
	}
	return nil, errors.New("the file has no call; want {\"cases\": [{\"calls\": [...]}]}")
}

// checkTolerances refuses negative ones, within which nothing is.
func (f *File) checkTolerances() error {
	if f.Rtol < 0 {
		return fmt.Errorf("read cases: rtol is %v, want 0 or more", f.Rtol)
	}
	for i := range f.Cases {
		for j, c := range f.Cases[i].Calls {
			for _, v := range slices.AppendSeq(slices.Clone(c.Outputs), maps.Values(c.Mutated)) {
				if v.Atol < 0 {
					return fmt.Errorf("read cases: case %d call %d: atol is %v, want 0 or more", i, j, v.Atol)
				}
			}
		}
	}
	return nil
}

// placed says in which line and column of b, counted in bytes, err of package json is.
func placed(b []byte, err error) error {
	var at int64 // how many bytes were read before the error was seen
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &value):
		at = value.Offset
	default:
		return fmt.Errorf("read cases: %w", err)
	}
	before := b[:max(0, at-1)]
	return fmt.Errorf("read cases: line %d, column %d: %w", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// kind is what a value is called in a message.
func kind(k executor.Kind) string {
	switch k {
	case executor.Tensor:
		return "a tensor"
	case executor.Int:
		return "an int"
	case executor.Float:
		return "a float"
	case executor.Bool:
		return "a bool"
	case executor.String:
		return "a string"
	case executor.None:
		return "none"
	}
	return fmt.Sprintf("a value of kind %d", k)
}

// Load is the value with its file's tensor, in the order that v names.
func (f *File) Load(v *Value) (executor.Value, error) {
	switch {
	case v.NPY != "":
		return f.loadTensor(v)
	case v.Int != nil:
		return executor.IntOf(*v.Int), nil
	case v.Float != nil:
		return executor.FloatOf(*v.Float), nil
	case v.Bool != nil:
		return executor.BoolOf(*v.Bool), nil
	case v.Str != nil:
		return executor.StringOf(*v.Str), nil
	case v.None:
		return executor.Value{}, nil
	}
	return executor.Value{}, errors.New(`read case: a value has none of "npy", "int", "float", "bool", "str" and "none": true`)
}

func (f *File) loadTensor(v *Value) (executor.Value, error) {
	t, err := npy.ReadFile(filepath.Join(f.dir, v.NPY))
	if err != nil {
		return executor.Value{}, fmt.Errorf("read case: %w", err)
	}
	if v.DimOrder == nil {
		return executor.TensorOf(t), nil
	}
	order := make([]uint8, len(v.DimOrder))
	seen := make([]bool, len(order))
	for i, d := range v.DimOrder {
		if d < 0 || d >= len(order) || len(order) != t.Rank() || seen[d] {
			return executor.Value{}, fmt.Errorf("read case: %s: dim_order %v of a tensor of rank %d", v.NPY, v.DimOrder, t.Rank())
		}
		seen[d], order[i] = true, uint8(d)
	}
	return executor.TensorOf(npy.Ordered(t, order)), nil
}

// LoadAll is Load of a list.
func (f *File) LoadAll(list []Value) ([]executor.Value, error) {
	var out []executor.Value
	for i := range list {
		v, err := f.Load(&list[i])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Compare holds got against the value want of the file and says how they differ.
func (f *File) Compare(got executor.Value, want *Value) error {
	w, err := f.Load(want)
	if err != nil {
		return err
	}
	if got.Kind != w.Kind {
		return fmt.Errorf("got %s, want %s", kind(got.Kind), kind(w.Kind))
	}
	switch w.Kind {
	case executor.Tensor:
		return golden.Same(got.Tensor, w.Tensor, f.Rtol, want.Atol)
	case executor.Float:
		if !golden.Near(got.Float, w.Float, f.Rtol, want.Atol) {
			return fmt.Errorf("got %v, want %v", got.Float, w.Float)
		}
	case executor.Int, executor.Bool:
		if got.Int != w.Int {
			return fmt.Errorf("got %d, want %d", got.Int, w.Int)
		}
	case executor.String:
		if got.Str != w.Str {
			return fmt.Errorf("got %q, want %q", got.Str, w.Str)
		}
	}
	return nil
}
