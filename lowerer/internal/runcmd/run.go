// Package runcmd is the commands "pte run" and "pte inspect".
package runcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/lowerer/internal/output"
	"github.com/rules-pte/rules_pte/runtime/etdump"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/executor/runner"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Options are what the command line of "pte run" says.
type Options struct {
	Program, Method, Output, Cases string
	Inputs, Data                   []string
	Bench, Threads                 int
	MaxMemory                      int64
	JSON, Check                    bool
	// WeightCache is the file for weightcache.File, or ""; what becomes of it goes to Stderr, as do warnings.
	WeightCache string
	Stderr      io.Writer
	// Trace is where the trace goes, DebugBuffer the tensors that it refers to; Debug is the program's debug file.
	Trace, DebugBuffer, Debug string
}

// Define adds the flags to f.
func (o *Options) Define(f *flag.FlagSet) {
	o.defineCalls(f)
	o.defineCache(f)
	f.StringVar(&o.Output, "output", "", "a `folder` for the outputs as .npy files")
	f.IntVar(&o.Bench, "bench", 0, "also time `N` calls")
	f.BoolVar(&o.Check, "check", false, "hold the results of --case against its file")
	f.StringVar(&o.Trace, "trace", "", "a `file` for the time of each instruction and step: ETDump if it ends in .etdp, else JSON that Perfetto reads, too")
	f.StringVar(&o.DebugBuffer, "debug-buffer", "", "a `file` for the values of every instruction, which an ETDump refers to")
	f.StringVar(&o.Debug, "debug", "", "the debug `file` of the program, for --trace; by default NAME.debug.json beside it")
}

// defineCalls adds the flags that say what to call and how.
func (o *Options) defineCalls(f *flag.FlagSet) {
	f.StringVar(&o.Method, "method", "", "the `name` of the method; by default forward, or the only one")
	f.Func("input", "an `input`: FILE.npy, int:N, float:X, bool:B, str:S or none; once for each", func(s string) error {
		o.Inputs = append(o.Inputs, s)
		return nil
	})
	f.Func("data", "a data `file` (.ptd) that belongs to the program; repeatable", func(s string) error {
		o.Data = append(o.Data, s)
		return nil
	})
	f.StringVar(&o.Cases, "case", "", "a `file` of calls with expected results, instead of --input")
	f.IntVar(&o.Threads, "threads", 0, "how many `threads` kernels use; by default one for each CPU")
	o.MaxMemory = executor.DefaultMaxMemory
	f.Func("max-memory", "the most `bytes` that the program may take, such as 512MiB; by default 4GiB", func(s string) (err error) {
		o.MaxMemory, err = parseBytes(s)
		return err
	})
	f.BoolVar(&o.JSON, "json", false, "print JSON")
}

// defineCache adds the flag for a command that loads one program.
func (o *Options) defineCache(f *flag.FlagSet) {
	f.StringVar(&o.WeightCache, "weight-cache", "", "a `file` that keeps packed weights for the next load; it is written if it does not fit")
}

// Conflict says what is wrong with o as a command line, or nothing.
func (o *Options) Conflict() string {
	if o.Cases != "" && o.Method != "" {
		return "--case names the methods itself; leave out --method"
	}
	return o.conflict()
}

// conflict is Conflict of a command that makes one call of a case file alone.
func (o *Options) conflict() string {
	switch {
	case o.Check && o.Cases == "":
		return "--check needs --case"
	case o.Cases != "" && len(o.Inputs) > 0:
		return "--case has inputs of its own; leave out --input"
	case o.Cases != "" && o.Bench > 0:
		return "--bench times one call; leave out --case"
	case o.Trace != "" && o.Bench > 0:
		return "--trace makes calls slower; leave out --bench"
	case o.DebugBuffer != "" && filepath.Ext(o.Trace) != etdumpExt:
		return "--debug-buffer needs --trace FILE" + etdumpExt
	case o.Debug != "" && o.Trace == "":
		return "--debug needs --trace"
	case o.MaxMemory <= 0:
		return "--max-memory is " + strconv.FormatInt(o.MaxMemory, 10) + ", want 1 or more"
	}
	if msg := runsConflict("--bench", o.Bench); msg != "" {
		return msg
	}
	return ThreadsConflict(o.Threads)
}

// mostRuns is the largest number of calls to time: the time of each is kept.
const mostRuns = 1_000_000

// runsConflict says what is wrong with a number of calls to time, or nothing.
func runsConflict(flag string, n int) string {
	if n < 0 || n > mostRuns {
		return flag + " is " + strconv.Itoa(n) + ", want 0 to " + strconv.Itoa(mostRuns)
	}
	return ""
}

