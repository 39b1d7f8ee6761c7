package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	schema "github.com/rules-pte/rules_pte/cue"
	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// where prints a position with the path as short as it can be.
func (l *loader) where(p token.Pos) string {
	if !p.IsValid() {
		return l.path
	}
	return fmt.Sprintf("%s:%d:%d", l.short(p.Filename()), p.Line(), p.Column())
}

func (l *loader) short(name string) string {
	if file, ok := l.virtual[name]; ok {
		return file
	}
	if len(l.files) > 0 && name == l.files[0] {
		return l.path
	}
	wd, err := os.Getwd()
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(wd, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return name
}

// errors turns CUE's errors into ours: one for each path, at the user's position.
func (l *loader) errors(err error, code diag.Code) diag.List { return l.errorsAt(err, code, l.schema) }

func (l *loader) errorsAt(err error, code diag.Code, schema cue.Value) diag.List {
	var out diag.List
	seen := map[string]bool{}
	all := errors.Errors(err)
	for _, e := range all {
		d := l.convert(e, code, schema)
		if isDisjunction(e) {
			d = l.disjunction(d, e, all, schema)
		} else if inDisjunction(e, all) {
			continue
		}
		if key := d.Where + d.Msg; !seen[key] {
			seen[key] = true
			out = append(out, d)
		}
	}
	out.Sort()
	return out
}

func isDisjunction(e errors.Error) bool {
	return strings.Contains(e.Error(), "errors in empty disjunction")
}

// inDisjunction reports an error of one branch of a disjunction that is reported as a whole.
func inDisjunction(e errors.Error, all []errors.Error) bool {
	for _, d := range all {
		if isDisjunction(d) && len(e.Path()) >= len(d.Path()) && slices.Equal(e.Path()[:len(d.Path())], d.Path()) {
			return true
		}
	}
	return false
}

// disjunction is one error for all branches: the schema's own message if it has one, else what is allowed. It stands at
// the value, to which the branches that conflict with it point.
func (l *loader) disjunction(d *diag.Error, e errors.Error, all []errors.Error, schema cue.Value) *diag.Error {
	path := l.relative(e.Path())
	var own *diag.Error
	place := token.NoPos
	for _, branch := range all {
		if isDisjunction(branch) || !slices.Equal(branch.Path(), e.Path()) {
			continue
		}
		if p := l.bestPos(branch); !place.IsValid() || deeper(p, place) {
			place = p
		}
		if b := l.convert(branch, diag.WrongValue, schema); own == nil && !strings.Contains(b.Msg, "conflicting values") {
			own = b
		}
	}
	if place.IsValid() {
		d.Where = l.where(place)
	}
	if own != nil {
		own.Where = d.Where
		return own
	}
	d.Code = diag.WrongValue
	want := "another value"
	if v := l.descend(path, schema); v.Exists() {
		want = fmt.Sprint(v)
	}
	d.Msg = fmt.Sprintf("%s: want %s", strings.Join(path, "."), want)
	if got := l.source(e.Path()); got != "" {
		d.Msg = fmt.Sprintf("%s: got %s, want %s", strings.Join(path, "."), got, want)
	}
	return d
}

// source is what the user wrote at path, "" if that cannot be shown.
func (l *loader) source(path []string) string {
	v := l.root.LookupPath(cuePath(path))
	op, args := v.Expr()
	if op != cue.AndOp {
		args = []cue.Value{v}
	}
	for _, a := range args {
		if src := a.Source(); src != nil && l.user(src.Pos()) {
			if f, ok := src.(*ast.Field); ok {
				src = f.Value
			}
			text, err := format.Node(src)
			if err == nil {
				return string(text)
			}
		}
	}
	return ""
}

// convert is one of CUE's errors with its code, the user's position and a hint.
func (l *loader) convert(e errors.Error, code diag.Code, schema cue.Value) *diag.Error {
	verb, args := e.Msg()
	msg := strings.TrimSpace(fmt.Sprintf(verb, args...))
	if inner := errors.Unwrap(e); inner != nil && !strings.Contains(msg, inner.Error()) {
		msg = strings.Trim(msg+": "+inner.Error(), ": ")
	}
	path := l.relative(e.Path())
	d := &diag.Error{Code: code, Where: l.where(l.bestPos(e)), Msg: msg, Err: e}
	switch {
	case strings.Contains(msg, "field not allowed") && len(path) > 0:
		if outer := l.known(path, schema) + 1; outer < len(path) {
			d.Where = l.where(l.around(e.Path()[:len(e.Path())-len(path)+outer]))
			path = path[:outer]
		}
		l.unknownField(d, path, schema)
		return d
	case strings.Contains(msg, "undefined field"), strings.HasPrefix(msg, "reference"):
		l.unknownReference(d, msg)
		return d
	case strings.Contains(msg, "is required but not present"), strings.Contains(msg, "incomplete value"):
		d.Code = diag.MissingField
		if len(path) == 3 && path[0] == "partition" && path[2] == "id" {
			d.Hint = "an entry is a #Backend, such as xnnpack.#Backend"
		}
	case strings.HasPrefix(msg, "import failed"), strings.HasPrefix(msg, "cannot find"), strings.Contains(msg, "is not built into"):
		d.Code = diag.UnknownImport
		if i := strings.Index(msg, "cannot find package"); i >= 0 {
			d.Msg, _, _ = strings.Cut(msg[i:], ": cannot find")
			d.Hint = "a backend is linked in by its label in `backends` of pte_lowerer, another package is a pte_spec in `deps`, or given by --import: `pte explain PTE1008`"
			if n := l.nearestPackage(strings.Trim(strings.TrimPrefix(d.Msg, "cannot find package "), `"`)); n != "" {
				d.Hint = fmt.Sprintf("did you mean %q?", n)
			}
		}
	}
	l.mismatch(d, e.Path(), path)
	if len(path) > 0 {
		d.Msg = strings.Join(path, ".") + ": " + d.Msg
	}
	return d
}

// What to write for a name in quotes where a value of a package is wanted.
const (
	hintBackend = `import its package, such as "` + schema.Module + `/backends/xnnpack", and write partition: [xnnpack.#Backend]`
	hintTarget  = `import "` + schema.Module + `/cue/targets" and write target: targets.any, or another of its targets`
)

// nearestPackage is the import path that differs from got in its last element alone, and there the least, or "".
func (l *loader) nearestPackage(got string) string {
	var names []string
	add := func(importPath string) {
		if path.Dir(importPath) == path.Dir(got) {
			names = append(names, path.Base(importPath))
		}
	}
	for file := range embeddedFiles(l.backends) {
		add(path.Dir(file))
	}
	for _, imp := range l.imports {
		add(imp.Path)
	}
	slices.Sort(names)
	if n := diag.Nearest(path.Base(got), names); n != "" {
		return path.Join(path.Dir(got), n)
	}
	return ""
}

// mismatch says in a word what was wanted where CUE prints the whole definition that a value does not fit.
func (l *loader) mismatch(d *diag.Error, full, path []string) {
	_, types, ok := strings.Cut(d.Msg, "(mismatched types ")
	if !strings.HasPrefix(d.Msg, "conflicting values") || !ok || len(path) == 0 {
		return
	}
	one, other, _ := strings.Cut(strings.TrimSuffix(types, ")"), " and ")
	got := l.source(full)
	if got == "" {
		got, _, _ = strings.Cut(strings.TrimPrefix(d.Msg, "conflicting values "), " and ")
	}
	want := "fields in braces"
	if one == "list" || other == "list" {
		want = "a list"
	}
	if strings.ContainsAny(got, "\n{") || want != "a list" && one != "struct" && other != "struct" {
		return
	}
	switch {
	case path[0] == "partition" && len(path) == 1 && want == "a list":
		d.Hint = hintBackend
		if !strings.HasPrefix(got, `"`) {
			d.Hint = fmt.Sprintf("write partition: [%s]", got)
		}
	case path[0] == "partition" && len(path) == 2:
		want, d.Hint = "a backend", hintBackend
	case path[0] == "target" && len(path) == 1:
		want, d.Hint = "a target", hintTarget
	case path[0] == "methods" && len(path) == 2:
		d.Hint = fmt.Sprintf("write %s: model: %s", strings.Join(path, ": "), got)
	}
	d.Msg = fmt.Sprintf("got %s, want %s", got, want)
}

// relative drops the program's own name, and the schema's, from an error's path.
func (l *loader) relative(path []string) []string {
	if len(path) > 0 && (strings.HasPrefix(path[0], "#") || path[0] == l.prog) {
		return path[1:]
	}
	return path
}

func (l *loader) bestPos(e errors.Error) token.Pos {
	best := token.NoPos
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if l.user(p) && (!best.IsValid() || deeper(p, best)) {
			best = p
		}
	}
	if !best.IsValid() {
		return l.around(e.Path())
	}
	return best
}

