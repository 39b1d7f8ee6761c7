package runcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// methodDelegation is what one method hands to backends, and what it leaves to kernels.
type methodDelegation struct {
	Method   string                      `json:"method"`
	Backends map[string]*backendShare    `json:"backends"`
	Kernels  map[string]*kernelCallsLeft `json:"kernels"`
	// KernelMACs are the multiply-accumulates of kernels, at the largest sizes.
	KernelMACs int64 `json:"kernel_macs"`

	counters map[string]backend.WorkCounter
	specText func(id, key string, value []byte) (string, error)
	err      error // the first of specText
}

// backendShare is what one backend has of a method.
type backendShare struct {
	Partitions int `json:"partitions"`
	// PayloadBytes are counted once for each partition, BorderBytes are those of its arguments at their largest.
	PayloadBytes int64               `json:"payload_bytes"`
	BorderBytes  int64               `json:"border_bytes"`
	CompileSpecs map[string][]string `json:"compile_specs"`
	// MACs are the multiply-accumulates of its payloads at the largest sizes, nil if it cannot say.
	MACs *int64 `json:"macs"`
}

// kernelCallsLeft is how often a kernel is called, and from which Python lines, where the file has them.
type kernelCallsLeft struct {
	Calls int      `json:"calls"`
	Lines []string `json:"lines"`
}

// DelegationOptions are those of Delegation.
type DelegationOptions struct {
	// Backends are known: they say how much work is in their payloads.
	Backends []backend.Backend
	// SpecText is the text of a compile spec of a backend.
	SpecText func(id, key string, value []byte) (string, error)
	// Report is the file of the report that was written with the program, "" for none. It has what the program has not:
	// which nodes were taken, and why others were left.
	Report string
	// JSON asks for JSON, of the program alone.
	JSON bool
}

// Delegation is "pte inspect --delegation": it prints what each method of the program at path hands to backends, and what it
// leaves. The error has a code.
func Delegation(path string, o *DelegationOptions, w io.Writer) error {
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
		m := &methodDelegation{counters: counters(o.Backends), specText: o.SpecText, Method: plan.Name,
			Backends: map[string]*backendShare{}, Kernels: map[string]*kernelCallsLeft{}}
		if m.plan(p, plan); m.err != nil {
			return fault(path, m.err)
		}
		all = append(all, m)
	}
	if o.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	for _, m := range all {
		m.print(w)
	}
	if o.Report == "" {
		return nil
	}
	return explain(o.Report, int64(len(b)), w)
}

// counters are the backends that can say how much work is in a payload, by id.
func counters(backends []backend.Backend) map[string]backend.WorkCounter {
	m := map[string]backend.WorkCounter{}
	for _, b := range backends {
		if c, ok := b.(backend.WorkCounter); ok {
			m[b.ID()] = c
		}
	}
	return m
}

// plan counts the calls of a method.
func (m *methodDelegation) plan(p *pte.Program, plan *pte.ExecutionPlan) {
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
				m.KernelMACs += kernelMACs(plan, plan.Operators[in.A].Name, in.Args)
			}
		}
	}
}

func (m *methodDelegation) delegate(p *pte.Program, plan *pte.ExecutionPlan, d *pte.BackendDelegate, args []int32) {
	s := m.Backends[d.ID]
	if s == nil {
		s = &backendShare{CompileSpecs: map[string][]string{}, MACs: new(int64)}
		m.Backends[d.ID] = s
	}
	s.Partitions++
	if d.Processed >= 0 && d.Processed < len(p.DelegateData) {
		s.PayloadBytes += int64(len(p.DelegateData[d.Processed]))
		s.count(m.counters[d.ID], p.DelegateData[d.Processed])
	}
	for _, c := range d.CompileSpecs {
		text, err := m.specText(d.ID, c.Key, c.Value)
		m.err = cmp.Or(m.err, err)
		if !slices.Contains(s.CompileSpecs[c.Key], text) {
			s.CompileSpecs[c.Key] = append(s.CompileSpecs[c.Key], text)
		}
	}
	for _, at := range args {
		if at >= 0 && int(at) < len(plan.Values) && plan.Values[at].Tensor != nil {
			s.BorderBytes += largest(plan.Values[at].Tensor)
		}
	}
}

// count adds the multiply-accumulates of a payload, as far as they are known.
func (s *backendShare) count(c backend.WorkCounter, processed []byte) {
	if c == nil {
		s.MACs = nil
	}
	if s.MACs == nil {
		return
	}
	if n, err := c.MACs(processed); err == nil {
		*s.MACs += n
	} else {
		s.MACs = nil
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

// kernelMACs are the multiply-accumulates of a kernel call.
func kernelMACs(plan *pte.ExecutionPlan, name string, args []int32) int64 {
	value := func(at int) *pte.EValue {
		if at < 0 || at >= len(args) || args[at] < 0 || int(args[at]) >= len(plan.Values) {
			return &pte.EValue{}
		}
		return &plan.Values[args[at]]
	}
	sizes := func(at int) (dims []tensor.Dim) {
		if t := value(at).Tensor; t != nil {
			for _, d := range t.Sizes {
				dims = append(dims, tensor.Dim(d))
			}
		}
		return dims
	}
	return op.MACs(name, sizes, sizes(len(args)-1), value(op.TransposedArg).Int != 0)
}

func (m *methodDelegation) kernel(o pte.Operator, frames []pte.Frame) {
	name := o.FullName()
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
		fmt.Fprintf(w, "  %s: partitions %d, payload bytes %d, border bytes %d", id, s.Partitions, s.PayloadBytes, s.BorderBytes)
		if s.MACs != nil {
			fmt.Fprintf(w, ", macs %d", *s.MACs)
		}
		fmt.Fprintln(w)
		for _, key := range slices.Sorted(maps.Keys(s.CompileSpecs)) {
			fmt.Fprintf(w, "    compile spec %s = %s\n", key, strings.Join(s.CompileSpecs[key], ", "))
		}
	}
	switch {
	case len(m.Kernels) == 0:
		fmt.Fprintln(w, "  kernels: none")
	case m.KernelMACs > 0:
		fmt.Fprintf(w, "  kernels: macs %d\n", m.KernelMACs)
	default:
		fmt.Fprintln(w, "  kernels")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Kernels)) {
		k := m.Kernels[name]
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("    %4d %s  %s", k.Calls, name, strings.Join(k.Lines, " ")), " "))
	}
}
