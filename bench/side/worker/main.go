// Command worker is our runtime with all kernels and XNNPACK's format, as a worker of bench/side: a program of its own, as the official
// runtime's worker is, since the code of a program counts as memory, and what is read of it as time.
package main

import (
	"fmt"
	"os"

	"github.com/rules-pte/rules_pte/bench/side/serve"
)

func main() {
	if err := serve.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
