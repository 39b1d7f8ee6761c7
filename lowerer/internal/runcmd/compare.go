package runcmd

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/executor"
)

// CompareOptions are what the command line of "pte compare" says.
type CompareOptions struct {
	// Options hold the inputs and how programs run; Program is not used.
	Options
	// A and B are the programs, DebugA and DebugB their debug files.
	A, B, DebugA, DebugB string
	// Limit is the largest error that is no difference.
	Limit float64
}

// defaultLimit is about what different orders of summation make of float32.
const defaultLimit = 1e-4

// Define adds the flags to f.
func (o *CompareOptions) Define(f *flag.FlagSet) {
	o.defineCalls(f)
	f.StringVar(&o.DebugA, "debug-a", "", "the debug `file` of the first program; by default NAME.debug.json beside it")
	f.StringVar(&o.DebugB, "debug-b", "", "the debug `file` of the second program")
	f.Float64Var(&o.Limit, "limit", defaultLimit, "the largest `error`, as a share of the largest value of a tensor; by default 0.0001")
}

// Conflict says what is wrong with o as a command line, or nothing.
func (o *CompareOptions) Conflict() string {
	if !(o.Limit >= 0) {
		return "--limit wants no negative number"
	}
	return o.Options.Conflict()
}

// comparison is what --json prints.
type comparison struct {
	Limit float64 `json:"limit"`
	// First is the index in Rows of the first node that differs, in the order in which the first program runs; -1 for none.
	First int       `json:"first"`
	Rows  []outcome `json:"rows"`
	// Problems say why there are no rows.
	Problems []string `json:"problems,omitempty"`
}

// Compare is "pte compare" with the kernels and backends of load: it runs two programs on the same inputs and holds what
// their nodes make against each other. The error is ResultDiffers with the first node that differs, or says what failed.
func Compare(o *CompareOptions, load executor.LoadOptions, stdout io.Writer) error {
	c, handles, err := o.compare(load)
	var wrong diag.List
	wrong.Add("", err)
	for _, e := range wrong {
		c.Problems = append(c.Problems, e.Error())
	}
	switch {
	case o.JSON:
		err = errors.Join(json.NewEncoder(stdout).Encode(c), err)
	case err == nil:
		c.print(stdout, o, handles)
	}
	if err != nil || c.First < 0 {
		return err
	}
	return c.Rows[c.First].fault(o)
}

// compare gives the rows, and whether both programs have debug handles.
func (o *CompareOptions) compare(load executor.LoadOptions) (c comparison, handles bool, err error) {
	c = comparison{Limit: o.Limit, First: -1, Rows: []outcome{}}
	a, err := o.record(o.A, o.DebugA, load)
	if err != nil {
		return c, false, err
	}
	b, err := o.record(o.B, o.DebugB, load)
	if err != nil {
		return c, false, err
	}
	if err := sameNodes(a, b); err != nil {
		return c, false, diag.New(diag.StaleStep, debugPath(o.DebugB, o.B), "%w", err).WithHint("both programs have to come from the same exported graph")
	}
	c.Rows = align(a, b)
	for i := range c.Rows {
		c.Rows[i].Differs = c.Rows[i].over(o.Limit)
		if c.Rows[i].Differs && c.First < 0 {
			c.First = i
		}
	}
	return c, a.debug != nil && b.debug != nil, nil
}

// fault says that r is the first difference.
func (r *outcome) fault(o *CompareOptions) error {
	what := r.What
	if r.Node != "" {
		what = "node " + r.Node + " (" + r.Op + ")"
	}
	if r.Module != "" {
		what += " of module " + r.Module
	}
	e := diag.New(diag.ResultDiffers, r.Where, "%s differs between %s and %s: error %s, the limit is %v", what, filepath.Base(o.A), filepath.Base(o.B), r.text(), o.Limit)
	if r.Note != "" {
		e.Msg += ": " + r.Note
	}
	return e
}

// print writes a table with a line for each node, in the order in which the first program runs.
func (c *comparison) print(w io.Writer, o *CompareOptions, handles bool) {
	if !handles {
		a, b := debugPath(o.DebugA, o.A), debugPath(o.DebugB, o.B)
		if a == b {
			fmt.Fprintf(w, "outputs only: %s is missing; `pte lower --debug` makes it\n", a)
		} else {
			fmt.Fprintf(w, "outputs only: %s or %s is missing; `pte lower --debug` makes them\n", a, b)
		}
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	several := slices.ContainsFunc(c.Rows, func(r outcome) bool { return r.Call > 0 })
	if several {
		fmt.Fprint(t, "call\t")
	}
	fmt.Fprintln(t, "handle\tnode\toperator\terror\t\tplace")
	for i := range c.Rows {
		r := &c.Rows[i]
		if several {
			fmt.Fprintf(t, "%d\t", r.Call)
		}
		handle, mark := "", ""
		if r.Handle > 0 {
			handle = fmt.Sprint(r.Handle)
		}
		switch {
		case r.Note != "":
			mark = r.Note
		case r.Differs:
			mark = "over the limit"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", handle, r.What, r.Op, r.text(), mark, r.Where)
	}
	t.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	if !slices.ContainsFunc(c.Rows, func(r outcome) bool { return r.Differs }) {
		fmt.Fprintf(w, "nothing differs by more than the limit, %v\n", o.Limit)
	}
}

// record runs a program on the inputs of o and keeps every value.
func (o *CompareOptions) record(program, debug string, load executor.LoadOptions) (*trace, error) {
	opts := o.Options
	opts.Program = program
	r := &run{Options: &opts, stdout: io.Discard, gen: etdump.New(etdump.IntermediateOutputs)}
	if err := r.load(load); err != nil {
		return nil, err
	}
	defer r.program.Close()
	if err := r.all(); err != nil {
		return nil, err
	}
	return r.traceWith(debug)
}
