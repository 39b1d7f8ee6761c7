// Command runner is the binary of a pte_runtime without sources: it runs a
// method on inputs of zeros (and of the largest sizes) and prints how long a call takes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func main() {
	method := flag.String("method", "", "method to run; every one without it")
	calls := flag.Int("calls", 10, "how often each method is called")
	threads := flag.Int("threads", 0, "how many threads kernels use; as many as GOMAXPROCS says without it")
	flag.Parse()
	if err := run(*method, max(*calls, 1), *threads); err != nil {
		fmt.Fprintf(os.Stderr, "runner: %v\n", err)
		os.Exit(1)
	}
}

func run(method string, calls, threads int) error {
	opts := pteprogram.Options()
	opts.Threads = threads
	program, err := load(opts)
	if err != nil {
		return err
	}
	defer program.Close()
	names := program.Methods()
	if method != "" {
		if !slices.Contains(names, method) {
			return fmt.Errorf("no method %q; there are %q", method, names)
		}
		names = []string{method}
	}
	for _, name := range names {
		if err := measure(program, name, calls); err != nil {
			return err
		}
	}
	return nil
}

// measure calls a method of a new instance and prints the median of the calls' times.
func measure(program *executor.Program, name string, calls int) error {
	instance, err := program.NewInstance()
	if err != nil {
		return err
	}
	defer instance.Close()
	info, _ := program.Method(name)
	inputs := zeros(info.Inputs)
	times := make([]time.Duration, calls)
	for i := range times {
		begin := time.Now()
		if _, err := instance.Method(name).Run(context.Background(), inputs); err != nil {
			return err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	fmt.Printf("%s: %d inputs, %d outputs, median of %d calls %v\n", name, len(inputs), len(info.Outputs), calls, times[calls/2])
	return nil
}

// zeros is a value for each input.
func zeros(infos []executor.ValueInfo) []executor.Value {
	out := make([]executor.Value, len(infos))
	for i, info := range infos {
		out[i] = executor.Value{Kind: info.Kind}
		if info.Kind == executor.Tensor {
			t := &tensor.Tensor{Meta: info.Meta}
			t.Data = make([]byte, t.Nbytes())
			out[i] = executor.TensorOf(t)
		}
	}
	return out
}
