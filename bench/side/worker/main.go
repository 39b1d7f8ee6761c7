// Command worker is our runtime with all kernels and XNNPACK's format, as a worker of bench/side: a program of its own, as the official
// runtime's worker is, since the code of a program counts as memory, and what is read of it as time.
package main

import (
	"fmt"
	"os"

	xnnpack "github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/bench/side/serve"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

func main() {
	o := executor.LoadOptions{Kernels: op.Kernels, Backends: []backend.Backend{xnnpack.New()}}
	if err := serve.Serve(os.Stdin, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
