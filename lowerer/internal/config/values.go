package config

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
)

func field(v cue.Value, name string) cue.Value { return v.LookupPath(cue.MakePath(cue.Str(name))) }

// each calls f with the regular fields of v, in the order of the file.
func (l *loader) each(v cue.Value, f func(name Value[string], v cue.Value)) {
	if !v.Exists() {
		return
	}
	iter, err := v.Fields()
	if err != nil {
		return
	}
	for iter.Next() {
		f(Value[string]{iter.Selector().Unquoted(), l.place(l.labelPos(iter.Value())), true}, iter.Value())
	}
}

// typed reads the field by get; it has been validated, so that an error means that it is absent.
func typed[T any](l *loader, v cue.Value, name string, get func(cue.Value) (T, error)) Value[T] {
	x := field(v, name)
	got, _ := get(x)
	pos := l.place(l.userPos(x))
	return Value[T]{got, pos, pos.IsValid()}
}

func (l *loader) str(v cue.Value, name string) Value[string] {
	return typed(l, v, name, cue.Value.String)
}

func (l *loader) bool(v cue.Value, name string) Value[bool] { return typed(l, v, name, cue.Value.Bool) }

func (l *loader) int64(v cue.Value, name string) Value[int64] {
	return typed(l, v, name, cue.Value.Int64)
}

func (l *loader) int(v cue.Value, name string) Value[int] {
	x := l.int64(v, name)
	return Value[int]{int(x.V), x.Pos, x.Set}
}

func strs(v cue.Value, name string) (out []string) {
	_ = field(v, name).Decode(&out) // validated
	return out
}

// constant is the Go value of a #Constant.
func constant(v cue.Value) any {
	v, _ = v.Default()
	switch v.Kind() {
	case cue.BoolKind:
		b, _ := v.Bool()
		return b
	case cue.IntKind:
		i, _ := v.Int64()
		return i
	case cue.FloatKind:
		f, _ := v.Float64()
		return f
	case cue.StringKind:
		s, _ := v.String()
		return s
	}
	return constantList(v)
}

func constantList(v cue.Value) any {
	kinds := cue.Kind(0)
	items, _ := v.List()
	for items.Next() {
		kinds |= items.Value().Kind()
	}
	var bools []bool
	var ints []int64
	var floats []float64
	switch {
	case kinds == cue.BoolKind:
		_ = v.Decode(&bools)
		return bools
	case kinds&cue.FloatKind == 0:
		_ = v.Decode(&ints)
		return ints
	}
	_ = v.Decode(&floats)
	return floats
}

// user reports a position in the user's files, not in the schema.
func (l *loader) user(p token.Pos) bool {
	return p.IsValid() && (l.virtual[p.Filename()] != "" || !embedded(p.Filename()))
}

func embedded(filename string) bool {
	return filename == "" || strings.HasPrefix(filename, schemaDir) ||
		strings.Contains(filename, "/cue.mod/pkg/") || strings.Contains(filename, "/cue.mod/embedded/") || inTree(filename)
}

// inTree reports a file of the schema in this project's own tree.
func inTree(filename string) bool {
	for _, pkg := range []string{"backend", "lower", "report", "targets"} {
		if strings.HasSuffix(filename, "/cue/"+pkg+"/"+pkg+".cue") {
			return true
		}
	}
	return strings.HasSuffix(filename, "/backend.cue")
}

// place is p as a spec keeps it.
func (l *loader) place(p token.Pos) Pos {
	if !p.IsValid() {
		return ""
	}
	return Pos(l.where(p))
}

// userPos is where the user wrote v, among all the places that contribute to it.
func (l *loader) userPos(v cue.Value) token.Pos {
	if !v.Exists() {
		return token.NoPos
	}
	if src := v.Source(); src != nil && l.user(src.Pos()) {
		return src.Pos()
	}
	if p := v.Pos(); l.user(p) {
		return p
	}
	op, args := v.Expr()
	if op != cue.AndOp {
		return token.NoPos
	}
	for _, a := range args {
		if src := a.Source(); src != nil && l.user(src.Pos()) {
			return src.Pos()
		}
	}
	return token.NoPos
}

// labelPos is userPos of a field, at its name if the source shows it.
func (l *loader) labelPos(v cue.Value) token.Pos { return l.userPos(v) }
