package demo_test

import (
	"testing"

	"github.com/rules-pte/rules_pte/backends/backendtest"
	"github.com/rules-pte/rules_pte/backends/demo/aot"
	"github.com/rules-pte/rules_pte/backends/demo/rt"
)

func TestSuite(t *testing.T) {
	s := backendtest.Suite{AOT: aot.Backend{}, Runtime: rt.Backend{}}
	s.Run(t)
}

func TestSuiteAll(t *testing.T) {
	s := backendtest.Suite{AOT: aot.All{}, Runtime: rt.All{}, Entry: `{id: "BackendWithPreprocessAllDemo", compile_specs: fuse: false}`}
	s.Run(t)
}
