package xnnpack_test

import (
	"testing"

	"github.com/rules-pte/rules_pte/backends/backendtest"
	"github.com/rules-pte/rules_pte/backends/xnnpack/aot"
	"github.com/rules-pte/rules_pte/backends/xnnpack/rt"
)

//bazel:data //backends/backendtest:testdata

// TestSuite holds delegated programs against the same ones without delegates.
func TestSuite(t *testing.T) {
	s := backendtest.Suite{AOT: aot.Backend{}, Runtime: rt.New(), Models: []string{
		"testdata/channels_last.pt2", "testdata/convs.pt2", "testdata/norms.pt2", "testdata/unfolded.pt2",
		"../backendtest/testdata/linear_branch.pt2",
	}, Skips: map[string]string{"specs": "XNNPACK has no compile specs"}}
	s.Run(t)
}

// TestRounded does so where the delegate rounds at other places: float16, and weights of 4 bits with scales of bfloat16.
func TestRounded(t *testing.T) {
	s := backendtest.Suite{AOT: aot.Backend{}, Runtime: rt.New(), Tolerance: 2e-2, Models: []string{
		"testdata/float16.pt2", "testdata/linear_int4_groups.pt2",
	}, Skips: map[string]string{"specs": "XNNPACK has no compile specs", "malformed": "TestSuite has it", "lifetime": "TestSuite has it"}}
	s.Run(t)
}

// TestOptions does so with options that change what a delegate gets.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options   string
		tolerance float64
	}{
		{"per_op_mode: true", 1e-5},
		{"force_non_static_weights_for_f32_linear: true", 1e-5},
		{"force_fp16: true", 3e-2},
		{`config_precisions: ["fp32"]`, 1e-5},
	} {
		t.Run(c.options, func(t *testing.T) {
			s := backendtest.Suite{AOT: aot.Backend{}, Runtime: rt.New(), Tolerance: c.tolerance,
				Entry:  `{id: "XnnpackBackend", partitioner: {` + c.options + `}}`,
				Models: []string{"testdata/convs.pt2", "testdata/norms.pt2"},
				Skips: map[string]string{"specs": "XNNPACK has no compile specs", "malformed": "TestSuite has it",
					"lifetime": "TestSuite has it", "deterministic": "TestSuite has it", "profiling": "TestSuite has it"}}
			s.Run(t)
		})
	}
}
