package pte

import (
	"io"

	demo "github.com/rules-pte/rules_pte/backends/demo/aot"
	demort "github.com/rules-pte/rules_pte/backends/demo/rt"
	null "github.com/rules-pte/rules_pte/backends/null/aot"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
)

// linked are the backends of the tool that is tested.
var linked = Backends{
	AOT:     []backend.Backend{demo.Backend{}, demo.All{}, null.Backend{}},
	Runtime: []rtbackend.Backend{demort.Backend{}, demort.All{}},
}

func run(args []string, stdout, stderr io.Writer) int { return Run(linked, args, stdout, stderr) }
