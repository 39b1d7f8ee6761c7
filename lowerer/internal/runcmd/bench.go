package runcmd

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/bench"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// BenchOptions are what the command line of "pte bench" says.
type BenchOptions struct {
	Options
	Runs int
	HTML string
	// Version is that of the tool, for the report.
	Version string
}

// Define adds the flags to f.
func (o *BenchOptions) Define(f *flag.FlagSet) {
	o.defineCalls(f)
	o.defineCache(f)
	f.IntVar(&o.Runs, "runs", 0, "how many `calls` to time; by default about a second's, and three at least")
	f.StringVar(&o.HTML, "html", "", "a `file` for a page with the roofline of the kernels")
}

// Conflict says what is wrong with o as a command line, or nothing.
func (o *BenchOptions) Conflict() string {
	if msg := runsConflict("--runs", o.Runs); msg != "" {
		return msg
	}
	return o.Options.conflict()
}

// Bench is "pte bench": it times calls of a method without a trace, and the kernels of others with one. The error has codes.
func Bench(o *BenchOptions, load executor.LoadOptions, stdout io.Writer) error {
	if err := o.apart(o.HTML, o.WeightCache); err != nil {
		return err
	}
	return writeIf(o.HTML, func(page io.Writer) error { return o.bench(load, stdout, page) })
}

// bench is Bench; the page is written to page, unless that is nil.
func (o *BenchOptions) bench(load executor.LoadOptions, stdout, page io.Writer) error {
	rep := &bench.Report{Program: filepath.Base(o.Program), Version: o.Version, Date: time.Now().UTC().Truncate(time.Second)}
	var times []time.Duration
	var loads []int64
	if o.WeightCache != "" { // which a first load may have to write
		if err := o.with(load, func(r *run, _ *executor.Method, _ []executor.Value) error {
			rep.WeightCache = r.report.WeightCache
			r.cache.warn(o.Stderr)
			return nil
		}); err != nil {
			return err
		}
	}
	err := o.with(load, func(r *run, m *executor.Method, inputs []executor.Value) (err error) {
		loads = append(loads, r.report.LoadNS)
		rep.Made, rep.Inputs = o.Cases == "" && len(o.Inputs) == 0, inputTexts(inputs)
		times, err = r.time(m, inputs, o.Runs)
		if e := (*diag.Error)(nil); rep.Made && errors.As(err, &e) && e.Code == diag.RunInputs {
			e.Hint += "; these were made, " + strings.Join(rep.Inputs, ", ") + ": give others by --input or --case"
		}
		return err
	})
	if err != nil {
		return err
	}
	if loads, err = o.loads(load, loads); err != nil {
		return err
	}
	rep.Loads, rep.LoadNS = len(loads), loads[len(loads)/2]
	rec := bench.NewRecorder()
	load.Tracer = rec
	rep.Machine = bench.Measure(kernel.Best(), o.Threads)
	err = o.with(load, func(r *run, m *executor.Method, inputs []executor.Value) error {
		if _, err := r.call(m, r.Method, inputs); err != nil {
			return err
		}
		rec.Reset()
		if _, err := r.time(m, inputs, len(times)); err != nil {
			return err
		}
		plan := slices.IndexFunc(r.program.File().Plans, func(p *pte.ExecutionPlan) bool { return p.Name == r.Method })
		rep.Fill(rec, r.program.File().Plans[plan], times)
		return nil
	})
	if err != nil {
		return err
	}
	if err := rep.Write(stdout, o.JSON); err != nil || page == nil {
		return err
	}
	return rep.WritePage(page)
}

// loads has more loads beside the first, as many as fit into enough; it gives the times of all, the shortest first.
func (o *BenchOptions) loads(load executor.LoadOptions, times []int64) ([]int64, error) {
	for begin := time.Now(); len(times) < mostLoads && time.Since(begin)+time.Duration(times[0]) < enough; {
		err := o.with(load, func(r *run, _ *executor.Method, _ []executor.Value) error {
			times = append(times, r.report.LoadNS)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(times)
	return times, nil
}

// with loads the program and calls f with the method and its inputs.
func (o *BenchOptions) with(load executor.LoadOptions, f func(r *run, m *executor.Method, inputs []executor.Value) error) error {
	r := &run{Options: &o.Options}
	if err := r.load(load); err != nil {
		return err
	}
	defer r.program.Close()
	inst, err := r.instance()
	if err != nil {
		return err
	}
	defer inst.Close()
	inputs, err := r.benchInputs()
	if err != nil {
		return err
	}
	m, err := r.method(inst, r.Method)
	if err != nil {
		return err
	}
	if inputs == nil {
		info, _ := r.program.Method(r.Method)
		inputs = made(info.Inputs)
	}
	return f(r, m, inputs)
}

// benchInputs are the inputs that the command line names, those of the first call of --case, or nil.
func (r *run) benchInputs() ([]executor.Value, error) {
	if r.Cases == "" {
		return readInputs(r.Inputs)
	}
	f, err := r.readCases()
	if err != nil {
		return nil, err
	}
	if len(f.Cases[0].Calls) == 0 {
		return nil, diag.New(diag.RunInputs, r.Cases, "the first case has no call")
	}
	c := &f.Cases[0].Calls[0]
	if r.Method == "" {
		r.Method = c.Method
	}
	inputs, err := f.LoadAll(c.Inputs)
	if err != nil {
		return nil, diag.New(diag.FileRead, r.Cases, "%w", err)
	}
	return inputs, nil
}

// inputTexts are the types and sizes of inputs.
func inputTexts(inputs []executor.Value) []string {
	list := []string{}
	for i := range inputs {
		if v := &inputs[i]; v.Kind == executor.Tensor && v.Tensor != nil {
			list = append(list, bench.Shape(v.Tensor))
		} else {
			list = append(list, kindNames[v.Kind])
		}
	}
	return list
}

// made are inputs of the largest sizes: floats between -1 and 1, and zeros.
func made(infos []executor.ValueInfo) []executor.Value {
	values := make([]executor.Value, len(infos))
	for i := range infos {
		values[i] = executor.Value{Kind: infos[i].Kind}
		if infos[i].Kind == executor.Tensor {
			values[i] = executor.TensorOf(madeTensor(infos[i].Meta))
		}
	}
	return values
}

func madeTensor(meta tensor.Meta) *tensor.Tensor {
	t := &tensor.Tensor{Meta: meta.Clone()}
	t.Data = op.AlignedBytes(t.Nbytes())
	if !t.DType.IsFloat() {
		return t
	}
	const period = 17
	x := make([]float32, t.Numel())
	for i := range x {
		x[i] = float32(i*7%period)*2/(period-1) - 1
	}
	from := tensor.Of(x, tensor.Dim(len(x)))
	op.CastBytes(t.Data, t.DType, from.Data, tensor.Float, len(x))
	return t
}

// enough is how long calls are timed, and loads; mostLoads is how many of these there are at most.
const (
	enough    = time.Second
	mostLoads = 5
)

// time times n calls, or as many as fit into enough; the first is a warm-up.
func (r *run) time(m *executor.Method, inputs []executor.Value, n int) ([]time.Duration, error) {
	var times []time.Duration
	ctx := context.Background()
	for begin := time.Now(); n == 0 && (len(times) < 4 || time.Since(begin) < enough) || len(times) < n+1 && n > 0; {
		start := time.Now()
		if _, err := m.Run(ctx, inputs); err != nil {
			return nil, r.fault(r.Method, err)
		}
		times = append(times, time.Since(start))
	}
	return times[1:], nil
}
