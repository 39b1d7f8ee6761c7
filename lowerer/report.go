package lowerer

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/emit"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/lowerer/internal/scratch"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// makeReport says what x will be once it is packed. Its size is an upper bound: packing may find constants of equal
// content, which no step before it may know.
func makeReport(spec *config.Spec, x *exir.ExecutorchProgram, stats map[string]*emit.Stats) (*report.Report, error) {
	t := &spec.Target
	r := &report.Report{Methods: map[string]*report.MethodReport{}, OfficialRuntime: true, Target: report.Target{
		Name: t.Name.V, OS: t.OS.V, Arch: t.Arch.V, PageSize: t.PageSize, CPUFeatures: t.CPUFeatures,
	}}
	for _, plan := range x.Program.Plans {
		m := &report.MethodReport{Instructions: len(plan.Chains[0].Instructions), Operators: map[string]int{}}
		for _, n := range plan.NonConstBufferSizes[1:] {
			m.Arenas = append(m.Arenas, n)
			r.ArenaBytes += n
		}
		if s := stats[plan.Name]; s != nil {
			fillMethod(m, s)
			r.OfficialRuntime = r.OfficialRuntime && len(s.Unbounded) == 0
		}
		r.Instructions += m.Instructions
		r.Methods[plan.Name] = m
	}
	for i, c := range x.Constants {
		if x.File(i) == "" {
			r.ConstantBytes += int64(c.Meta.Nbytes())
		}
	}
	r.ExternalBytes = externalBytes(x)
	size, err := fileSize(x)
	r.FileBytes = size
	return r, err
}

func fillMethod(m *report.MethodReport, s *emit.Stats) {
	m.LowerBound, m.Banks = s.LowerBound, s.Banks
	for _, n := range s.Nodes {
		name := officialName(n.Op.Name)
		m.Operators[name]++
		m.Nodes = append(m.Nodes, report.Node{Name: n.Name, Op: name, Module: n.Module, Where: placeOf(n)})
	}
	for _, k := range s.Kernels {
		m.Kernels = append(m.Kernels, report.Kernel{Op: k.Op, DType: k.DType, Name: k.Var})
	}
}

// officialName is "aten.add.Tensor" of "aten::add.Tensor", and "aten.relu.default" of "aten::relu".
func officialName(name string) string {
	name = strings.Replace(name, "::", ".", 1)
	if strings.Count(name, ".") == 1 {
		name += ".default"
	}
	return name
}

// checkPacked holds the sizes of a packed program against what the check of `expect` left pending.
func checkPacked(pending []config.Pending, fileBytes, constantBytes int64) error {
	return config.CheckPacked(pending, map[string]int64{"file_bytes": fileBytes, "constant_bytes": constantBytes})
}

// fileSize is the size of x with constants of zeros.
func fileSize(x *exir.ExecutorchProgram) (int64, error) {
	p := *x.Program
	room := new(scratch.Scratch)
	block := room.Alloc(max(largest(x.Constants), largest(x.Mutable)))
	p.ConstantBuffers, p.MutableData = parts(block, x.Constants), parts(block, x.Mutable)
	for i := range x.Constants {
		if x.File(i) != "" {
			p.ConstantBuffers[1+i] = nil
		}
	}
	for _, b := range x.Payloads {
		p.DelegateData = append(p.DelegateData, b.Bytes)
	}
	var n counter
	err := pte.Write(&n, &p)
	return int64(n) + namedSize(x), errors.Join(err, room.Close())
}

// namedEntry is the most that an entry of named data takes in the flatbuffer beside its key, in bytes.
const namedEntry = 96

// namedSize is the most that named data adds to the file: each entry is a segment of its own.
func namedSize(x *exir.ExecutorchProgram) (n int64) {
	gap := int64(max(x.Program.SegmentAlignment, pte.DefaultSegmentAlignment))
	for _, d := range x.NamedData {
		if d.ExternalTag != "" {
			continue
		}
		n += int64(d.Content.Meta.Nbytes()) + max(gap, int64(d.Alignment)) + int64(len(d.Key)) + namedEntry
	}
	return n
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// largest is the most bytes that one of list has.
func largest(list []*exir.Constant) int {
	n := 0
	for _, c := range list {
		n = max(n, c.Meta.Nbytes())
	}
	return n
}

// parts are buffers of the constants' sizes that share block.
func parts(block []byte, list []*exir.Constant) [][]byte {
	out := [][]byte{nil}
	for _, c := range list {
		out = append(out, block[:c.Meta.Nbytes()])
	}
	return out
}

// manifest is what a runtime of x needs; run are the backends that can say which kernels payloads run.
func manifest(x *exir.ExecutorchProgram, run []rtbackend.Backend) *report.Manifest {
	m := &report.Manifest{Target: report.ManifestTarget(x.Machine)}
	for _, k := range x.Kernels {
		m.Kernels = append(m.Kernels, k.Var)
	}
	m.Kernels = append(m.Kernels, delegatedKernels(x.Program, run)...)
	slices.Sort(m.Kernels)
	m.Kernels = slices.Compact(m.Kernels)
	for _, p := range x.Program.Plans {
		m.Methods = append(m.Methods, p.Name)
		for _, d := range p.Delegates {
			m.Backends = append(m.Backends, d.ID)
		}
	}
	slices.Sort(m.Backends)
	m.Backends = slices.Compact(m.Backends)
	return m
}

// delegatedKernels are the names of the kernels that the payloads of p run.
func delegatedKernels(p *pte.Program, run []rtbackend.Backend) (names []string) {
	users, used := map[string]rtbackend.KernelUser{}, map[*op.Kernel]bool{}
	for _, b := range run {
		if u, ok := b.(rtbackend.KernelUser); ok {
			users[b.ID()] = u
		}
	}
	all := op.NewTable(op.Kernels)
	for _, plan := range p.Plans {
		for _, d := range plan.Delegates {
			if u := users[d.ID]; u != nil {
				for _, k := range u.Kernels(p.DelegateData[d.Processed], all) {
					used[k] = true
				}
			}
		}
	}
	for i, k := range op.Kernels {
		if used[k] {
			names = append(names, op.KernelNames[i])
		}
	}
	return names
}

func readProgram(path string) (*exir.ExecutorchProgram, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil { // which has no path
			err = inner
		}
		return nil, diag.New(diag.FileRead, path, "%w", err)
	}
	x, err := pack.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, diag.New(diag.StaleStep, path, "%w", err).WithHint("it is what `pte lower program -o` writes")
	}
	return x, nil
}
