// Package runner is the small command that a pte_runtime without Go sources is: it runs a method of a
// program on .npy files.
package runner

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/npy"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

const usage = `usage: PROGRAM.pte [--method NAME] [--input FILE.npy|int:N|float:X|bool:B|str:S|none]...
       [--output DIR] [--bench N] [--threads N]
`

// Options are the parsed arguments.
type Options struct {
	Program, Method, Output string
	Inputs                  []string
	Bench, Threads          int
}

// Main parses args, runs, and gives the exit status.
func Main(args []string, load executor.LoadOptions) int {
	o, err := Parse(args)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n" + usage)
		return 2
	}
	load.Threads = o.Threads
	if err := run(o, load); err != nil {
		os.Stderr.WriteString("error: " + err.Error() + "\n")
		return 1
	}
	return 0
}

// Parse reads the arguments.
func Parse(args []string) (*Options, error) {
	o := &Options{Method: "forward"}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "--") {
			if o.Program != "" {
				return nil, errors.New("more than one program: " + args[i])
			}
			o.Program = args[i]
			continue
		}
		if !joined {
			if i++; i == len(args) {
				return nil, errors.New(name + " needs a value")
			}
			value = args[i]
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	if o.Program == "" {
		return nil, errors.New("no program given")
	}
	return o, nil
}

func (o *Options) set(name, value string) (err error) {
	switch name {
	case "--method":
		o.Method = value
	case "--input":
		o.Inputs = append(o.Inputs, value)
	case "--output":
		o.Output = value
	case "--bench":
		o.Bench, err = strconv.Atoi(value)
	case "--threads":
		o.Threads, err = strconv.Atoi(value)
	default:
		err = errors.New("unknown flag " + name)
	}
	return err
}

// Path is a path of the command line, seen from where Bazel was called.
func Path(p string) string {
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" && p != "" && p[0] != '/' {
		return dir + "/" + p
	}
	return p
}

// Input is the value that an --input argument names.
func Input(arg string) (executor.Value, error) {
	kind, text, _ := strings.Cut(arg, ":")
	switch kind {
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		return executor.IntOf(n), err
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		return executor.FloatOf(f), err
	case "bool":
		b, err := strconv.ParseBool(text)
		return executor.BoolOf(b), err
	case "str":
		return executor.StringOf(text), nil
	case "none":
		return executor.Value{}, nil
	}
	b, err := os.ReadFile(Path(arg))
	if err != nil {
		return executor.Value{}, err
	}
	t, err := npy.Parse(b)
	return executor.TensorOf(t), err
}

func run(o *Options, load executor.LoadOptions) error {
	p, err := executor.LoadFile(Path(o.Program), load)
	if err != nil {
		return err
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err != nil {
		return err
	}
	defer inst.Close()
	m := inst.Method(o.Method)
	if m == nil {
		return errors.New("no method " + o.Method + ", want one of " + strings.Join(p.Methods(), ", "))
	}
	var inputs []executor.Value
	for _, arg := range o.Inputs {
		v, err := Input(arg)
		if err != nil {
			return errors.New("read input " + arg + ": " + err.Error())
		}
		inputs = append(inputs, v)
	}
	outs, err := m.Run(context.Background(), inputs)
	if err != nil {
		return err
	}
	if err := WriteOutputs(o.Output, outs); err != nil {
		return err
	}
	if o.Bench > 0 {
		return bench(m, inputs, o.Bench)
	}
	return nil
}

// WriteOutputs prints the outputs, and writes the tensors to dir/out_N.npy unless dir is "".
func WriteOutputs(dir string, outs []executor.Value) error {
	for i := range outs {
		name := "out_" + strconv.Itoa(i)
		if _, err := os.Stdout.WriteString(name + ": " + Describe(&outs[i]) + "\n"); err != nil {
			return err
		}
		if dir == "" || outs[i].Kind != executor.Tensor {
			continue
		}
		if err := os.MkdirAll(Path(dir), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(Path(dir)+"/"+name+".npy", npy.Format(outs[i].Tensor), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Describe is a value in one line: a number, or a tensor's type, sizes and first elements in row-major order.
func Describe(v *executor.Value) string {
	switch v.Kind {
	case executor.Tensor:
		s := v.Tensor.DType.String() + "["
		for i, n := range v.Tensor.Sizes {
			if i > 0 {
				s += ", "
			}
			s += strconv.FormatInt(n, 10)
		}
		return s + "]" + elements(v.Tensor)
	case executor.Int:
		return strconv.FormatInt(v.Int, 10)
	case executor.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case executor.Bool:
		return strconv.FormatBool(v.Int != 0)
	case executor.String:
		return strconv.Quote(v.Str)
	}
	return "none"
}

// shown is how many elements of a tensor Describe shows.
const shown = 6

// elements are the first elements of t, floating-point ones with four digits.
func elements(t *tensor.Tensor) string {
	n := min(t.Numel(), shown)
	if n == 0 {
		return ""
	}
	if !t.Contiguous() {
		t = npy.Ordered(t, nil)
	}
	s := ":"
	for i := range n {
		s += " " + element(t.Data[i*t.DType.Size():], t.DType)
	}
	if n < t.Numel() {
		s += " …"
	}
	return s
}

// element is the first element of data.
func element(data []byte, dtype tensor.ScalarType) string {
	var b [8]byte
	if dtype.IsFloat() {
		op.CastBytes(b[:], tensor.Double, data, dtype, 1)
		return strconv.FormatFloat(math.Float64frombits(binary(b)), 'g', 4, 64)
	}
	op.CastBytes(b[:], tensor.Long, data, dtype, 1)
	if dtype == tensor.Bool {
		return strconv.FormatBool(b[0] != 0)
	}
	if dtype == tensor.UInt64 {
		return strconv.FormatUint(binary(b), 10)
	}
	return strconv.FormatInt(int64(binary(b)), 10)
}

// binary is the little-endian number in b.
func binary(b [8]byte) (x uint64) {
	for i, c := range b {
		x |= uint64(c) << (8 * i)
	}
	return x
}

// bench runs n times and prints the mean and the best time.
func bench(m *executor.Method, inputs []executor.Value, n int) error {
	best, total := time.Duration(1<<62), time.Duration(0)
	for range n {
		start := time.Now()
		if _, err := m.Run(context.Background(), inputs); err != nil {
			return err
		}
		d := time.Since(start)
		best, total = min(best, d), total+d
	}
	_, err := os.Stdout.WriteString("runs: " + strconv.Itoa(n) + ", mean " + (total / time.Duration(n)).String() + ", best " + best.String() + "\n")
	return err
}