// byteUnits are the units of sizes in bytes.
var byteUnits = map[string]int64{
	"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

var errBytes = errors.New("want a whole number of bytes, with or without a unit such as KiB, MiB or GiB")

// parseBytes reads a size such as 4096, 64MiB or 2GB.
func parseBytes(s string) (int64, error) {
	number := strings.TrimRightFunc(s, unicode.IsLetter)
	n, err := strconv.ParseInt(number, 10, 64)
	unit, known := byteUnits[s[len(number):]]
	if err != nil || !known || n > math.MaxInt64/unit || n < -math.MaxInt64/unit {
		return 0, errBytes
	}
	return n * unit, nil
}

// MostThreads is the largest --threads.
const MostThreads = 1024

// ThreadsConflict says what is wrong with --threads, or nothing.
func ThreadsConflict(n int) string {
	if n < 0 || n > MostThreads {
		return "--threads is " + strconv.Itoa(n) + ", want 0 (one for each CPU) to " + strconv.Itoa(MostThreads)
	}
	return ""
}

// apart refuses outputs that are files which the command reads.
func (o *Options) apart(outputs ...string) error {
	return output.Apart(o.read(), outputs)
}

// read are the files that the command reads.
func (o *Options) read() []string {
	return slices.Concat([]string{o.Program, o.Cases, debugPath(o.Debug, o.Program)}, o.Inputs, o.Data)
}

// report is what --json prints.
type report struct {
	LoadNS int64 `json:"load_ns"`
	// WeightCache is what became of the file of --weight-cache.
	WeightCache string    `json:"weight_cache,omitempty"`
	Outputs     []result  `json:"outputs,omitempty"`
	Bench       *timing   `json:"bench,omitempty"`
	Calls       []verdict `json:"calls,omitempty"`
}

// result is an output: its type, that of its elements if it is a tensor, whose sizes are there, too, and what it is as text.
type result struct {
	Type  string       `json:"type"`
	Sizes []tensor.Dim `json:"sizes,omitzero"`
	Value string       `json:"value"`
	File  string       `json:"file,omitempty"`
}

func resultOf(v *executor.Value) result {
	if v.Kind == executor.Tensor {
		return result{Type: v.Tensor.DType.String(), Sizes: append([]tensor.Dim{}, v.Tensor.Sizes...), Value: runner.Describe(v)}
	}
	return result{Type: kindNames[v.Kind], Value: runner.Describe(v)}
}

// timing is of the calls that --bench made, in nanoseconds.
type timing struct {
	Runs     int   `json:"runs"`
	MinNS    int64 `json:"min_ns"`
	MedianNS int64 `json:"median_ns"`
	P95NS    int64 `json:"p95_ns"`
}

// run is one "pte run".
type run struct {
	*Options
	stdout  io.Writer
	program *executor.Program
	report  report
	files   []file
	given   []string    // the files that cases name
	gen     *etdump.Gen // or nil
	called  []string    // the methods called, in order
	loaded  bool        // an instance was made
	cache   cacheUse
}

// file is an output that is written when every call has succeeded.
type file struct {
	name string
	data []byte
}

// Run is "pte run" with the kernels and backends of load. It writes nothing if a call fails. The error has codes.
func Run(o *Options, load executor.LoadOptions, stdout io.Writer) error {
	if err := o.apart(o.Trace, o.DebugBuffer, o.WeightCache); err != nil {
		return err
	}
	if rel, err := filepath.Rel(o.Output, filepath.Dir(o.Trace)); err == nil && o.Output != "" && o.Trace != "" && filepath.IsLocal(rel) {
		if err := output.MkdirFor(o.Trace); err != nil { // among the outputs, whose folder may be missing
			return err
		}
	}
	return writeIf(o.Trace, func(trace io.Writer) error {
		return writeIf(o.DebugBuffer, func(buffer io.Writer) error { return o.run(load, stdout, trace, buffer) })
	})
}

// writeIf is output.Write, whose file is made before anything runs; for "" it is write without a writer.
func writeIf(path string, write func(w io.Writer) error) error {
	if path == "" {
		return write(nil)
	}
	return output.Write(path, write)
}

// run is Run; trace and buffer are nil unless there are files for them.
func (o *Options) run(load executor.LoadOptions, stdout, trace, buffer io.Writer) error {
	r := &run{Options: o, stdout: stdout}
	if o.Trace != "" {
		r.gen = etdump.New(debugLevel(o.DebugBuffer))
	}
	if err := r.load(load); err != nil {
		return err
	}
	defer r.program.Close()
	err := r.all()
	if r.cache.warn(r.Stderr); r.report.WeightCache != "" && len(r.cache.failed) == 0 {
		fmt.Fprintf(r.Stderr, "weight cache %s: %s\n", r.WeightCache, r.report.WeightCache)
	}
	if err == nil {
		err = r.writeTrace(trace, buffer)
	}
	if o.JSON && (err == nil || o.Cases != "") {
		return errors.Join(json.NewEncoder(stdout).Encode(r.report), err)
	}
	return err
}

// load loads the program; the caller closes it.
func (r *run) load(load executor.LoadOptions) error {
	load.Threads, load.MaxMemory = r.Threads, r.MaxMemory
	if r.gen != nil {
		load.Tracer = r.gen
	}
	if r.WeightCache != "" {
		load.WeightCache = r.cache.file(r.WeightCache)
	}
	start := time.Now()
	var err error
	if load.NamedData, err = dataFiles(r.Data); err != nil {
		return err
	}
	p, err := executor.LoadFile(r.Program, load)
	if err != nil {
		return fault(r.Program, err)
	}
	r.program, r.report.LoadNS = p, time.Since(start).Nanoseconds()
	return nil
}

// instance is an instance of the program; the first one counts as loading it: backends compile, and pack weights.
func (r *run) instance() (*executor.Instance, error) {
	start := time.Now()
	inst, err := r.program.NewInstance()
	if err != nil {
		return nil, fault(r.Program, err)
	}
	if !r.loaded {
		r.loaded = true
		r.report.LoadNS += time.Since(start).Nanoseconds()
		if r.WeightCache != "" {
			r.report.WeightCache = r.cache.text()
		}
	}
	return inst, nil
}

// all makes every call that the options ask for.
func (r *run) all() error {
	if r.Cases != "" {
		return r.runCases()
	}
	return r.runInputs()
}

// runInputs runs one method on the inputs of the command line.
func (r *run) runInputs() error {
	inst, err := r.instance()
	if err != nil {
		return err
	}
	defer inst.Close()
	m, err := r.method(inst, r.Method)
	if err != nil {
		return err
	}
	inputs, err := readInputs(r.Inputs)
	if err != nil {
		return err
	}
	outs, err := r.call(m, r.Method, inputs)
	if err != nil {
		return err
	}
	for i := range outs {
		r.add(r.Output, outputName("", i), &outs[i])
		if !r.JSON {
			fmt.Fprintf(r.stdout, "out_%d: %s\n", i, r.report.Outputs[i].Value)
		}
	}
	if err := r.writeFiles(); err != nil {
		return err
	}
	return r.bench(m, inputs)
}

// method is the one of this name; for "", forward or the only one, whose name r.Method then is.
func (r *run) method(inst *executor.Instance, name string) (*executor.Method, error) {
	names, chosen := r.program.Methods(), name != ""
	if !chosen {
		name = "forward"
		if len(names) == 1 {
			name = names[0]
		}
		r.Method = name
	}
	if m := inst.Method(name); m != nil {
		return m, nil
	}
	e := diag.New(diag.NoMethod, r.Program, "the program has no method %q", name)
	if near := diag.Nearest(name, names); near != "" {
		return nil, e.WithHint("did you mean %q? it has %s", near, strings.Join(names, ", "))
	}
	if chosen {
		return nil, e.WithHint("it has %s", strings.Join(names, ", "))
	}
	return nil, e.WithHint("it has %s; --method chooses one", strings.Join(names, ", "))
}

// call runs m. A panic of the loader or a kernel is an error of executor.
func (r *run) call(m *executor.Method, name string, inputs []executor.Value) ([]executor.Value, error) {
	r.called = append(r.called, cmp.Or(name, r.Method))
	outs, err := m.Run(context.Background(), inputs)
	if err != nil {
		return nil, r.fault(name, err)
	}
	return outs, nil
}

// fault is fault of a call of the method name, with a hint about what that takes.
func (r *run) fault(name string, err error) error {
	e := fault(r.Program, err)
	if e.Code == diag.RunInputs {
		if info, ok := r.program.Method(name); ok {
			e.Hint = name + " takes " + signature(info.Inputs)
		}
	}
	return e
}

// outputName is the name of the file of output i.
func outputName(prefix string, i int) string { return fmt.Sprintf("%sout_%d.npy", prefix, i) }

// add notes an output for the report, and its file in dir if it is a tensor.
func (r *run) add(dir, name string, v *executor.Value) {
	res := resultOf(v)
	if dir != "" && name != "" && v.Kind == executor.Tensor {
		res.File = filepath.Join(dir, filepath.FromSlash(name))
		r.files = append(r.files, file{res.File, npy.Format(v.Tensor)})
	}
	r.report.Outputs = append(r.report.Outputs, res)
}

func (r *run) writeFiles() error {
	inputs := append(r.read(), r.given...)
	for _, f := range r.files {
		if err := output.Apart(inputs, []string{r.Trace, r.DebugBuffer, r.WeightCache, f.name}); err != nil {
			return err
		}
	}
	for _, f := range r.files {
		if err := output.MkdirFor(f.name); err != nil {
			return err
		}
		if err := output.Write(f.name, func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
			return err
		}
	}
	return nil
}

// bench times calls; the one that gave the outputs was the warm-up.
func (r *run) bench(m *executor.Method, inputs []executor.Value) error {
	if r.Bench == 0 {
		return nil
	}
	times := make([]int64, r.Bench)
	for i := range times {
		start := time.Now()
		if _, err := r.call(m, r.Method, inputs); err != nil {
			return err
		}
		times[i] = time.Since(start).Nanoseconds()
	}
	slices.Sort(times)
	t := &timing{len(times), times[0], times[len(times)/2], times[len(times)*95/100]}
	r.report.Bench = t
	if !r.JSON {
		fmt.Fprintf(r.stdout, "load %s, %d runs: min %s, median %s, p95 %s\n", bench.Took(r.report.LoadNS), t.Runs,
			bench.Took(t.MinNS), bench.Took(t.MedianNS), bench.Took(t.P95NS))
	}
	return nil
}
