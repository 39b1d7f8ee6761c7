package runcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	lowered "github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// methodDelegation is what one method hands to backends, and what it leaves to kernels.
type methodDelegation struct {
	Method   string                      `json:"method"`
	Backends map[string]*backendShare    `json:"backends"`
	Kernels  map[string]*kernelCallsLeft `json:"kernels"`
}

// backendShare is what one backend has of a method.
type backendShare struct {
	Partitions int `json:"partitions"`
	// PayloadBytes are counted once for each partition, BorderBytes are those of its arguments at their largest.
	PayloadBytes int64               `json:"payload_bytes"`
	BorderBytes  int64               `json:"border_bytes"`
	CompileSpecs map[string][]string `json:"compile_specs"`
}

// kernelCallsLeft is how often a kernel is called, and from which Python lines, where the file has them.
type kernelCallsLeft struct {
	Calls int      `json:"calls"`
	Lines []string `json:"lines"`
}

// Delegation is "pte inspect --delegation": it prints what each method of the program at path hands to backends, and what
// it leaves. The error has a code.
func Delegation(path string, asJSON bool, w io.Writer) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fault(path, err)
	}
	p, err := pte.Read(b)
	if err != nil {
		return fault(path, err)
	}
	var all []*methodDelegation
	for _, plan := range p.Plans {
		all = append(all, delegationOf(p, plan))
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	for _, m := range all {
		m.print(w)
	}
	return nil
}

func delegationOf(p *pte.Program, plan *pte.ExecutionPlan) *methodDelegation {
	m := &methodDelegation{plan.Name, map[string]*backendShare{}, map[string]*kernelCallsLeft{}}
	for _, chain := range plan.Chains {
		for i, in := range chain.Instructions {
			switch {
			case in.Type == pte.DelegateCall && in.A >= 0 && int(in.A) < len(plan.Delegates):
				m.delegate(p, plan, &plan.Delegates[in.A], in.Args)
			case in.Type == pte.KernelCall && in.A >= 0 && int(in.A) < len(plan.Operators):
				var frames []pte.Frame
				if i < len(chain.Stacktrace) {
					frames = chain.Stacktrace[i]
				}
				m.kernel(plan.Operators[in.A], frames)
			}
		}
	}
	return m
}

func (m *methodDelegation) delegate(p *pte.Program, plan *pte.ExecutionPlan, d *pte.BackendDelegate, args []int32) {
	s := m.Backends[d.ID]
	if s == nil {
		s = &backendShare{CompileSpecs: map[string][]string{}}
		m.Backends[d.ID] = s
	}
	s.Partitions++
	if d.Processed >= 0 && d.Processed < len(p.DelegateData) {
		s.PayloadBytes += int64(len(p.DelegateData[d.Processed]))
	}
	for _, c := range d.CompileSpecs {
		if text := lowered.SpecText(c.Value); !slices.Contains(s.CompileSpecs[c.Key], text) {
			s.CompileSpecs[c.Key] = append(s.CompileSpecs[c.Key], text)
		}
	}
	for _, at := range args {
		if at >= 0 && int(at) < len(plan.Values) && plan.Values[at].Tensor != nil {
			s.BorderBytes += largest(plan.Values[at].Tensor)
		}
	}
}

// largest is the bytes of t at its largest sizes.
func largest(t *pte.Tensor) int64 {
	n := int64(t.ScalarType.Size())
	for _, d := range t.Sizes {
		n *= int64(d)
	}
	return n
}

func (m *methodDelegation) kernel(o pte.Operator, frames []pte.Frame) {
	name := strings.TrimSuffix(o.Name+"."+o.Overload, ".")
	k := m.Kernels[name]
	if k == nil {
		k = &kernelCallsLeft{Lines: []string{}}
		m.Kernels[name] = k
	}
	k.Calls++
	if len(frames) == 0 {
		return
	}
	last := frames[len(frames)-1]
	if line := fmt.Sprintf("%s:%d", last.Filename, last.Lineno); !slices.Contains(k.Lines, line) {
		k.Lines = append(k.Lines, line)
	}
}

func (m *methodDelegation) print(w io.Writer) {
	fmt.Fprintf(w, "method %s\n", m.Method)
	for _, id := range slices.Sorted(maps.Keys(m.Backends)) {
		s := m.Backends[id]
		fmt.Fprintf(w, "  %s: partitions %d, payload bytes %d, border bytes %d\n", id, s.Partitions, s.PayloadBytes, s.BorderBytes)
		for _, key := range slices.Sorted(maps.Keys(s.CompileSpecs)) {
			fmt.Fprintf(w, "    compile spec %s = %s\n", key, strings.Join(s.CompileSpecs[key], ", "))
		}
	}
	fmt.Fprintln(w, "  kernels"+map[bool]string{true: ": none"}[len(m.Kernels) == 0])
	for _, name := range slices.Sorted(maps.Keys(m.Kernels)) {
		k := m.Kernels[name]
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("    %4d %s  %s", k.Calls, name, strings.Join(k.Lines, " ")), " "))
	}
}
