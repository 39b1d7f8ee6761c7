package null_test

import (
	"testing"

	"github.com/rules-pte/rules_pte/backends/backendtest"
	"github.com/rules-pte/rules_pte/backends/null/aot"
	"github.com/rules-pte/rules_pte/backends/null/rt"
)

func TestSuite(t *testing.T) {
	s := backendtest.Suite{AOT: aot.Backend{}, Runtime: rt.Backend{}, Skips: map[string]string{
		"takes": "it delegates nothing",
	}}
	s.Run(t)
}
