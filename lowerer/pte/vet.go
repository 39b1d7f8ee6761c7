package pte

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
)

// vetted is one program as --json prints it.
type vetted struct {
	Program string                 `json:"program"`
	Methods []lowerer.MethodInputs `json:"methods"`
}

func runVet(e *env, args []string) error {
	f := newFlags()
	marker := f.String("marker", "", "a `file` to write if all is well, for build systems")
	program := f.String("program", "", "the `name` of the program to check, instead of all of them")
	asJSON := f.Bool("json", false, "print the inputs as JSON")
	resolved := resolvedFlags(f, "to write, for the step program")
	files := specFileFlags(f)
	library := f.Bool("library", false, "check a package that others import, which may have no program; the models need not be there")
	noModels := f.Bool("no-models", false, "check the spec alone; the models need not be there")
	models := pairs{}
	f.Var(models, "model", "the file of a model that the spec names, as `key=path`; repeatable")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usageError("want one spec")
	case *library && (*program != "" || *asJSON || len(models) > 0 || *resolved.values != ""):
		return usageError("--library leaves nothing for --program, --json, --model or --values")
	case *noModels && (*asJSON || len(models) > 0):
		return usageError("--no-models leaves nothing for --json or --model")
	}
	if err := output.Apart(slices.Concat(rest, files.paths(), models.paths()), []string{*marker, *resolved.values, *resolved.places}); err != nil {
		return err
	}
	options := config.Options{Program: *program, Srcs: files.srcs, Imports: files.imports, Backends: e.backends.AOT}
	load := config.LoadAll
	if *library {
		load = config.LoadLibrary
	}
	specs, err := load(rest[0], options)
	if err != nil {
		return err
	}
	all, err := vet(specs, models, *noModels || *library)
	if err != nil {
		return err
	}
	if err := printVetted(e, all, *asJSON); err != nil {
		return err
	}
	if err := resolved.write(specs, rest[0], options); err != nil || *marker == "" {
		return err
	}
	return writeVetted(*marker, specs)
}

// vet checks the specs together with the graphs of their models, and gives the inputs of the methods. With noModels it
// checks the specs alone.
func vet(specs []*config.Spec, models pairs, noModels bool) ([]vetted, error) {
	var all []vetted
	var errs diag.List
	known := map[string]bool{}
	for _, spec := range specs {
		if noModels {
			errs.Add(diag.UnknownPass, lowerer.CheckSpec(spec))
			continue
		}
		mine := pairs{}
		for _, key := range spec.Models() {
			if known[key] = true; models[key] != "" {
				mine[key] = models[key]
			}
		}
		inputs, err := vetModels(spec, mine)
		errs.Add(diag.ModelMalformed, err)
		all = append(all, vetted{spec.Name.V, inputs})
	}
	for key := range models {
		if !known[key] {
			errs = append(errs, diag.New(diag.UnknownModel, "", "--model %s: no method has this model", key))
		}
	}
	errs.Sort()
	return all, errs.Err()
}

// vetModels opens the graphs of the spec's models, once the spec and the files' names are right.
func vetModels(spec *config.Spec, given pairs) ([]lowerer.MethodInputs, error) {
	var errs diag.List
	paths, err := modelPaths(spec, given)
	errs.Add(diag.UnknownModel, err)
	errs.Add(diag.UnknownPass, lowerer.CheckSpec(spec))
	if len(errs) > 0 {
		return nil, errs
	}
	l, err := lowerer.Load(spec, paths)
	if err != nil {
		return nil, err
	}
	return l.Inputs(), nil
}

func printVetted(e *env, all []vetted, asJSON bool) error {
	if asJSON {
		return printJSON(e, map[string]any{"programs": all})
	}
	for _, p := range all {
		for _, m := range p.Methods {
			printMethod(e.stdout, p.Program, &m)
		}
	}
	return nil
}

func printMethod(w io.Writer, program string, m *lowerer.MethodInputs) {
	if program != "" {
		program += ": "
	}
	fmt.Fprintf(w, "%smethod %s of %s\n", program, m.Method, m.Model)
	for _, in := range m.Inputs {
		if in.Kind != "tensor" {
			fmt.Fprintf(w, "  %s\n", strings.TrimSpace(in.Name+" "+in.Kind))
			continue
		}
		fmt.Fprintf(w, "  %s %s [%s]\n", in.Name, in.DType, strings.Join(in.Sizes, ", "))
		for _, d := range in.Dynamic {
			printDynamic(w, m.Method, in.Name, &d)
		}
	}
}

// printDynamic prints a dimension, and, if nothing bounds it, how to.
func printDynamic(w io.Writer, method, input string, d *lowerer.Dynamic) {
	if d.Max != nil {
		fmt.Fprintf(w, "    dimension %d: %s is %d to %d\n", d.Dim, d.Size, d.Min, *d.Max)
		return
	}
	fmt.Fprintf(w, "    dimension %d: %s is %d or more, without a bound\n", d.Dim, d.Size, d.Min)
	if !d.Symbol() {
		return
	}
	fmt.Fprintf(w, "      hint: methods: %s: dynamic_shapes: %s: \"%d\": max: %d\n", label(method), label(input), d.Dim, d.Suggest())
}

// label is a name as CUE writes a field's.
func label(name string) string {
	if slices.ContainsFunc([]byte(name), func(c byte) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) || name == "" || name[0] <= '9' {
		return strconv.Quote(name)
	}
	return name
}
