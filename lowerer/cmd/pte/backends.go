package main

import (
	demo "github.com/rules-pte/rules_pte/backends/demo/aot"
	demort "github.com/rules-pte/rules_pte/backends/demo/rt"
	null "github.com/rules-pte/rules_pte/backends/null/aot"
	nullrt "github.com/rules-pte/rules_pte/backends/null/rt"
	xnnpackrt "github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/lowerer/backend"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
)

// backends are the ahead-of-time halves that this tool has, and runtimes what it runs programs with.
var (
	backends = []backend.Backend{demo.Backend{}, demo.All{}, null.Backend{}}
	runtimes = []rtbackend.Backend{demort.Backend{}, demort.All{}, nullrt.Backend{}, xnnpackrt.New()}
)
