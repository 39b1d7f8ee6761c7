package lowerer

import (
	"os"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/emit"
	"github.com/rules-pte/rules_pte/lowerer/internal/pack"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// makeReport says what x will be once it is packed. Its size is an upper bound: packing may find constants of equal
// content, which no step before it may know.
func makeReport(x *exir.ExecutorchProgram, stats map[string]*emit.Stats) (*report.Report, error) {
	r := &report.Report{Methods: map[string]*report.MethodReport{}, OfficialRuntime: true}
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
	for _, c := range x.Constants {
		r.ConstantBytes += int64(c.Meta.Nbytes())
	}
	size, err := fileSize(x)
	r.FileBytes = size
	return r, err
}

func fillMethod(m *report.MethodReport, s *emit.Stats) {
	m.LowerBound = s.LowerBound
	for _, n := range s.Nodes {
		name := officialName(n.Op.Name)
		m.Operators[name]++
		node := report.Node{Name: n.Name, Op: name}
		if f := n.UserFrame(); f != nil {
			node.Where = f.File + ":" + strconv.Itoa(f.Line)
		}
		m.Nodes = append(m.Nodes, node)
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

// fileSize is the size of x with constants of zeros.
func fileSize(x *exir.ExecutorchProgram) (int64, error) {
	p := *x.Program
	p.ConstantBuffers, p.MutableData = zeros(x.Constants), zeros(x.Mutable)
	var n counter
	err := pte.Write(&n, &p)
	return int64(n), err
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// zeros are buffers of the constants' sizes that share one block.
func zeros(list []*exir.Constant) [][]byte {
	largest := 0
	for _, c := range list {
		largest = max(largest, c.Meta.Nbytes())
	}
	block := make([]byte, largest)
	out := [][]byte{nil}
	for _, c := range list {
		out = append(out, block[:c.Meta.Nbytes()])
	}
	return out
}

// checkLimits holds the plan against the target's memory banks.
func checkLimits(spec *config.Spec, r *report.Report, stats map[string]*emit.Stats) error {
	for name, s := range stats {
		if len(s.Unbounded) > 0 {
			return diag.New(diag.UnboundedDimension, "method "+name, "%s has a dimension without an upper bound", s.Unbounded[0]).
				WithHint("give it one in the spec: methods: %s: dynamic_shapes: INPUT: \"DIM\": max: N", name)
		}
	}
	for _, b := range spec.Target.Banks {
		if b.MemoryID == 1 && b.Size.V > 0 && r.ArenaBytes > b.Size.V {
			return diag.New(diag.BankOverflow, spec.Where(b.Size.Pos), "the plan needs %d bytes, memory bank %s has %d",
				r.ArenaBytes, b.Name, b.Size.V)
		}
	}
	return nil
}

func manifest(x *exir.ExecutorchProgram) *report.Manifest {
	m := &report.Manifest{}
	seen := map[string]bool{}
	for _, k := range x.Kernels {
		if !seen[k.Var] {
			seen[k.Var] = true
			m.Kernels = append(m.Kernels, k.Var)
		}
	}
	for _, p := range x.Program.Plans {
		m.Methods = append(m.Methods, p.Name)
	}
	return m
}

func readProgram(path string) (*exir.ExecutorchProgram, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.New(diag.FileRead, path, "%w", err)
	}
	defer f.Close()
	x, err := pack.Decode(f)
	if err != nil {
		return nil, diag.New(diag.StaleStep, path, "%w", err)
	}
	return x, nil
}
