package pte

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
)

// steps are the parts of lower, for build systems: each reads what the one before wrote.
var steps = []command{
	{"split", "--model key=path.pt2 -o graph.pt2s", "graph and weight table of a model", runSplit},
	{"program", "(--spec spec.cue [--program name] | --values spec.json --places places.json) --graph key=graph.pt2s ... -o prog.ptep --report report.json", "lower to a program without weights", runProgram},
	{"check", "--spec spec.cue [--src more.cue ...] [--program name] --report report.json -o ok.marker", "hold the report against expect", runCheck},
	{"pack", "--program prog.ptep --model key=path.pt2 ... [--check ok.marker] -o out.pte --manifest manifest.json", "evaluate the constants and write the program", runPack},
}

func runSplit(e *env, args []string) error {
	f := newFlags()
	out := f.String("o", "", "the `file` for the graph")
	models := pairs{}
	f.Var(models, "model", "the .pt2 of a model, as `key=path`")
	if err := parseOnlyFlags(f, args, "model", "o"); err != nil {
		return err
	}
	path, err := models.only()
	if err != nil {
		return err
	}
	return writeApart(*out, []string{path}, func(w io.Writer) error { return lowerer.SplitFile(path, w) })
}

func runProgram(e *env, args []string) error {
	f := newFlags()
	src := specFlags(f)
	resolved := resolvedFlags(f, "to read in place of a spec")
	unused := f.String("unused", "", "the `file` for the names of inputs that the result does not depend on, for Bazel's unused_inputs_list")
	out, reportPath := f.String("o", "", "the `file` for the lowered program, without its weights"), f.String("report", "", "the `file` of the report")
	origins := originFlags(f)
	graphs := pairs{}
	f.Var(graphs, "graph", "what split wrote for a model, as `key=path`; repeatable")
	if err := parseOnlyFlags(f, args, "graph", "o", "report"); err != nil {
		return err
	}
	if (*src.path == "") == (*resolved.values == "") || *resolved.values != "" && *resolved.places == "" {
		return usageError("want --spec, or --values and --places")
	}
	inputs := slices.Concat(src.paths(), []string{*resolved.values, *resolved.places}, graphs.paths())
	if err := output.Apart(inputs, []string{*out, *reportPath, *unused, origins.debug, origins.record}); err != nil {
		return err
	}
	spec, err := programSpec(e, src, resolved)
	if err != nil {
		return err
	}
	if err := checkGraphs(spec, graphs); err != nil {
		return err
	}
	return writeFile(*out, func(w io.Writer) error {
		if err := resolved.writeUnused(*unused); err != nil {
			return err
		}
		opts := origins.options()
		rep, err := lowerer.ProgramStep(spec, graphs, w, opts)
		if err != nil {
			return err
		}
		if err := origins.write(&opts); err != nil {
			return err
		}
		warnIdle(e, spec, rep)
		return writeFile(*reportPath, rep.Write)
	})
}

// checkGraphs holds the keys given against the models that the spec names.
func checkGraphs(spec *config.Spec, graphs pairs) error {
	var errs diag.List
	for _, m := range spec.Methods {
		if graphs[m.Model.V] == "" {
			e := diag.New(diag.UnknownModel, spec.Where(m.Model.Pos), "no graph for model %q", m.Model.V)
			e.WithHint("in Bazel, list the model in models, which has %s; else give --graph %s=PATH",
				strings.Join(slices.Sorted(maps.Keys(graphs)), ", "), m.Model.V)
			errs = append(errs, e)
		}
	}
	return errs.Err()
}

func runCheck(e *env, args []string) error {
	f := newFlags()
	src := specFlags(f)
	out, reportPath := f.String("o", "", "the `file` that says that the check passed"), f.String("report", "", "the `file` of the report")
	vetted := f.String("vetted", "", "the `file` that vet wrote with --marker; if it says that nothing is expected, the spec is not read")
	if err := parseOnlyFlags(f, args, "spec", "report", "o"); err != nil {
		return err
	}
	if err := output.Apart(append(src.paths(), *reportPath, *vetted), []string{*out}); err != nil {
		return err
	}
	switch nothing, err := readVetted(*vetted); {
	case err != nil:
		return err
	case nothing:
		return writeMarker(*out, nil)
	}
	spec, err := src.load(e)
	if err != nil {
		return err
	}
	rep, err := readReport(*reportPath)
	if err != nil {
		return err
	}
	pending, err := config.CheckExpect(spec, rep)
	if err != nil {
		return err
	}
	return writeMarker(*out, pending)
}

