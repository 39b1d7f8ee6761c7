package runcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/cases"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

// verdict is the result of a call of a case.
type verdict struct {
	Case     int      `json:"case"`
	Call     int      `json:"call"`
	Method   string   `json:"method"`
	Checked  bool     `json:"checked"` // whether outputs were compared with the expected ones
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
}

// readCases reads the file of --case.
func (r *run) readCases() (*cases.File, error) {
	f, err := cases.Read(r.Cases)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, diag.New(diag.FileRead, r.Cases, "%w", err).WithHint("docs/cli.md says what a case file holds; examples/digits has one")
	}
	return f, nil
}

// runCases runs every case on an instance of its own. The error lists what differs and what failed.
func (r *run) runCases() error {
	f, err := r.readCases()
	if err != nil {
		return err
	}
	r.given = f.Paths()
	var errs diag.List
	for i := range f.Cases {
		inst, err := r.instance()
		if err != nil {
			return err
		}
		for j := range f.Cases[i].Calls {
			errs = append(errs, r.runCall(inst, f, i, j)...)
		}
		inst.Close()
	}
	for _, e := range errs {
		if e.Code != diag.ResultDiffers {
			return once(errs) // what ran is of no use, so nothing is written
		}
	}
	if err := r.writeFiles(); err != nil {
		return err
	}
	return errs.Err()
}

// once has the same fault of several calls said of the first of them: all calls of another program's file have it.
func once(errs diag.List) (list diag.List) {
	calls := map[string]int{}
	for _, e := range errs {
		if calls[e.Msg]++; calls[e.Msg] == 1 {
			list = append(list, e)
		}
	}
	for _, e := range list {
		if more := calls[e.Msg] - 1; more > 0 {
			e.WithMore(fmt.Sprintf("and in %d more of the calls", more))
		}
	}
	return list
}

// runCall runs one call of a case and gives what is wrong with it.
func (r *run) runCall(inst *executor.Instance, f *cases.File, i, j int) diag.List {
	c := &f.Cases[i].Calls[j]
	errs := r.tryCall(inst, f, c, fmt.Sprintf("case%d/call%d_", i, j))
	v := verdict{Case: i, Call: j, Method: c.Method, Checked: r.Check, OK: len(errs) == 0}
	for _, e := range errs {
		v.Problems = append(v.Problems, e.Msg)
	}
	r.report.Calls = append(r.report.Calls, v)
	if !r.JSON {
		word := "ran"
		switch {
		case !v.OK:
			word = "FAILED"
		case r.Check:
			word = "ok"
		}
		fmt.Fprintf(r.stdout, "case %d call %d %s: %s\n", i, j, c.Method, word)
	}
	return diag.At(fmt.Sprintf("%s: case %d call %d", r.Cases, i, j), diag.Bug, errs.Err())
}

// tryCall is runCall without what it prints; files whose names the call does not say get names that begin with prefix.
func (r *run) tryCall(inst *executor.Instance, f *cases.File, c *cases.Call, prefix string) (errs diag.List) {
	m, err := r.method(inst, c.Method)
	if err != nil {
		errs.Add(diag.NoMethod, err)
		return errs
	}
	inputs, err := f.LoadAll(c.Inputs)
	if err != nil {
		errs.Add(diag.FileRead, err)
		return errs
	}
	outs, err := r.call(m, c.Method, inputs)
	if err != nil {
		errs.Add(diag.RunInputs, err)
		return errs
	}
	errs.Add(diag.FileRead, r.keep(c, prefix, inputs, outs))
	if r.Check {
		errs = append(errs, check(f, c, inputs, outs)...)
	}
	return errs
}

// keep notes each output and mutated input under the name that the golden one has, or, if the call lists no outputs, all of them.
func (r *run) keep(c *cases.Call, prefix string, inputs, outs []executor.Value) error {
	if r.Output == "" {
		return nil
	}
	if len(c.Outputs) == 0 {
		for i := range outs {
			r.add(r.Output, outputName(prefix, i), &outs[i])
		}
	}
	extra := max(len(outs)-len(c.Outputs), 0)
	note := func(want *cases.Value, got *executor.Value) error {
		if want.NPY != "" && !filepath.IsLocal(filepath.FromSlash(want.NPY)) {
			return fmt.Errorf("the name %q leaves the folder of the cases", want.NPY)
		}
		r.add(r.Output, want.NPY, got)
		return nil
	}
	for i := range c.Outputs {
		if extra+i < len(outs) {
			if err := note(&c.Outputs[i], &outs[extra+i]); err != nil {
				return err
			}
		}
	}
	for i := range inputs {
		if want, ok := c.Mutated[i]; ok {
			if err := note(&want, &inputs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// check lists how the results of a call differ from the file's. Programs of the official lowering
// give inputs that they write back as extra first outputs.
func check(f *cases.File, c *cases.Call, inputs, outs []executor.Value) (errs diag.List) {
	differs := func(what string, err error) {
		if err != nil {
			errs = append(errs, diag.New(diag.ResultDiffers, what, "%w", err))
		}
	}
	extra := len(outs) - len(c.Outputs)
	if extra != 0 && extra != len(c.Mutated) {
		differs("", fmt.Errorf("got %d outputs, and the call lists %d", len(outs), len(c.Outputs)))
		return errs
	}
	for i := range c.Outputs {
		differs(name("output", i, &c.Outputs[i]), f.Compare(outs[extra+i], &c.Outputs[i]))
	}
	for i := range inputs {
		if want, ok := c.Mutated[i]; ok {
			differs(name("mutated input", i, &want), f.Compare(inputs[i], &want))
		}
	}
	return errs
}

func name(what string, i int, v *cases.Value) string {
	if v.NPY == "" {
		return fmt.Sprintf("%s %d", what, i)
	}
	return fmt.Sprintf("%s %d %s", what, i, filepath.Base(v.NPY))
}
