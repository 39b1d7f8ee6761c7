package pack

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// formatVersion is of the files between the steps; they are not kept, so it only guards against mixing tools.
const formatVersion = 4

// file is an encoded ExecutorchProgram. Constants refer to one another by index, operands first.
type file struct {
	Version            int
	Program            *pte.Program
	Table              []constant
	Constants, Mutable []int
	Files              []string
	Payloads           []exir.Blob
	NamedData          []namedData
	Requirements       []requirement
	Kernels            []exir.KernelUse
	Machine            exir.Machine
}

// namedData is an exir.NamedData whose content is an index.
type namedData struct {
	Key         string
	ByContent   bool
	Content     int
	Alignment   int
	ExternalTag string
}

// requirement is an exir.Requirement whose constant is an index.
type requirement struct {
	Zero      int
	Otherwise *diag.Error
}

type constant struct {
	Name   string
	Meta   tensor.Meta
	Data   []byte
	Weight *exir.Weight
	Op     string
	Args   []argument
	Out    int
}

type argument struct {
	Kind  exir.ArgKind
	Const int
	Int   int64
	Float float64
	Str   string
	List  []argument
}

// Encode writes p for a later Decode, the same bytes for the same program.
func Encode(w io.Writer, p *exir.ExecutorchProgram) error {
	enc := &encoder{index: map[*exir.Constant]int{}}
	f := file{Version: formatVersion, Program: p.Program, Kernels: p.Kernels, Machine: p.Machine, Files: p.Files}
	for _, c := range p.Constants {
		f.Constants = append(f.Constants, enc.constant(c))
	}
	for _, c := range p.Mutable {
		f.Mutable = append(f.Mutable, enc.constant(c))
	}
	f.Payloads = p.Payloads
	for _, d := range p.NamedData {
		f.NamedData = append(f.NamedData, namedData{d.Key, d.ByContent, enc.constant(d.Content), d.Alignment, d.ExternalTag})
	}
	for _, r := range p.Requirements {
		f.Requirements = append(f.Requirements, requirement{enc.constant(r.Zero), r.Otherwise})
	}
	f.Table = enc.table
	return gob.NewEncoder(w).Encode(&f)
}

type encoder struct {
	index map[*exir.Constant]int
	table []constant
}

func (e *encoder) constant(c *exir.Constant) int {
	if i, ok := e.index[c]; ok {
		return i
	}
	out := constant{Name: c.Name, Meta: c.Meta, Data: c.Data, Weight: c.Weight}
	if c.Node != nil {
		out.Op, out.Out, out.Args = c.Node.Op.Name, c.Node.Out, e.args(c.Node.Args)
	}
	e.table = append(e.table, out)
	e.index[c] = len(e.table) - 1
	return e.index[c]
}

func (e *encoder) args(in []exir.Arg) []argument {
	out := make([]argument, len(in))
	for i, a := range in {
		out[i] = argument{Kind: a.Kind, Int: a.Int, Float: a.Float, Str: a.Str}
		if a.Kind == exir.ArgValue {
			out[i].Const = e.constant(a.Value.Const)
		}
		if a.Kind == exir.ArgList {
			out[i].List = e.args(a.List)
		}
	}
	return out
}

// Decode reads what Encode wrote.
func Decode(r io.Reader) (*exir.ExecutorchProgram, error) {
	var f file
	if err := gob.NewDecoder(r).Decode(&f); err != nil {
		return nil, errors.New("read lowered program: this is none, or not a whole one") // what gob says is of no help
	}
	if f.Version != formatVersion {
		return nil, fmt.Errorf("read lowered program: version %d, want %d: lower it again with this tool", f.Version, formatVersion)
	}
	d := &decoder{table: f.Table}
	p := &exir.ExecutorchProgram{Program: f.Program, Kernels: f.Kernels, Machine: f.Machine}
	for i := range f.Table {
		c, err := d.constant(i)
		if err != nil {
			return nil, fmt.Errorf("read lowered program: constant %d: %w", i, err)
		}
		d.made = append(d.made, c)
	}
	var err error
	if p.Constants, err = d.pick(f.Constants); err != nil {
		return nil, err
	}
	if p.Mutable, err = d.pick(f.Mutable); err != nil {
		return nil, err
	}
	if p.Files = f.Files; len(f.Files) > 0 && len(f.Files) != len(f.Constants) {
		return nil, fmt.Errorf("read lowered program: %d constants and the files of %d", len(f.Constants), len(f.Files))
	}
	return p, d.delegates(&f, p)
}

// delegates decodes what delegates have.
func (d *decoder) delegates(f *file, p *exir.ExecutorchProgram) error {
	p.Payloads = f.Payloads
	for _, in := range f.NamedData {
		content, err := d.pick([]int{in.Content})
		if err != nil {
			return err
		}
		p.NamedData = append(p.NamedData, &exir.NamedData{Key: in.Key, ByContent: in.ByContent, Content: content[0],
			Alignment: in.Alignment, ExternalTag: in.ExternalTag})
	}
	for _, in := range f.Requirements {
		zero, err := d.pick([]int{in.Zero})
		if err != nil {
			return err
		}
		if in.Otherwise == nil {
			return errors.New("read lowered program: a requirement has no error")
		}
		p.Requirements = append(p.Requirements, exir.Requirement{Zero: zero[0], Otherwise: in.Otherwise})
	}
	return d.checkPlaces(p)
}

// checkPlaces holds the places of keys against the payloads and the named data.
func (d *decoder) checkPlaces(p *exir.ExecutorchProgram) error {
	known := map[string]bool{}
	for _, e := range p.NamedData {
		known[e.Key] = e.ByContent
	}
	for i, b := range p.Payloads {
		for _, at := range b.Places {
			if at.Offset < 0 || at.Offset+exir.KeyLength > len(b.Bytes) || !known[at.Key] {
				return fmt.Errorf("read lowered program: payload %d has no place for a key at %d", i, at.Offset)
			}
		}
	}
	return nil
}

type decoder struct {
	table []constant
	made  []*exir.Constant
}

func (d *decoder) pick(list []int) ([]*exir.Constant, error) {
	var out []*exir.Constant
	for _, i := range list {
		if i < 0 || i >= len(d.made) {
			return nil, fmt.Errorf("read lowered program: no constant %d", i)
		}
		out = append(out, d.made[i])
	}
	return out, nil
}

func (d *decoder) constant(i int) (*exir.Constant, error) {
	in := &d.table[i]
	c := &exir.Constant{Name: in.Name, Meta: in.Meta, Data: in.Data, Weight: in.Weight}
	if in.Op == "" {
		c.Literal = in.Weight == nil
		return c, nil
	}
	op := exir.LookupSchema(in.Op)
	if op == nil {
		return nil, fmt.Errorf("no operator %s", in.Op)
	}
	args, err := d.args(in.Args)
	c.Node = &exir.ConstExpr{Op: op, Args: args, Out: in.Out}
	return c, err
}

func (d *decoder) args(in []argument) ([]exir.Arg, error) {
	out := make([]exir.Arg, len(in))
	for i, a := range in {
		out[i] = exir.Arg{Kind: a.Kind, Int: a.Int, Float: a.Float, Str: a.Str}
		var err error
		switch a.Kind {
		case exir.ArgValue:
			if a.Const < 0 || a.Const >= len(d.made) {
				return nil, fmt.Errorf("refers to constant %d, which is not before it", a.Const)
			}
			c := d.made[a.Const]
			out[i].Value = &exir.Value{Name: c.Name, Spec: c.Meta, Const: c}
		case exir.ArgList:
			out[i].List, err = d.args(a.List)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
