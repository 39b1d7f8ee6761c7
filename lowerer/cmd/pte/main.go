// Command pte lowers exported PyTorch models to ExecuTorch programs, runs them and shows what is in them. It has the
// backends of this project; see the package pte for one with others.
package main

import (
	demo "github.com/rules-pte/rules_pte/backends/demo/aot"
	demort "github.com/rules-pte/rules_pte/backends/demo/rt"
	null "github.com/rules-pte/rules_pte/backends/null/aot"
	nullrt "github.com/rules-pte/rules_pte/backends/null/rt"
	xnnpack "github.com/rules-pte/rules_pte/backends/xnnpack/aot"
	xnnpackrt "github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/pte"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
)

func main() {
	pte.Main(pte.Backends{
		AOT:     []backend.Backend{demo.Backend{}, demo.All{}, null.Backend{}, xnnpack.Backend{}},
		Runtime: []rtbackend.Backend{demort.Backend{}, demort.All{}, nullrt.Backend{}, xnnpackrt.New()},
	})
}
