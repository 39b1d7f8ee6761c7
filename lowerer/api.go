// Package lowerer lowers PyTorch programs (.pt2) to ExecuTorch programs (.pte).
package lowerer

import (
	"context"
	"io"
	"sort"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/lowerer/internal/decomp"
	"github.com/rules-pte/rules_pte/lowerer/internal/delegate"
	"github.com/rules-pte/rules_pte/lowerer/internal/emit"
	"github.com/rules-pte/rules_pte/lowerer/internal/etrecord"
	"github.com/rules-pte/rules_pte/lowerer/internal/functionalize"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/passes"
	"github.com/rules-pte/rules_pte/lowerer/internal/pt2"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Options of a lowering beside its spec.
type Options struct {
	// Dump is a folder for the text of every stage; "" for none.
	Dump string
	// Timings takes the times of the parts from load on; nil for none.
	Timings *Timings
	// Data writes data files; with nil, a program that has one is an error.
	Data DataWriter
	// Debug takes what the instructions came from; nil for nothing.
	Debug *DebugInfo
	// Record takes the graphs before anything is delegated; nil for nothing.
	Record *Record
	// Runtime are the run-time halves of backends: the kernels that their payloads run are in the manifest.
	Runtime []rtbackend.Backend
}

// Record is the graphs of a program in the Edge dialect, the file of `pte lower --etrecord`.
type Record = etrecord.Record

// DebugInfo is what instructions and backends' steps came from, the file of `pte lower --debug`.
type DebugInfo = debuginfo.File

// NewDebugInfo makes an empty DebugInfo.
func NewDebugInfo() *DebugInfo { return debuginfo.New() }

// Loaded is an exported program with what its symbols mean.
type Loaded struct {
	Program exir.ExportedProgram
	table   *symint.Table
	models  map[string]string // model key by method
	files   map[string]string // path of the model by method
	// entries are the backends, delegation what they took; passes is the state of the pipeline between its halves.
	entries    []delegate.Entry
	delegation *delegate.Result
	passes     *passes.Context
	debug      *DebugInfo
}

// Load reads the methods of spec from models, which maps its model keys to files.
func Load(spec *config.Spec, models map[string]string) (*Loaded, error) {
	if err := CheckSpec(spec); err != nil {
		return nil, err
	}
	l := &Loaded{table: symint.NewTable(), models: map[string]string{}, files: map[string]string{}}
	l.Program.Shapes = &tensor.Shapes{Table: l.table}
	files := &modelFiles{spec: spec, paths: models, open: map[string]*pt2.Archive{}}
	defer files.close() // the methods refer to weights by record, and have copies of what was read
	var errs diag.List
	for i := range spec.Methods {
		m, err := l.loadMethod(&spec.Methods[i], files)
		if err != nil {
			errs.Add(diag.ModelMalformed, err)
			continue
		}
		l.models[m.Name] = spec.Methods[i].Model.V
		l.files[m.Name] = files.path(spec.Methods[i].Model.V)
		l.Program.Methods = append(l.Program.Methods, m)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	sort.Slice(l.Program.Methods, func(i, j int) bool { return l.Program.Methods[i].Name < l.Program.Methods[j].Name })
	return l, nil
}

// loadMethod reads one method, applies its dynamic_shapes, and holds its inputs against the target.
func (l *Loaded) loadMethod(ms *config.MethodSpec, files *modelFiles) (*exir.Method, error) {
	a, err := files.archive(ms)
	if err != nil {
		return nil, err
	}
	m, torch, err := a.Load(ms.Name.V, l.table)
	if err != nil {
		return nil, files.fault(ms, err)
	}
	l.Program.Torch = torch
	markModel(m, ms.Model.V)
	if err := l.bound(files.spec, ms, m); err != nil {
		return nil, err
	}
	return m, checkInputs(files.spec, m)
}

// modelFiles are the open archives of a spec's models, by key.
type modelFiles struct {
	spec  *config.Spec
	paths map[string]string
	open  map[string]*pt2.Archive
}

func (f *modelFiles) archive(ms *config.MethodSpec) (*pt2.Archive, error) {
	key := ms.Model.V
	if a := f.open[key]; a != nil {
		return a, nil
	}
	a, err := pt2.Open(f.path(key))
	if err != nil {
		return nil, f.fault(ms, err)
	}
	f.open[key] = a
	return a, nil
}

// path is the file that a key is mapped to, or the one beside the spec.
func (f *modelFiles) path(key string) string {
	if p, ok := f.paths[key]; ok {
		return p
	}
	return f.spec.ModelPath(key)
}

func (f *modelFiles) close() {
	for _, a := range f.open {
		a.Close()
	}
}

// markModel notes in every weight of m which model holds it.
func markModel(m *exir.Method, key string) {
	for _, v := range m.Graph.Inputs {
		if v != nil && v.Const != nil && v.Const.Weight != nil {
			v.Const.Weight.Model = key
		}
	}
}

// ToEdge makes the program functional and of core ATen operators, and runs the passes that spec leaves on.
func (l *Loaded) ToEdge(spec *config.Spec, dump *Dumper) (*exir.EdgeProgram, error) {
	var errs diag.List
	p := &l.Program.Program
	var err error
	if l.entries, err = l.backends(spec); err != nil {
		return nil, err
	}
	for _, m := range p.Methods {
		if err := l.stage(dump, "exported", m, exir.ATen); err != nil {
			return nil, err
		}
		if err := functionalize.Run(p, m); err != nil {
			errs = append(errs, l.within(m, diag.UnsupportedFeature, err)...)
			continue
		}
		if err := l.stage(dump, "functional", m, exir.FunctionalATen); err != nil {
			return nil, err
		}
		if err := decomp.Run(p, m, keeps(l.entries, m)); err != nil {
			errs = append(errs, l.within(m, diag.UnsupportedOperator, err)...)
			continue
		}
		if err := dump.Stage("core", p, m, l.table); err != nil {
			return nil, err
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	l.passes = &passes.Context{Program: p, Table: l.table, Offered: len(l.entries) > 0}
	err = passes.Run(l.passes, spec.Disabled, func(pass string, m *exir.Method) error { return dump.Stage(pass, p, m, l.table) })
	if err != nil {
		return nil, l.placed(err)
	}
	edge := &exir.EdgeProgram{Program: *p}
	if spec.Operators.V == "official" { // its runtime plans all memory
		return edge, l.checkBounds(p)
	}
	return edge, nil
}

// ToExecutorch plans memory and emits the program; its constants stay expressions.
func (l *Loaded) ToExecutorch(spec *config.Spec, p *exir.EdgeProgram, dump *Dumper) (*exir.ExecutorchProgram, *report.Report, error) {
	if err := checkTarget(spec, &p.Program); err != nil {
		return nil, nil, err
	}
	opts := emit.Options{
		AllocInput: spec.MemoryPlanning.AllocGraphInput.V, AllocOutput: spec.MemoryPlanning.AllocGraphOutput.V,
		Alignment: spec.MemoryPlanning.Alignment.V, Stacktrace: spec.EmitStacktrace.V, Official: spec.Operators.V == "official",
		Banks: banksOf(spec), Stage: func(p *exir.Plan) error {
			if p.Planned {
				l.debug.Add(p)
			}
			return dump.Plan(p)
		},
	}
	x, stats, err := emit.Program(&p.Program, l.table, opts)
	if err != nil {
		return nil, nil, l.placed(emitError(spec, err))
	}
	x.NamedData, x.Requirements = p.NamedData, p.Requirements
	t := &spec.Target
	x.Machine = exir.Machine{Name: t.Name.V, OS: t.OS.V, Arch: t.Arch.V, CPUFeatures: t.CPUFeatures}
	if err := externalize(spec, x); err != nil {
		return nil, nil, err
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
	rep, err := makeReport(spec, x, stats)
	if err != nil {
		return nil, nil, err
	}
	return x, rep, l.reportDelegation(rep, p)
}

// LowerFile lowers what spec names and writes the .pte to w.
func LowerFile(_ context.Context, spec *config.Spec, models map[string]string, w io.Writer, opts Options) (*report.Report, error) {
	x, rep, err := lower(spec, models, opts)
	if err != nil {
		return nil, err
	}
	pending, err := config.CheckExpect(spec, rep)
	if err != nil {
		return rep, err
	}
	n, files, err := packTo(x, modelPaths(spec, models), w, opts)
	if err != nil {
		return rep, err
	}
	rep.Packed, rep.FileBytes, rep.ConstantBytes, rep.ExternalBytes = true, n, pack.Constants(x.Program), packedBytes(files)
	return rep, checkPacked(pending, rep.FileBytes, rep.ConstantBytes)
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
	l.debug = opts.Debug
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
	opts.Record.Add(&edge.Program, func(d tensor.Dim) int64 { return l.table.Eval(d, nil) })
	if err := l.ToBackend(spec, edge, models, dump); err != nil {
		return nil, nil, err
	}
	opts.Timings.Mark("backends")
	x, rep, err := l.ToExecutorch(spec, edge, dump)
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
func ProgramStep(spec *config.Spec, graphs map[string]string, w io.Writer, opts Options) (*report.Report, error) {
	x, rep, err := lower(spec, graphs, opts)
	if err != nil {
		return nil, err
	}
	return rep, pack.Encode(w, x)
}

// PackStep evaluates the constants of the program that ProgramStep wrote to progPath over the weights in models, and
// writes the .pte to w. The sizes are held against what the check of `expect` left pending.
func PackStep(progPath string, models map[string]string, pending []config.Pending, w io.Writer, opts Options) (*report.Manifest, error) {
	x, err := readProgram(progPath)
	if err != nil {
		return nil, err
	}
	n, files, err := packTo(x, models, w, opts)
	if err != nil {
		return nil, err
	}
	m := manifest(x, opts.Runtime)
	for _, f := range files {
		m.DataFiles = append(m.DataFiles, f.Name)
	}
	m.FileBytes, m.ConstantBytes = n, pack.Constants(x.Program)
	return m, checkPacked(pending, m.FileBytes, m.ConstantBytes)
}

// packTo evaluates the constants of x and writes the .pte to w, and its data files; it gives the size of the .pte in
// bytes.
func packTo(x *exir.ExecutorchProgram, models map[string]string, w io.Writer, opts Options) (int64, []pack.DataFile, error) {
	files := openWeights(models)
	defer files.close()
	external, err := pack.Fill(x, files.read, &files.room)
	if err != nil {
		var errs diag.List
		errs.Add(diag.ModelMalformed, err)
		return 0, nil, errs.Err()
	}
	opts.Timings.Mark("pack")
	defer opts.Timings.Mark("write")
	var n counter
	if err := pte.Write(files.writer(io.MultiWriter(w, &n)), x.Program); err != nil {
		return 0, nil, err
	}
	return int64(n), external, writeData(external, x.Program.SegmentAlignment, opts.Data)
}

// DefaultSpec is the spec of a program of one method, forward, from the file model: every default of the schema.
func DefaultSpec(model string) (*config.Spec, error) {
	return config.DefaultSpec([]config.Named{{Method: "forward", Model: model}})
}
