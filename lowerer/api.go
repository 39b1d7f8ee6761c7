// Package lowerer lowers PyTorch programs (.pt2) to ExecuTorch programs (.pte).
package lowerer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/decomp"
	"github.com/rules-pte/rules_pte/lowerer/internal/emit"
	"github.com/rules-pte/rules_pte/lowerer/internal/functionalize"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/passes"
	"github.com/rules-pte/rules_pte/lowerer/internal/pt2"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Options of a lowering beside its spec.
type Options struct {
	// Dump is a folder for the text of every stage; "" for none.
	Dump string
	// Timings takes the times of the parts from load on; nil for none.
	Timings *Timings
}

// Loaded is an exported program with what its symbols mean.
type Loaded struct {
	Program exir.ExportedProgram
	table   *symint.Table
}

// Load reads the methods of spec from models, which maps its model keys to files.
func Load(spec *config.Spec, models map[string]string) (*Loaded, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	l := &Loaded{table: symint.NewTable()}
	l.Program.Shapes = &tensor.Shapes{Table: l.table}
	archives := map[string]*pt2.Archive{}
	for _, ms := range spec.Methods {
		a := archives[ms.Model.V]
		if a == nil {
			path, ok := models[ms.Model.V]
			if !ok {
				path = spec.ModelPath(ms.Model.V)
			}
			var err error
			if a, err = pt2.Open(path); err != nil {
				return nil, diag.New(diag.ModelRead, spec.Where(ms.Model.Pos), "%w", err)
			}
			defer a.Close() // the methods refer to weights by record, and have copies of what was read
			archives[ms.Model.V] = a
		}
		m, torch, err := a.Load(ms.Name.V, l.table)
		if err != nil {
			return nil, diag.New(diag.ModelMalformed, path(models, ms.Model.V), "%w", err)
		}
		l.Program.Torch = torch
		markModel(m, ms.Model.V)
		if err := l.bound(spec, &ms, m); err != nil {
			return nil, err
		}
		l.Program.Methods = append(l.Program.Methods, m)
	}
	sort.Slice(l.Program.Methods, func(i, j int) bool { return l.Program.Methods[i].Name < l.Program.Methods[j].Name })
	return l, nil
}

func path(models map[string]string, key string) string {
	if p, ok := models[key]; ok {
		return p
	}
	return key
}

// markModel notes in every weight of m which model holds it.
func markModel(m *exir.Method, key string) {
	for _, v := range m.Graph.Inputs {
		if v != nil && v.Const != nil && v.Const.Weight != nil {
			v.Const.Weight.Model = key
		}
	}
}

// bound applies the spec's dynamic_shapes to the symbols of m.
func (l *Loaded) bound(spec *config.Spec, ms *config.MethodSpec, m *exir.Method) error {
	for _, r := range ms.DynamicShapes {
		where := spec.Where(r.Input.Pos)
		v := userInput(m, r.Input.V)
		if v == nil {
			return diag.New(diag.UnknownInput, where, "method %q has no input %q", m.Name, r.Input.V).
				WithHint("its inputs are %v", userInputs(m))
		}
		if r.Dim.V < 0 || r.Dim.V >= v.Spec.Rank() || !tensor.IsSymbol(v.Spec.Sizes[r.Dim.V]) {
			return diag.New(diag.UnknownInput, where, "dimension %d of input %q is not dynamic", r.Dim.V, r.Input.V).
				WithHint("its sizes are %s", l.sizes(v))
		}
		op, _, name := l.table.Node(v.Spec.Sizes[r.Dim.V])
		if op != "symbol" {
			return diag.New(diag.BadRange, where, "dimension %d of input %q is an expression, %s", r.Dim.V, r.Input.V,
				l.table.String(v.Spec.Sizes[r.Dim.V])).WithHint("bound the dimension that it is made of")
		}
		lo, hi := l.table.Bounds(v.Spec.Sizes[r.Dim.V])
		if r.Min.Set {
			lo = r.Min.V
		}
		if r.Max.Set {
			hi = r.Max.V
		}
		if err := l.table.SetRange(name, lo, hi); err != nil {
			return diag.New(diag.BadRange, where, "bound dimension %d of input %q: %w", r.Dim.V, r.Input.V, err)
		}
	}
	return nil
}

func userInput(m *exir.Method, name string) *exir.Value {
	for i, v := range m.Graph.Inputs {
		if v != nil && m.Inputs[i].Kind == exir.UserInput && v.Name == name {
			return v
		}
	}
	return nil
}

func userInputs(m *exir.Method) []string {
	var names []string
	for i, v := range m.Graph.Inputs {
		if v != nil && m.Inputs[i].Kind == exir.UserInput {
			names = append(names, v.Name)
		}
	}
	return names
}

func (l *Loaded) sizes(v *exir.Value) string {
	var b bytes.Buffer
	for i, d := range v.Spec.Sizes {
		if i > 0 {
			b.WriteString(" × ")
		}
		if tensor.IsSymbol(d) {
			b.WriteString(l.table.String(d))
		} else {
			fmt.Fprint(&b, d)
		}
	}
	return b.String()
}

