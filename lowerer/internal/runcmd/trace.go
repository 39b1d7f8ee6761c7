package runcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/lowerer/internal/etrecord"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// row is an event of a trace as --trace writes it.
type row struct {
	// Call counts the calls from 0; -1 stands for making the instance.
	Call   int    `json:"call"`
	Method string `json:"method"`
	// Instruction is the place in the method; nil for the method as a whole.
	Instruction *int `json:"instruction,omitempty"`
	// Fused are the instructions that run as this one, itself too, if there are several.
	Fused []int `json:"fused,omitempty"`
	// Name is the operator, for a delegate's step its name or number.
	Name string `json:"name"`
	// Backend is the id of the delegate's backend.
	Backend string `json:"backend,omitempty"`
	// Detail is what the backend says about its step.
	Detail  string `json:"detail,omitempty"`
	StartNS int64  `json:"start_ns"`
	NS      int64  `json:"ns"`
	// Handles are the debug handles of Nodes, the exported nodes that this came from; Module and Where are the last one's.
	Handles []int    `json:"debug_handles,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Module  string   `json:"module,omitempty"`
	Where   string   `json:"where,omitempty"`
}

// trace is a recording with what the events belong to.
type trace struct {
	gen   *etdump.Gen
	file  *pte.Program
	debug *debuginfo.File // or nil
	calls []string        // the methods called, in order
}

// planOf is the method called name, without which a trace has no events of it.
func (t *trace) planOf(name string) *pte.ExecutionPlan {
	i := slices.IndexFunc(t.file.Plans, func(p *pte.ExecutionPlan) bool { return p.Name == name })
	return t.file.Plans[i]
}

// each calls visit with every block of events: call is the number of the call, or -1, and plan the method.
func (t *trace) each(visit func(call int, plan *pte.ExecutionPlan, events []etdump.Event)) {
	made, called := 0, 0
	for _, r := range t.gen.Runs {
		if r.Name == "Execute" {
			visit(called, t.planOf(t.calls[called]), r.Events)
			called++
			continue
		}
		visit(-1, t.file.Plans[made%len(t.file.Plans)], r.Events)
		made++
	}
}

// rows are the spans of time among the events.
func (t *trace) rows() (rows []row) {
	t.each(func(call int, plan *pte.ExecutionPlan, events []etdump.Event) {
		for i := range events {
			if events[i].Kind == etdump.Profile {
				rows = append(rows, t.row(call, plan, &events[i]))
			}
		}
	})
	return rows
}

func (t *trace) row(call int, plan *pte.ExecutionPlan, e *etdump.Event) row {
	r := row{Call: call, Method: plan.Name, Name: e.Name, StartNS: e.Start, NS: e.End - e.Start, Detail: printable(e.Metadata)}
	if e.Chain < 0 {
		return r
	}
	r.Instruction, r.Fused = &e.Instruction, e.Fused
	ran := e.Fused
	if len(ran) == 0 {
		ran = []int{e.Instruction}
	}
	in := &plan.Chains[e.Chain].Instructions[e.Instruction]
	switch {
	case in.Type == pte.KernelCall:
		r.Name = bench.Operators(plan, e.Chain, ran, strings.TrimPrefix(r.Name, "native_call_"))
	case in.Type == pte.DelegateCall && len(ran) == 1:
		r.Backend = plan.Delegates[in.A].ID
	}
	step := stepOf(e)
	if step != "" {
		r.Name = step
	}
	if e.Chain > 0 { // only the first chain has debug handles
		return r
	}
	for _, i := range ran {
		for _, h := range t.debug.Of(plan.Name, i, step) {
			if !slices.Contains(r.Handles, h) {
				r.Handles = append(r.Handles, h)
			}
		}
	}
	for _, h := range r.Handles {
		if n := t.debug.Node(plan.Name, h); n != nil {
			r.Nodes, r.Module, r.Where = append(r.Nodes, n.Name), n.Module, n.Where
		}
	}
	return r
}

// stepOf is the name or the number of a delegate's step, or "" for an event of the executor.
func stepOf(e *etdump.Event) string {
	if e.DelegateID != etdump.NoDelegateID {
		return strconv.FormatInt(e.DelegateID, 10)
	}
	return e.DelegateName
}

// printable is metadata as text, or "" if it is none.
func printable(metadata []byte) string {
	s := string(metadata)
	if strings.ContainsFunc(s, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}

// chromeEvent is a complete event of Chrome's trace format; times are in microseconds.
type chromeEvent struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat"`
	Phase string  `json:"ph"`
	TS    float64 `json:"ts"`
	Dur   float64 `json:"dur"`
	PID   int     `json:"pid"`
	TID   int     `json:"tid"`
	Args  row     `json:"args"`
}