// around is the place of the nearest thing around path that the user wrote.
func (l *loader) around(path []string) token.Pos {
	for n := len(path); n > 0; n-- {
		if p := l.userPos(l.root.LookupPath(cuePath(path[:n]))); p.IsValid() {
			return p
		}
	}
	return token.NoPos
}

// deeper prefers later places of a file: the value over the line that embeds the schema.
func deeper(p, q token.Pos) bool {
	return p.Filename() == q.Filename() && p.Offset() > q.Offset()
}

// known is how many of path's names the schema has, from the front.
func (l *loader) known(path []string, schema cue.Value) int {
	for n := range path {
		if !l.descend(path[:n+1], schema).Exists() {
			return n
		}
	}
	return len(path)
}

func (l *loader) unknownField(d *diag.Error, path []string, schema cue.Value) {
	name := path[len(path)-1]
	parent := strings.Join(path[:len(path)-1], ".")
	d.Code = diag.UnknownField
	d.Msg = fmt.Sprintf("unknown field %q", name)
	if parent != "" {
		d.Msg += " in " + parent
	}
	allowed := fieldNames(l.descend(path[:len(path)-1], schema))
	if len(allowed) == 0 {
		return
	}
	d.Hint = "allowed: " + strings.Join(allowed, ", ")
	if n := diag.Nearest(name, allowed); n != "" {
		d.Hint = fmt.Sprintf("did you mean %q? ", n) + d.Hint
	}
}

