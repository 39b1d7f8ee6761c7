// Package runcmd is the commands "pte run" and "pte inspect".
package runcmd

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/lowerer/internal/cases"
	"github.com/rules-pte/rules_pte/lowerer/internal/npy"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/runner"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// The exit codes.
const (
	exitError = 1 // the program failed, or gave other results than its cases
	exitUsage = 2
)

// runner state of one "pte run".
type run struct {
	program, method, output, cases string
	inputs                         list
	bench, threads                 int
	json, check                    bool
	stdout, stderr                 io.Writer
	report                         report
}

// report is what --json prints.
type report struct {
	Outputs []result  `json:"outputs,omitempty"`
	Bench   *timing   `json:"bench,omitempty"`
	Calls   []verdict `json:"calls,omitempty"`
}

type result struct {
	Value string `json:"value"`
	File  string `json:"file,omitempty"`
}

type timing struct {
	Runs   int     `json:"runs"`
	MeanUs float64 `json:"mean_us"`
	BestUs float64 `json:"best_us"`
}

type verdict struct {
	Case     int      `json:"case"`
	Call     int      `json:"call"`
	Method   string   `json:"method"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
}

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// Run is "pte run" with every portable kernel and no backend. It gives the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	return RunWith(executor.LoadOptions{Kernels: op.Kernels}, args, stdout, stderr)
}

// RunWith is Run with these kernels and backends.
func RunWith(opts executor.LoadOptions, args []string, stdout, stderr io.Writer) int {
	r := &run{stdout: stdout, stderr: stderr}
	if err := r.parse(args); err != nil {
		fmt.Fprintf(stderr, "pte run: %v\n", err)
		return exitUsage
	}
	opts.Threads = r.threads
	err := r.run(opts)
	if r.json && err == nil {
		err = json.NewEncoder(stdout).Encode(r.report)
	}
	if err != nil {
		fmt.Fprintf(stderr, "pte run: %v\n", err)
		return exitError
	}
	for _, v := range r.report.Calls {
		if !v.OK {
			return exitError
		}
	}
	return 0
}

func (r *run) parse(args []string) error {
	f := flag.NewFlagSet("pte run", flag.ContinueOnError)
	f.SetOutput(r.stderr)
	f.StringVar(&r.method, "method", "forward", "the method to run")
	f.Var(&r.inputs, "input", "an input: FILE.npy, int:N, float:X, bool:B, str:S or none; once for each")
	f.StringVar(&r.output, "output", "", "a folder for the outputs as .npy files")
	f.StringVar(&r.cases, "case", "", "a case file to run instead of --input")
	f.IntVar(&r.bench, "bench", 0, "also run this many times and print the times")
	f.IntVar(&r.threads, "threads", 0, "threads; 0 means one for each CPU")
	f.BoolVar(&r.json, "json", false, "print JSON")
	f.BoolVar(&r.check, "check", false, "hold the results of --case against its file")
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			return err
		}
		if args = f.Args(); len(args) > 0 {
			if r.program != "" {
				return fmt.Errorf("more than one program: %s", args[0])
			}
			r.program, args = args[0], args[1:]
		}
	}
	if r.program == "" {
		return fmt.Errorf("no program given")
	}
	if r.check && r.cases == "" {
		return fmt.Errorf("--check needs --case")
	}
	return nil
}

func (r *run) run(opts executor.LoadOptions) error {
	p, err := executor.LoadFile(runner.Path(r.program), opts)
	if err != nil {
		return err
	}
	defer p.Close()
	if r.cases != "" {
		return r.runCases(p)
	}
	inst, err := p.NewInstance()
	if err != nil {
		return err
	}
	defer inst.Close()
	var inputs []executor.Value
	for _, arg := range r.inputs {
		v, err := runner.Input(arg)
		if err != nil {
			return fmt.Errorf("read input %s: %w", arg, err)
		}
		inputs = append(inputs, v)
	}
	outs, err := call(inst, r.method, inputs)
	if err != nil {
		return err
	}
	if err := r.writeOutputs(r.output, outs); err != nil {
		return err
	}
	return r.runBench(inst, inputs)
}

// call runs a method of an instance.
func call(inst *executor.Instance, name string, inputs []executor.Value) ([]executor.Value, error) {
	m := inst.Method(name)
	if m == nil {
		return nil, fmt.Errorf("no method %s in the program", name)
	}
	return m.Run(context.Background(), inputs)
}

// writeOutputs prints the outputs and writes the tensors to dir.
func (r *run) writeOutputs(dir string, outs []executor.Value) error {
	for i := range outs {
		res := result{Value: runner.Describe(&outs[i])}
		if dir != "" && outs[i].Kind == executor.Tensor {
			res.File = filepath.Join(runner.Path(dir), fmt.Sprintf("out_%d.npy", i))
			if err := os.MkdirAll(filepath.Dir(res.File), 0o777); err != nil {
				return fmt.Errorf("write outputs: %w", err)
			}
			if err := npy.WriteFile(res.File, outs[i].Tensor); err != nil {
				return fmt.Errorf("write outputs: %w", err)
			}
		}
		r.report.Outputs = append(r.report.Outputs, res)
		if !r.json {
			fmt.Fprintf(r.stdout, "out_%d: %s\n", i, res.Value)
		}
	}
	return nil
}

func (r *run) runBench(inst *executor.Instance, inputs []executor.Value) error {
	if r.bench <= 0 {
		return nil
	}
	var total time.Duration
	best := time.Duration(1 << 62)
	for range r.bench {
		start := time.Now()
		if _, err := call(inst, r.method, inputs); err != nil {
			return err
		}
		d := time.Since(start)
		total, best = total+d, min(best, d)
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	r.report.Bench = &timing{r.bench, us(total) / float64(r.bench), us(best)}
	if !r.json {
		fmt.Fprintf(r.stdout, "runs: %d, mean %.1f µs, best %.1f µs\n", r.bench, r.report.Bench.MeanUs, r.report.Bench.BestUs)
	}
	return nil
}

// runCases runs every case on an instance of its own.
func (r *run) runCases(p *executor.Program) error {
	file, err := cases.Read(runner.Path(r.cases))
	if err != nil {
		return err
	}
	for i := range file.Cases {
		inst, err := p.NewInstance()
		if err != nil {
			return err
		}
		for j := range file.Cases[i].Calls {
			v := verdict{Case: i, Call: j, Method: file.Cases[i].Calls[j].Method}
			if err := r.runCall(inst, file, &v); err != nil {
				v.Problems = append(v.Problems, err.Error())
			}
			r.addVerdict(v)
		}
		inst.Close()
	}
	return nil
}

func (r *run) addVerdict(v verdict) {
	v.OK = len(v.Problems) == 0
	r.report.Calls = append(r.report.Calls, v)
	if r.json {
		return
	}
	word := "ran"
	if r.check {
		word = "ok"
	}
	if !v.OK {
		word = "FAILED: " + strings.Join(v.Problems, "; ")
	}
	fmt.Fprintf(r.stdout, "case %d call %d %s: %s\n", v.Case, v.Call, v.Method, word)
}

// runCall runs one call of a case and, if asked to, checks it.
func (r *run) runCall(inst *executor.Instance, file *cases.File, v *verdict) error {
	c := &file.Cases[v.Case].Calls[v.Call]
	inputs, err := file.LoadAll(c.Inputs)
	if err != nil {
		return err
	}
	outs, err := call(inst, c.Method, inputs)
	if err != nil {
		return err
	}
	if r.output != "" {
		dir := filepath.Join(r.output, fmt.Sprintf("case%d", v.Case), fmt.Sprintf("call%d", v.Call))
		if err := r.writeOutputs(dir, outs); err != nil {
			return err
		}
	}
	if r.check {
		v.Problems = check(file, c, inputs, outs)
	}
	return nil
}

// check lists how the results of a call differ from the file's. Programs of the official lowering
// give inputs that they write back as extra first outputs.
func check(file *cases.File, c *cases.Call, inputs, outs []executor.Value) []string {
	var problems []string
	extra := len(outs) - len(c.Outputs)
	if extra != 0 && extra != len(c.Mutated) {
		return []string{fmt.Sprintf("got %d outputs, want %d", len(outs), len(c.Outputs))}
	}
	for i := range c.Outputs {
		if err := file.Compare(outs[extra+i], &c.Outputs[i]); err != nil {
			problems = append(problems, fmt.Sprintf("output %d: %v", i, err))
		}
	}
	for i := range inputs {
		want, ok := c.Mutated[i]
		if !ok {
			continue
		}
		if err := file.Compare(inputs[i], &want); err != nil {
			problems = append(problems, fmt.Sprintf("mutated input %d: %v", i, err))
		}
	}
	return problems
}
