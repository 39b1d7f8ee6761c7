package executor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// assertion is what a move of a condition to itself checks (pte.AssertsPrefix).
type assertion struct {
	// text is what has to hold, line where the user's program says so, or "".
	text, line string
	names      []string
	numbers    []int32 // values, of names
}

// loadAsserts gives the steps of a method their checks.
func (m *method) loadAsserts() error {
	for i := range m.plan.Values {
		lines, ok := strings.CutPrefix(m.plan.Values[i].String, pte.AssertsPrefix)
		if m.plan.Values[i].Type != pte.String || !ok {
			continue
		}
		for line := range strings.Lines(lines) {
			if !m.loadAssert(strings.Split(strings.TrimSuffix(line, "\n"), "\t")) {
				return fail(pte.InvalidProgram, "unusable assertion ", strconv.Quote(line))
			}
		}
	}
	return nil
}

func (m *method) loadAssert(f []string) bool {
	if len(f) < 3 || len(f)%2 == 0 {
		return false
	}
	pc, err := strconv.ParseUint(f[0], 10, 31)
	at, found := int(pc), true
	if m.origin != nil {
		at, found = slices.BinarySearch(m.origin, at)
	}
	if err != nil || !found || len(m.plan.Chains) == 0 || at >= len(m.plan.Chains[0].Instructions) {
		return false
	}
	s := &m.steps[at]
	if s.kind != pte.MoveCall || s.a != s.b || m.vals[s.a].Kind == op.Tensor {
		return false
	}
	s.assert = &assertion{text: f[1], line: f[2]}
	for pair := range slices.Chunk(f[3:], 2) {
		v, err := strconv.ParseUint(pair[1], 10, 31)
		if err != nil || v >= uint64(len(m.vals)) {
			return false
		}
		s.assert.names, s.assert.numbers = append(s.assert.names, pair[0]), append(s.assert.numbers, int32(v))
	}
	return true
}

// check is an error if the number v is false or zero.
func (a *assertion) check(m *Method, v *op.Value) error {
	if v.Kind == op.Float && v.Float != 0 || v.Kind != op.Float && v.Int != 0 {
		return nil
	}
	text := "assertion " + a.text + " does not hold"
	for i, n := range a.numbers {
		link := ", where "
		if i > 0 {
			link = " and "
		}
		text += link + a.names[i] + " is " + m.vals[n].String()
	}
	if a.line != "" {
		text += " (" + a.line + ")"
	}
	return fail(pte.InvalidArgument, text)
}
