package tests

import (
	"os"
	"slices"
	"testing"

	demo "github.com/rules-pte/rules_pte/backends/demo/rt"
	xnnpack "github.com/rules-pte/rules_pte/backends/xnnpack/rt"
	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// linkedDelegates are models whose runners with XNNPACK are built: for the others the manifest speaks, from which all is linked.
var linkedDelegates = []string{"digits", "vad", "ready/digits_int8", "ready/linear_int8_dynamic"}

// TestDelegatesLinkWhatTheyRun lowers each model for XNNPACK and for demo, and checks that the manifest has the kernels which
// instructions and payloads run: the program loads with them, and with none of them left out. The kernels in a binary are the
// same.
func TestDelegatesLinkWhatTheyRun(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	kernels, tools := variables(t, "var Kernels = []*Kernel{"), buildTools(t)
	for name, model := range models(t) {
		for _, backend := range []string{"xnnpack", "demo"} {
			t.Run(backend+"/"+name, func(t *testing.T) {
				b := tools.lower(t, model, "github.com/rules-pte/rules_pte/backends/"+backend)
				needed := manifestKernels(t, b.manifest)
				if err := loads(b.program, needed); err != nil {
					t.Errorf("with %v: %v", needed, err)
				}
				for i := range needed {
					if loads(b.program, slices.Delete(slices.Clone(needed), i, i+1)) == nil {
						t.Errorf("it loads without %s", needed[i])
					}
				}
				if backend != "xnnpack" || !slices.Contains(linkedDelegates, name) {
					return
				}
				tools.link(t, b, []string{backend}, noDWARF)
				if got := linked(t, b.binary, kernels); !slices.Equal(got, needed) {
					t.Errorf("linked kernels %v\nwant %v", got, needed)
				}
			})
		}
	}
}

// loads loads a program and makes an instance of it, with the kernels of these names.
func loads(program string, names []string) error {
	opts := executor.LoadOptions{Backends: []backend.Backend{demo.Backend{}, xnnpack.New()}}
	for i, name := range op.KernelNames {
		if slices.Contains(names, name) {
			opts.Kernels = append(opts.Kernels, op.Kernels[i])
		}
	}
	p, err := executor.LoadFile(program, opts)
	if err != nil {
		return err
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err == nil {
		inst.Close()
	}
	return err
}
