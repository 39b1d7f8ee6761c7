// Command linked is our runtime with the kernels and backends of one program, as a worker of bench/side, which builds it with the package
// pteprogram that pte_runtime generates.
package main

import (
	"fmt"
	"os"

	"github.com/rules-pte/rules_pte/bench/side/serve"
	"github.com/rules-pte/rules_pte/pteprogram"
)

func main() {
	if err := serve.Serve(os.Stdin, os.Stdout, pteprogram.Options()); err != nil {
		fmt.Fprintln(os.Stderr, "linked:", err)
		os.Exit(1)
	}
}
