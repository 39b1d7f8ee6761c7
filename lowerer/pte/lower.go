package pte

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
)

func runLower(e *env, args []string) error {
	if len(args) > 0 {
		for _, s := range steps {
			if s.name == args[0] {
				s.name = "lower " + s.name
				return s.call(e, args[1:])
			}
		}
	}
	f := newFlags()
	out := f.String("o", "", "the program's `file`; by default the input's name with .pte, in this folder")
	dump := f.String("dump", "", "a `folder` for the text of every stage, and a page with them side by side")
	origins := originFlags(f)
	reportPath := f.String("report", "", "a `file` for the report that expect is held against")
	timingsPath := f.String("timings", "", "a `file` for the time that each part took")
	program := f.String("program", "", "the `name` of the program, where the spec has several")
	files := specFileFlags(f)
	models := pairs{}
	f.Var(models, "model", "the file of a model that the spec names, as `key=path`; repeatable")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if msg := lowerConflict(rest, *out, *program, files); msg != "" {
		return usageError(msg)
	}
	timings := lowerer.NewTimings()
	spec, err := specOf(e, rest, config.Options{Program: *program, Srcs: files.srcs, Imports: files.imports})
	if err != nil {
		return err
	}
	timings.Mark("cue")
	if *out == "" {
		*out = outputName(rest)
	}
	paths, err := modelPaths(spec, models)
	if err != nil {
		return err
	}
	inputs := slices.Concat(rest, files.paths(), pairs(paths).paths())
	outputs := []string{*out, *reportPath, origins.debug, origins.record, *timingsPath}
	if err := output.Apart(inputs, outputs); err != nil {
		return err
	}
	data := &dataBeside{inputs: inputs, outputs: outputs}
	if err := data.check(spec); err != nil {
		return err
	}
	stop := progress(e, "lowering "+rest[0])
	rep, err := lowerWhole(spec, paths, lowerOutputs{*out, *dump, *reportPath, origins, data}, timings)
	stop()
	if err == nil && *timingsPath != "" {
		err = writeFile(*timingsPath, timings.WriteJSON)
	}
	if err != nil {
		return err
	}
	warnIdle(e, spec, rep)
	fmt.Fprintf(e.stderr, "wrote %s, %s\n", *out, bench.Size(rep.FileBytes))
	sayWrote(e, slices.Concat(data.wrote, outputs[1:]))
	if *dump != "" {
		fmt.Fprintf(e.stderr, "wrote %s, and beside it the text of every stage\n", filepath.Join(*dump, "stages.html"))
	}
	return nil
}

// sayWrote names files that were written, and their sizes; "" among them is none.
func sayWrote(e *env, paths []string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		size := ""
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			size = ", " + bench.Size(info.Size())
		}
		fmt.Fprintf(e.stderr, "wrote %s%s\n", path, size)
	}
}

// warnIdle names the entries of partition that took nothing.
func warnIdle(e *env, spec *config.Spec, rep *report.Report) {
	for _, b := range spec.Partition {
		if rep.Delegation[b.ID.V] == nil {
			fmt.Fprintf(e.stderr, "warning: %s: %s takes no node; a report says why (--report, and pte inspect --delegation --report)\n", b.Pos, b.ID.V)
		}
	}
}

// lowerConflict says what is wrong with a command line, or nothing.
func lowerConflict(args []string, out, program string, files *specFiles) string {
	switch {
	case len(args) == 0 || strings.HasSuffix(args[0], ".cue"):
		return ""
	case len(args) > 1 && out == "":
		return "several models make one program; name its file by -o"
	case program != "" || len(files.srcs) > 0 || len(files.imports) > 0:
		return "--program, --src and --import go with a spec, and a model has none"
	}
	return ""
}

type lowerOutputs struct {
	program, dump, report string
	origins               *origins
	data                  *dataBeside
}