// traceFile is the JSON of --trace: a table, and the same rows as chrome://tracing and Perfetto read them.
type traceFile struct {
	Program     string        `json:"program"`
	Rows        []row         `json:"rows"`
	Unit        string        `json:"displayTimeUnit"`
	TraceEvents []chromeEvent `json:"traceEvents"`
}

func (t *trace) writeJSON(w io.Writer, program string) error {
	f := traceFile{Program: filepath.Base(program), Rows: t.rows(), Unit: "ns"}
	for _, r := range f.Rows {
		e := chromeEvent{Name: r.Name, Cat: "method", Phase: "X", TS: float64(r.StartNS) / 1e3, Dur: float64(r.NS) / 1e3, PID: 1, TID: 1, Args: r}
		switch {
		case r.Instruction != nil && r.Backend == "":
			e.Cat = "kernel"
		case r.Backend != "":
			e.Cat = r.Backend
		}
		if len(r.Nodes) > 0 && r.Name != "DELEGATE_CALL" {
			e.Name = strings.Join(r.Nodes, " ") + " " + r.Name
		}
		f.TraceEvents = append(f.TraceEvents, e)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(f)
}

// writeETDump writes an ETDump, and to buffer, unless it is nil, the bytes of the tensors that it refers to.
func (t *trace) writeETDump(w, buffer io.Writer) error {
	dump, values := t.gen.Marshal()
	if buffer != nil {
		if _, err := buffer.Write(values); err != nil {
			return err
		}
	}
	_, err := w.Write(dump)
	return err
}

const etdumpExt = ".etdp"

// debugLevel is which values a trace keeps: all of them if there is a file for them.
func debugLevel(buffer string) etdump.DebugLevel {
	if buffer == "" {
		return etdump.NoLogging
	}
	return etdump.IntermediateOutputs
}

// traceWith is what was recorded, with the debug file that was given or lies beside the program, or without if there is an error.
func (r *run) traceWith(debug string) (*trace, error) {
	file := r.program.File()
	info, err := readDebug(debug, r.Program, file)
	return &trace{gen: r.gen, file: file, debug: info, calls: r.called}, err
}

// writeTrace writes the files of --trace, an ETDump if its extension is .etdp, else JSON, and --debug-buffer; they are nil without these.
func (r *run) writeTrace(w, buffer io.Writer) error {
	if w == nil {
		return nil
	}
	t, err := r.traceWith(r.Debug)
	if err != nil && r.Debug != "" {
		return err
	}
	if filepath.Ext(r.Trace) == etdumpExt {
		return t.writeETDump(w, buffer)
	}
	if err != nil { // of a file that lies there, which nobody has asked for
		fmt.Fprintf(r.Stderr, "warning: %v; the trace names no nodes: `pte lower --debug` writes the file anew\n", err)
	}
	return t.writeJSON(w, r.Program)
}

// debugPath is the file of `pte lower --debug` for a program: the one that was given, or NAME.debug.json beside it.
func debugPath(given, program string) string {
	if given != "" {
		return given
	}
	return strings.TrimSuffix(program, ".pte") + ".debug.json"
}

// readDebug is the debug file of a program, or its ETRecord; without one that was given and without one beside the program
// it is nil.
func readDebug(given, program string, file *pte.Program) (*debuginfo.File, error) {
	path := debugPath(given, program)
	read := debuginfo.Read
	if etrecord.Is(path) {
		read = etrecord.Read
	}
	f, err := read(path)
	if err != nil {
		if given == "" && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, diag.New(diag.FileRead, path, "%w", output.Cause(err)).WithHint("`pte lower --debug FILE` writes it")
	}
	if err := f.Check(file); err != nil {
		hint := "write it anew, in the same call of `pte lower` as " + filepath.Base(program)
		if given == "" {
			hint += ", or remove it: outputs alone are compared then"
		}
		return nil, diag.New(diag.StaleStep, path, "%w", err).WithHint("%s", hint)
	}
	return f, nil
}