// What vet says in its marker.
const (
	vettedNothing = "ok, nothing is expected\n"
	vettedExpect  = "ok\n"
)

// writeVetted writes what says that specs are valid, and whether one of them has an `expect`.
func writeVetted(path string, specs []*config.Spec) error {
	text := vettedNothing
	if slices.ContainsFunc(specs, (*config.Spec).Expects) {
		text = vettedExpect
	}
	return writeFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// readVetted reports whether a marker of writeVetted says that nothing is expected; without one something may be.
func readVetted(path string) (nothing bool, err error) {
	if path == "" {
		return false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, diag.New(diag.FileRead, path, "%w", pathCause(err))
	}
	return string(data) == vettedNothing, nil
}

// writeMarker writes what says that a check passed, and what it left to pack.
func writeMarker(path string, pending []config.Pending) error {
	return writeFile(path, func(w io.Writer) error { return config.WriteMarker(w, pending) })
}

// readMarker is what the check left to pack; nothing without a marker.
func readMarker(path string) ([]config.Pending, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.New(diag.FileRead, path, "%w", pathCause(err))
	}
	pending, err := config.ReadMarker(data)
	if err != nil {
		return nil, diag.New(diag.StaleStep, path, "%w", err)
	}
	return pending, nil
}

func runPack(e *env, args []string) error {
	f := newFlags()
	program, manifest := f.String("program", "", "the `file` that program wrote"), f.String("manifest", "", "a `file` for the list of kernels that the program needs")
	out := f.String("o", "", "the program's `file`")
	check := f.String("check", "", "the `file` that check wrote")
	models, data := pairs{}, pairs{}
	f.Var(data, "data", "the file for a data file of the program, as `name=path`; repeatable")
	f.Var(models, "model", "the .pt2 of a model, as `key=path`; repeatable")
	if err := parseOnlyFlags(f, args, "program", "o", "manifest"); err != nil {
		return err
	}
	if err := output.Apart(append(models.paths(), *program, *check), append([]string{*out, *manifest}, data.paths()...)); err != nil {
		return err
	}
	pending, err := readMarker(*check)
	if err != nil {
		return err
	}
	declared := dataFiles{paths: data}
	return writeFile(*out, func(w io.Writer) error {
		m, err := lowerer.PackStep(*program, models, pending, w, lowerer.Options{Data: declared.write, Runtime: e.backends.Runtime})
		if err != nil {
			return err
		}
		if err := declared.unwritten(m.DataFiles); err != nil {
			return err
		}
		return writeFile(*manifest, m.Write)
	})
}

// dataFiles are the paths of data files that a build declares, by name.
type dataFiles struct{ paths pairs }

func (d dataFiles) write(name string, write func(w io.Writer) error) error {
	path, ok := d.paths[name]
	if !ok {
		return diag.New(diag.UndeclaredData, "", "the program has constants in a data file %q, and no file is declared for it", name).
			WithHint("in Bazel, list it in data_files; else give --data %s=PATH", name)
	}
	return writeFile(path, write)
}

// unwritten is an error for the files that the program does not have.
func (d dataFiles) unwritten(names []string) error {
	var errs diag.List
	for _, name := range slices.Sorted(maps.Keys(d.paths)) {
		if !slices.Contains(names, name) {
			errs = append(errs, diag.New(diag.UndeclaredData, "", "the program has no data file %q; it has %q", name, names).
				WithHint("name it in external_constants of the spec, or take it out of data_files"))
		}
	}
	return errs.Err()
}

func parseOnlyFlags(f flags, args []string, required ...string) error {
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError("unexpected argument " + rest[0])
	}
	return f.required(required...)
}