// ToEdge makes the program functional and of core ATen operators, and runs the passes that spec leaves on.
func (l *Loaded) ToEdge(spec *config.Spec, dump *Dumper) (*exir.EdgeProgram, error) {
	var errs []error
	p := &l.Program.Program
	for _, m := range p.Methods {
		if err := dump.Stage("exported", p, m, l.table); err != nil {
			return nil, err
		}
		if err := functionalize.Run(p, m); err != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", m.Name, err))
			continue
		}
		if err := dump.Stage("functional", p, m, l.table); err != nil {
			return nil, err
		}
		if err := decomp.Run(p, m, nil); err != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", m.Name, err))
			continue
		}
		if err := dump.Stage("core", p, m, l.table); err != nil {
			return nil, err
		}
	}
	if len(errs) > 0 {
		return nil, diag.New(diag.UnsupportedOperator, "", "%w", errors.Join(errs...))
	}
	c := &passes.Context{Program: p, Table: l.table}
	err := passes.Run(c, spec.Disabled, func(pass string, m *exir.Method) error { return dump.Stage(pass, p, m, l.table) })
	if err != nil {
		return nil, diag.New(diag.UnsupportedFeature, "", "%w", err)
	}
	return &exir.EdgeProgram{Program: *p}, nil
}

// ToExecutorch plans memory and emits the program; its constants stay expressions.
func (l *Loaded) ToExecutorch(spec *config.Spec, p *exir.EdgeProgram) (*exir.ExecutorchProgram, *report.Report, error) {
	if err := checkTarget(spec, &p.Program); err != nil {
		return nil, nil, err
	}
	opts := emit.Options{
		AllocInput: spec.MemoryPlanning.AllocGraphInput.V, AllocOutput: spec.MemoryPlanning.AllocGraphOutput.V,
		Alignment: spec.MemoryPlanning.Alignment.V, Stacktrace: spec.EmitStacktrace.V, Official: spec.Operators.V == "official",
	}
	x, stats, err := emit.Program(&p.Program, l.table, opts)
	if err != nil {
		return nil, nil, diag.New(diag.UnsupportedDType, "", "%w", err)
	}
	x.Program.SegmentAlignment = spec.SegmentAlignment.V
	x.Program.ConstantAlignment = spec.ConstantTensorAlignment.V
	x.Program.DelegateAlignment = spec.DelegateAlignment.V
	for _, c := range spec.ConstantMethods {
		plan, err := emit.ConstantMethod(c.Name.V, c.Value.V)
		if err != nil {
			return nil, nil, diag.New(diag.WrongValue, spec.Where(c.Value.Pos), "constant method %s: %w", c.Name.V, err)
		}
		x.Program.Plans = append(x.Program.Plans, plan)
	}
	rep, err := makeReport(x, stats)
	if err != nil {
		return nil, nil, err
	}
	return x, rep, checkLimits(spec, rep, stats)
}

// LowerFile lowers what spec names and writes the .pte to w.
func LowerFile(_ context.Context, spec *config.Spec, models map[string]string, w io.Writer, opts Options) (*report.Report, error) {
	x, rep, err := lower(spec, models, opts)
	if err != nil {
		return nil, err
	}
	if err := config.CheckExpect(spec, rep); err != nil {
		return rep, err
	}
	return rep, packTo(x, modelPaths(spec, models), w, opts.Timings)
}

func modelPaths(spec *config.Spec, models map[string]string) map[string]string {
	paths := map[string]string{}
	for _, key := range spec.Models() {
		paths[key] = spec.ModelPath(key)
		if p, ok := models[key]; ok {
			paths[key] = p
		}
	}
	return paths
}

func lower(spec *config.Spec, models map[string]string, opts Options) (*exir.ExecutorchProgram, *report.Report, error) {
	l, err := Load(spec, models)
	if err != nil {
		return nil, nil, err
	}
	opts.Timings.Mark("load")
	dump, err := NewDumper(opts.Dump)
	if err != nil {
		return nil, nil, err
	}
	edge, err := l.ToEdge(spec, dump)
	if err != nil {
		return nil, nil, err
	}
	opts.Timings.Mark("passes")
	x, rep, err := l.ToExecutorch(spec, edge)
	if err != nil {
		return nil, nil, err
	}
	opts.Timings.Mark("emit")
	return x, rep, dump.Close()
}

// SplitFile writes the graph of the .pt2 at path, without its weights, to w: the input of ProgramStep.
func SplitFile(path string, w io.Writer) error {
	a, err := pt2.Open(path)
	if err != nil {
		return diag.New(diag.ModelRead, path, "%w", err)
	}
	defer a.Close()
	return a.WriteSplit(w)
}

// ProgramStep lowers graphs, which maps the spec's models to files of SplitFile, and writes the program without the
// bytes of its constants to w: the input of PackStep.
func ProgramStep(spec *config.Spec, graphs map[string]string, w io.Writer) (*report.Report, error) {
	x, rep, err := lower(spec, graphs, Options{})
	if err != nil {
		return nil, err
	}
	return rep, pack.Encode(w, x)
}

// PackStep evaluates the constants of the program that ProgramStep wrote to progPath over the weights in models, and
// writes the .pte to w.
func PackStep(progPath string, models map[string]string, w io.Writer) (*report.Manifest, error) {
	x, err := readProgram(progPath)
	if err != nil {
		return nil, err
	}
	if err := packTo(x, models, w, nil); err != nil {
		return nil, err
	}
	return manifest(x), nil
}

func packTo(x *exir.ExecutorchProgram, models map[string]string, w io.Writer, t *Timings) error {
	files := openWeights(models)
	defer files.close()
	if err := pack.Fill(x, files.read, &files.room); err != nil {
		return diag.New(diag.ModelMalformed, "", "%w", err)
	}
	t.Mark("pack")
	defer t.Mark("write")
	return pte.Write(files.writer(w), x.Program)
}

// DefaultSpec is the spec of a program of one method, forward, from the file model: every default of the schema.
func DefaultSpec(model string) (*config.Spec, error) {
	return config.DefaultSpec([]config.Named{{Method: "forward", Model: model}})
}
