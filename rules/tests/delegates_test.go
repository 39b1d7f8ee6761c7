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
// instructions and payloads run: the program loads with them, and with none of them left out, but for those without which a payload runs as
// such that is inlined else. The kernels in a binary are the same.
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
				made, err := loads(b.program, needed)
				if err != nil {
					t.Errorf("with %v: %v", needed, err)
				}
				for i := range needed {
					if more, err := loads(b.program, slices.Delete(slices.Clone(needed), i, i+1)); err == nil && more <= made {
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

// counting counts the handles that XNNPACK's backend makes.
type counting struct {
	*xnnpack.Backend
	made *int
}

func (c counting) Init(ctx *backend.InitContext, processed *backend.FreeableBuffer, specs []backend.CompileSpec) (backend.Handle, error) {
	*c.made++
	return c.Backend.Init(ctx, processed, specs)
}

// loads loads a program and makes an instance of it, with the kernels of these names, and says how many handles XNNPACK's backend made.
func loads(program string, names []string) (made int, err error) {
	opts := executor.LoadOptions{Backends: []backend.Backend{demo.Backend{}, counting{xnnpack.New(), &made}}}
	for i, name := range op.KernelNames {
		if slices.Contains(names, name) {
			opts.Kernels = append(opts.Kernels, op.Kernels[i])
		}
	}
	p, err := executor.LoadFile(program, opts)
	if err != nil {
		return made, err
	}
	defer p.Close()
	inst, err := p.NewInstance()
	if err == nil {
		inst.Close()
	}
	return made, err
}