// lowerWhole lowers in one process. The report is written even if the program then misses `expect`.
func lowerWhole(spec *config.Spec, models map[string]string, out lowerOutputs, t *lowerer.Timings) (*report.Report, error) {
	var rep *report.Report
	opts := out.origins.options()
	opts.Dump, opts.Timings, opts.Data = out.dump, t, out.data.write
	err := writeFile(out.program, func(w io.Writer) error {
		var err error
		rep, err = lowerer.LowerFile(context.Background(), spec, models, w, opts)
		if rep != nil && out.report != "" {
			if err := writeFile(out.report, rep.Write); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		return out.origins.write(&opts)
	})
	return rep, err
}

// dataBeside writes data files into the folder of the program, as ExecuTorch does.
type dataBeside struct {
	inputs, outputs []string // what the command reads, and what it writes beside them, the program first
	wrote           []string
}

// path is the file of a name, which is none of the others.
func (d *dataBeside) path(name string) (string, error) {
	path := filepath.Join(filepath.Dir(d.outputs[0]), name+".ptd")
	return path, output.Apart(d.inputs, append(slices.Clone(d.outputs), path))
}

// check refuses the names that a spec gives, before anything is written.
func (d *dataBeside) check(spec *config.Spec) error {
	for _, c := range spec.ExternalConstants {
		if _, err := d.path(c.File.V); err != nil {
			return err
		}
	}
	return nil
}

func (d *dataBeside) write(name string, write func(w io.Writer) error) error {
	path, err := d.path(name) // which a backend may have given
	if err != nil {
		return err
	}
	d.wrote = append(d.wrote, path)
	return writeFile(path, write)
}

// origins are the files that say what instructions came from; "" for none.
type origins struct{ debug, record string }

func originFlags(f flags) *origins {
	o := &origins{}
	f.StringVar(&o.debug, "debug", "", "a `file` for what each instruction came from, which run and compare read")
	f.StringVar(&o.record, "etrecord", "", "an ETRecord `file`, which ExecuTorch's Inspector reads beside a trace")
	return o
}

// options let the lowering collect what the files need.
func (o *origins) options() (opts lowerer.Options) {
	if o.debug != "" || o.record != "" {
		opts.Debug = lowerer.NewDebugInfo()
	}
	if o.record != "" {
		opts.Record = &lowerer.Record{}
	}
	return opts
}

// write writes the files from what was collected in opts.
func (o *origins) write(opts *lowerer.Options) error {
	if o.debug != "" {
		if err := writeFile(o.debug, opts.Debug.Write); err != nil {
			return err
		}
	}
	if o.record == "" {
		return nil
	}
	return writeFile(o.record, func(w io.Writer) error { return opts.Record.Write(w, opts.Debug) })
}

// loadSpecOf is config.Load, and the checks that the schema cannot make.
func loadSpecOf(e *env, path string, opts config.Options) (*config.Spec, error) {
	opts.Backends = e.backends.AOT
	spec, err := config.Load(path, opts)
	if err != nil {
		return nil, err
	}
	return spec, lowerer.CheckSpec(spec)
}

// specOf loads the spec that the arguments name, or makes the default one for bare models.
func specOf(e *env, args []string, opts config.Options) (*config.Spec, error) {
	if len(args) == 0 {
		return nil, usageError("want a spec or a model")
	}
	if strings.HasSuffix(args[0], ".cue") {
		if len(args) > 1 {
			return nil, usageError("a spec names its models itself; want one argument")
		}
		return loadSpecOf(e, args[0], opts)
	}
	var models []config.Named
	seen := map[string]bool{}
	for _, a := range args {
		m := config.Named{Method: "forward", Model: a}
		if name, path, ok := strings.Cut(a, "="); ok {
			m = config.Named{Method: name, Model: path}
		}
		if seen[m.Method] {
			return nil, usageError(fmt.Sprintf("method %q is given twice; write name=model.pt2", m.Method))
		}
		seen[m.Method] = true
		models = append(models, m)
	}
	return config.DefaultSpec(models)
}

// outputName is the input's name, in the current directory, with .pte: detector.pte.cue and detector.pt2 both
// give detector.pte.
func outputName(args []string) string {
	name := args[0]
	if _, path, ok := strings.Cut(name, "="); ok {
		name = path
	}
	name = filepath.Base(name)
	for _, ext := range []string{".cue", ".pte", ".pt2"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name + ".pte"
}

// modelPaths gives each of the spec's models a file: the one given for its key, else the path beside the spec.
func modelPaths(spec *config.Spec, given pairs) (map[string]string, error) {
	var errs diag.List
	paths := map[string]string{}
	for _, m := range spec.Methods {
		model := m.Model.V
		path, ok := given[model]
		if !ok {
			path = spec.ModelPath(model)
		}
		if _, err := os.Stat(path); err != nil && paths[model] == "" {
			errs = append(errs, missingModel(spec, m, path, err))
		}
		paths[model] = path
	}
	for key := range given {
		if paths[key] == "" {
			errs = append(errs, diag.New(diag.UnknownModel, "", "--model %s: no method has this model; there is %s",
				key, strings.Join(spec.Models(), ", ")))
		}
	}
	errs.Sort()
	return paths, errs.Err()
}

func missingModel(spec *config.Spec, m config.MethodSpec, path string, err error) *diag.Error {
	if spec.Path == "" {
		return diag.New(diag.ModelRead, path, "%w", pathCause(err)).WithHint("%s", beside(path))
	}
	return diag.New(diag.UnknownModel, spec.Where(m.Model.Pos), "model %q: %s: %w", m.Model.V, path, pathCause(err)).
		WithHint("%s", beside(path))
}

// beside proposes a model in the folder of path.
func beside(path string) string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.pt2"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	if near := diag.Nearest(filepath.Base(path), found); near != "" {
		return fmt.Sprintf("did you mean %q? it lies there", near)
	}
	return "check the path; it counts from the folder of the spec, or from where you stand"
}

func readReport(path string) (*report.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.New(diag.FileRead, path, "%w", pathCause(err))
	}
	defer f.Close()
	rep, err := report.Read(f)
	if err != nil {
		return nil, diag.New(diag.StaleStep, path, "%w", err).WithHint("it is what `pte lower program --report` writes")
	}
	return rep, nil
}
