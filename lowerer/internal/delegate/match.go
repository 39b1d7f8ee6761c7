package delegate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Match selects nodes: those for which every field that is not empty fits.
type Match struct {
	// Name is a pattern of the node's name, with * and ?.
	Name string
	// Module is the path of an nn.Module; it and all within it fit.
	Module string
	// Op is the operator, "aten.tan.default" or "aten::tan", or the exported one that it came from.
	Op string
	// Line is a Python line, "model.py:12".
	Line string
	// Where is the user's position.
	Where string
}

func (m *Match) fits(n *exir.Node) bool {
	if ok, err := path.Match(m.Name, n.Name); m.Name != "" && (err != nil || !ok) {
		return false
	}
	if m.Module != "" && n.Module != m.Module && !strings.HasPrefix(n.Module, m.Module+".") {
		return false
	}
	if m.Op != "" && m.Op != exir.PythonName(n.Op.Name) && m.Op != n.Op.Name && m.Op != exir.PythonName(n.Source) && m.Op != n.Source {
		return false
	}
	return m.Line == "" || m.fitsLine(n)
}

func (m *Match) fitsLine(n *exir.Node) bool {
	for _, f := range n.Frames {
		at := f.File + ":" + strconv.Itoa(f.Line)
		if at == m.Line || strings.HasSuffix(at, "/"+m.Line) {
			return true
		}
	}
	return false
}

// Skips reports that the spec keeps n from the entry's backend.
func (e *Entry) Skips(n *exir.Node) bool {
	return slices.ContainsFunc(e.Skip, func(m Match) bool { return m.fits(n) })
}

// resolvePins finds the nodes that the entries' pins and skips name; one that names none is an error.
func (r *runner) resolvePins() error {
	r.pins, r.skips = map[*exir.Node]int{}, make([]map[*exir.Node]bool, len(r.entries))
	var errs diag.List
	for i := range r.entries {
		e := &r.entries[i]
		r.skips[i] = map[*exir.Node]bool{}
		errs = append(errs, r.each("pin", e.Pin, func(m *Match, n *exir.Node) *diag.Error {
			if at, ok := r.pins[n]; ok && at != i {
				return diag.New(diag.PinFailed, m.Where, "node %s is pinned to %s and to %s", n.Name, r.entries[at].Backend.ID(), e.Backend.ID())
			}
			r.pins[n] = i
			return nil
		})...)
		errs = append(errs, r.each("skip", e.Skip, func(m *Match, n *exir.Node) *diag.Error {
			r.skips[i][n] = true
			if at, ok := r.pins[n]; ok && at == i {
				return diag.New(diag.PinFailed, m.Where, "node %s is pinned and skipped for %s", n.Name, e.Backend.ID())
			}
			return nil
		})...)
	}
	return errs.Err()
}

func (r *runner) each(what string, matches []Match, f func(m *Match, n *exir.Node) *diag.Error) (errs diag.List) {
	for i := range matches {
		m, found := &matches[i], false
		for _, method := range r.p.Methods {
			for _, n := range r.result.Before[method.Name] {
				if !m.fits(n) {
					continue
				}
				found = true
				if err := f(m, n); err != nil {
					errs = append(errs, err)
				}
			}
		}
		if !found {
			errs = append(errs, diag.New(diag.PinFailed, m.Where, "%s names no node", what).
				WithHint("`pte lower --dump DIR` writes the nodes with their names, modules and lines"))
		}
	}
	return errs
}

// checkPins refuses a result that leaves a node that is pinned to entry i.
func (r *runner) checkPins(i int, t *backend.TaggedProgram) error {
	var errs diag.List
	for _, g := range t.Graphs() {
		for _, n := range g.Nodes {
			if at, ok := r.pins[n]; ok && at == i && t.TagOf(n) == "" {
				errs = append(errs, diag.New(diag.PinFailed, r.entries[i].Where, "pinned node %s (%s) was not taken by %s: %s",
					n.Name, exir.PythonName(n.Op.Name), r.entries[i].Backend.ID(), strings.Join(t.Reasons(n), "; ")))
			}
		}
	}
	return errs.Err()
}
