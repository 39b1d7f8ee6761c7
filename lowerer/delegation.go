package lowerer

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// officialBackends are the backends that the official runtime has on every machine.
var officialBackends = []string{"XnnpackBackend"}

// reportDelegation fills in what the backends took and left. It runs when all passes have run.
func (l *Loaded) reportDelegation(r *report.Report, p *exir.EdgeProgram) error {
	if l.delegation == nil {
		return nil
	}
	backends := make([]backend.Backend, len(l.entries))
	for i := range l.entries {
		backends[i] = l.entries[i].Backend
	}
	s := &shares{loaded: l, report: r, macs: map[string]int64{}, nodes: map[string]int{}, specText: config.SpecTexts(backends)}
	r.Delegation = map[string]*report.Delegation{}
	for _, m := range p.Methods {
		for _, n := range l.delegation.Before[m.Name] {
			if at, ok := l.delegation.Taken[n]; ok {
				s.taken(l.delegation.Modules[at], n)
			}
		}
		_ = m.Graph.Walk(func(g *exir.Graph) error { // f gives no error
			for _, n := range g.Nodes {
				s.left(m, n)
			}
			return nil
		})
	}
	s.divide()
	for _, e := range l.entries {
		narrower, ok := e.Partitioner.(backend.Narrower)
		if d := r.Delegation[e.Backend.ID()]; d != nil && ok {
			d.Tolerance = max(d.Tolerance, narrower.Tolerance())
		}
	}
	return s.err
}

// shares counts the work of each backend, "" being the kernels.
type shares struct {
	loaded *Loaded
	report *report.Report
	macs   map[string]int64
	nodes  map[string]int
	// specText is the text of a compile spec of a backend, err its first error.
	specText func(id, key string, value []byte) (string, error)
	err      error
}

func (s *shares) of(module *exir.LoweredModule) *report.Delegation {
	d := s.report.Delegation[module.BackendID]
	if d == nil {
		d = &report.Delegation{Operators: map[string]int{}, CompileSpecs: map[string][]string{}}
		s.report.Delegation[module.BackendID] = d
		s.report.OfficialRuntime = s.report.OfficialRuntime && slices.Contains(officialBackends, module.BackendID)
	}
	return d
}

// taken counts a node that a backend has.
func (s *shares) taken(module *exir.LoweredModule, n *exir.Node) {
	if exir.IsPrim(n.Op) {
		return
	}
	s.nodes[module.BackendID]++
	s.macs[module.BackendID] += s.loaded.macsOf(n)
	s.of(module).Operators[exir.PythonName(n.Op.Name)]++
}

// left counts a delegate call or a node that no backend took.
func (s *shares) left(m *exir.Method, n *exir.Node) {
	switch {
	case n.Op == exir.CallDelegate:
		s.call(n)
		return
	case n.Op.Kind == "hop" || exir.IsPrim(n.Op):
		return
	}
	s.nodes[""]++
	s.macs[""] += s.loaded.macsOf(n)
	f := report.Fallback{Method: m.Name, Node: n.Name, Op: exir.PythonName(n.Op.Name), Module: n.Module, Where: placeOf(n), Reasons: []report.Reason{}}
	for _, refusal := range s.loaded.delegation.Refused[n] {
		for _, reason := range refusal.Reasons {
			f.Reasons = append(f.Reasons, report.Reason{Backend: refusal.Backend, Reason: reason})
		}
	}
	s.report.Fallback = append(s.report.Fallback, f)
}

// placeOf is the user's Python line of n as file:line, or "".
func placeOf(n *exir.Node) string {
	f := n.UserFrame()
	if f == nil {
		return ""
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}

func (s *shares) call(n *exir.Node) {
	module := n.Args[0].Lowered
	d := s.of(module)
	d.Partitions++
	d.Bytes += int64(len(module.Processed.Bytes))
	for _, c := range module.CompileSpecs {
		text, err := s.specText(module.BackendID, c.Key, c.Value)
		s.err = cmp.Or(s.err, err)
		if !slices.Contains(d.CompileSpecs[c.Key], text) {
			d.CompileSpecs[c.Key] = append(d.CompileSpecs[c.Key], text)
		}
	}
	for i := range n.Args[1:] {
		n.Args[1+i].EachValue(func(v **exir.Value) { d.BorderBytes += s.loaded.bytesOf(*v) })
	}
	for _, v := range n.Outs {
		d.BorderBytes += s.loaded.bytesOf(v)
	}
}

// divide turns counts into shares of the whole.
func (s *shares) divide() {
	var macs int64
	nodes := 0
	for id, n := range s.nodes {
		nodes += n
		macs += s.macs[id]
	}
	for id, d := range s.report.Delegation {
		d.Nodes = float64(s.nodes[id]) / float64(max(nodes, 1))
		d.Macs = float64(s.macs[id]) / float64(max(macs, 1))
	}
}

// largest is the upper bound of a size, or its hint where it has none.
func (l *Loaded) largest(d tensor.Dim) int64 {
	if !tensor.IsSymbol(d) {
		return d
	}
	if _, hi := l.table.Bounds(d); hi < 1<<31 {
		return max(hi, 0)
	}
	return max(l.table.Hint(d), 0)
}

func (l *Loaded) numel(sizes []tensor.Dim) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= l.largest(d)
	}
	return n
}

func (l *Loaded) bytesOf(v *exir.Value) int64 {
	if v == nil || v.Kind != exir.TensorValue {
		return 0
	}
	return l.numel(v.Spec.Sizes) * int64(v.Spec.DType.Size())
}

// products maps operators that multiply matrices to the argument whose last dimension is summed over.
var products = map[string]int{"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::linear": 0, "aten::matmul": 0}

// macsOf is the number of multiply-accumulates of n, with the largest sizes; 0 for anything but convolutions and
// products of matrices.
func (l *Loaded) macsOf(n *exir.Node) int64 {
	if at, ok := products[n.Op.Name]; ok {
		sizes := n.Args[at].Value.Spec.Sizes
		return l.numel(n.Outs[0].Spec.Sizes) * l.largest(sizes[len(sizes)-1])
	}
	if n.Op.Name != "aten::convolution" {
		return 0
	}
	x, weight := n.Args[0].Value.Spec.Sizes, n.Args[1].Value.Spec.Sizes
	perElement := l.numel(weight[1:]) // [out, in/groups, …], or [in, out/groups, …] if transposed
	if n.Args[6].Int != 0 {
		return l.numel(x) * perElement
	}
	return l.numel(n.Outs[0].Spec.Sizes) * perElement
}
