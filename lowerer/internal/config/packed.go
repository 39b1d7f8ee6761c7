package config

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// Pending is a constraint of `expect` on a size that is known once the program is packed.
type Pending struct {
	// Field of the report: one of packedFields.
	Field string `json:"field"`
	// Want is the constraint in CUE, without references.
	Want string `json:"want"`
	// Where is the user's position.
	Where string `json:"where"`
}

// packedFields are the fields of a report that depend on which constants turn out equal.
var packedFields = []string{"file_bytes", "constant_bytes"}

// openPackedFields lets the packed fields of a report be anything.
func openPackedFields(report *ast.StructLit) {
	for _, d := range report.Elts {
		if f, ok := d.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil && slices.Contains(packedFields, name) {
				f.Value = ast.NewIdent("_")
			}
		}
	}
}

// later reports that the value at path is known after packing only.
func (c *comparison) later(path []string) bool {
	return !c.r.Packed && len(path) == 1 && slices.Contains(packedFields, path[0])
}

// postpone notes the constraint on the packed field at path, unless nothing can meet it.
func (c *comparison) postpone(want cue.Value, path []string) {
	if v := c.whole.LookupPath(cuePath(path)); v.Validate() != nil {
		c.contradicts(want, path, c.got.LookupPath(cuePath(path)), v.Validate())
		return
	}
	c.pending = append(c.pending, Pending{path[0], fmt.Sprint(c.plain.LookupPath(cuePath(path))), c.where(c.userPos(want))})
}

// CheckPacked holds the sizes, by their fields in the report, against what CheckExpect left pending. The error is a
// diag.List.
func CheckPacked(pending []Pending, sizes map[string]int64) error {
	ctx := cuecontext.New()
	var errs diag.List
	for _, p := range pending {
		want := ctx.CompileString(p.Want)
		got := ctx.Encode(sizes[p.Field])
		if err := want.Unify(got).Validate(cue.Concrete(true)); err != nil {
			errs = append(errs, diag.New(diag.ExpectFailed, p.Where, "%s: got %v, want %s", expectPath([]string{p.Field}), got, p.Want))
		}
	}
	return errs.Err()
}

// markerHead begins a file of WriteMarker.
const markerHead = "ok\n"

// WriteMarker writes what says that a check passed, and what it left pending.
func WriteMarker(w io.Writer, pending []Pending) error {
	if _, err := io.WriteString(w, markerHead); err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, p := range pending {
		if err := enc.Encode(p); err != nil {
			return fmt.Errorf("write marker: %w", err)
		}
	}
	return nil
}

// ReadMarker reads what WriteMarker wrote.
func ReadMarker(data []byte) (pending []Pending, err error) {
	text, ok := strings.CutPrefix(string(data), markerHead)
	if !ok {
		return nil, fmt.Errorf("read marker: want %q first", strings.TrimSpace(markerHead))
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	for dec.More() {
		var p Pending
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("read marker: %w", err)
		}
		if !slices.Contains(packedFields, p.Field) {
			return nil, fmt.Errorf("read marker: no size is called %q", p.Field)
		}
		pending = append(pending, p)
	}
	return pending, nil
}