// descend is descend from schema, or from the schema of the backend whose entry in partition path leads into.
func (l *loader) descend(path []string, schema cue.Value) cue.Value {
	if len(path) < 2 || path[0] != "partition" {
		return descend(schema, path)
	}
	program := l.root
	if l.prog != "" {
		program = program.LookupPath(cue.MakePath(cue.Str(l.prog)))
	}
	i, err := strconv.Atoi(path[1])
	if err != nil {
		return descend(schema, path)
	}
	id, err := program.LookupPath(cue.MakePath(cue.Str("partition"), cue.Index(i), cue.Str("id"))).String()
	for j, b := range l.backends {
		if err == nil && b.ID() == id {
			return descend(l.entries[j], path[2:])
		}
	}
	return descend(schema, path)
}

// descend follows path in the schema, through patterns and lists where a name is the user's own.
func descend(v cue.Value, path []string) cue.Value {
	for _, p := range path {
		next := v.LookupPath(cue.MakePath(cue.Str(p).Optional()))
		if !next.Exists() {
			next = v.LookupPath(cue.MakePath(cue.AnyString))
		}
		if !next.Exists() {
			next = v.LookupPath(cue.MakePath(cue.AnyIndex))
		}
		v = next
	}
	return v
}

func fieldNames(v cue.Value) (names []string) {
	iter, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for iter.Next() {
		names = append(names, iter.Selector().Unquoted())
	}
	sort.Strings(names)
	return names
}

// unknownReference adds the near names of the package that a selector reaches into.
func (l *loader) unknownReference(d *diag.Error, msg string) {
	d.Code = diag.UnknownReference
	i := strings.LastIndexByte(msg, ' ')
	name := strings.Trim(msg[i+1:], `"`)
	if strings.HasPrefix(msg, "reference") { // `reference "lower" not found`
		if parts := strings.Split(msg, `"`); len(parts) > 1 {
			d.Hint = l.importHint(parts[1])
		}
		return
	}
	names := fieldNames(l.targets)
	if n := diag.Nearest(name, names); n != "" {
		d.Hint = fmt.Sprintf("did you mean %q? targets: %s", n, strings.Join(names, ", "))
	}
}

// importHint says how to import the package that is called name, if it comes with the tool.
func (l *loader) importHint(name string) string {
	var packages []string
	for _, p := range ownPackages {
		packages = append(packages, path.Join(schema.Module, p))
	}
	for _, b := range l.backends {
		packages = append(packages, b.Schema().ImportPath)
	}
	for _, p := range packages {
		if path.Base(p) == name {
			return fmt.Sprintf("import %q", p)
		}
	}
	return ""
}

// nearest is a hint with the name nearest to got, or "".
func nearest(got string, names []string) string {
	if n := diag.Nearest(got, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
