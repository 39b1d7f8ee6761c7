package buildgen

import (
	"path"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// defs is where the rules are loaded from in a BUILD file that loads none of them yet.
const defs = "@rules_pte//rules:defs.bzl"

// write brings the rules of the folder up to date.
func (f *folder) write(w *workspace) {
	if f.library != "" {
		f.writeLibrary()
	}
	f.dropStale()
	for i := range f.programs {
		f.writeProgram(w, &f.programs[i])
	}
	f.writeLoads()
}

// writeLibrary writes the folder's pte_spec.
func (f *folder) writeLibrary() {
	r := f.find("pte_spec", func(r *build.Rule) bool { return r.AttrString("importpath") == f.library })
	if r == nil {
		r = f.add("pte_spec", f.libraryName())
		r.SetAttr("importpath", &build.StringExpr{Value: f.library})
		r.SetAttr("visibility", list([]string{"//visibility:public"}))
	}
	if kept(r) {
		return
	}
	setList(r, "srcs", f.cue)
	setList(r, "deps", f.libraryDeps)
}

// writeProgram writes the targets of a program: the names of those that are there stay, and so do attributes that do not
// follow from the spec.
func (f *folder) writeProgram(w *workspace, p *program) {
	r := f.find("pte_program", func(r *build.Rule) bool {
		return localFile(r.AttrString("spec")) == p.spec && r.AttrString("program") == p.field
	})
	if r == nil {
		r = f.add("pte_program", p.name+"_pte")
		r.SetAttr("spec", &build.StringExpr{Value: p.spec})
	}
	if !kept(r) {
		f.setModels(w, r, p.models)
		setList(r, "deps", p.deps)
		if p.field != "" {
			r.SetAttr("program", &build.StringExpr{Value: p.field})
		}
	}
	label := ":" + r.Name()
	uses := func(r *build.Rule) bool { return slices.Contains(r.AttrStrings("programs"), label) }
	if f.find("pte_runtime", uses) == nil {
		setList(f.add("pte_runtime", p.name), "programs", []string{label})
	}
	f.writeTest(p, label)
}

// writeTest writes the program's pte_test, if there are cases.
func (f *folder) writeTest(p *program, label string) {
	cases := f.casesOf(p)
	r := f.find("pte_test", func(r *build.Rule) bool { return r.AttrString("program") == label })
	if r == nil && len(cases) > 0 {
		r = f.add("pte_test", p.name+"_test")
		r.SetAttr("program", &build.StringExpr{Value: label})
	}
	if r != nil && !kept(r) && len(cases) > 0 {
		setList(r, "cases", cases)
	}
}

// casesOf are the JSON files in cases/NAME, or in cases for the only program of a folder.
func (f *folder) casesOf(p *program) (cases []string) {
	for _, c := range f.cases {
		dir := path.Dir(c)
		if dir == "cases/"+p.name || dir == "cases" && len(f.programs) == 1 {
			cases = append(cases, c)
		}
	}
	return cases
}

// dropStale removes the programs whose spec is gone, and what depends on them.
func (f *folder) dropStale() {
	gone := map[string]bool{}
	for _, r := range f.file.Rules("pte_program") {
		spec := localFile(r.AttrString("spec"))
		if strings.HasSuffix(spec, ".pte.cue") && !strings.ContainsAny(spec, ":/") && !slices.Contains(f.specs, spec) && !kept(r) {
			gone[":"+r.Name()] = true
			f.remove(r)
		}
	}
	for _, r := range f.file.Rules("pte_test") {
		if gone[r.AttrString("program")] && !kept(r) {
			f.remove(r)
		}
	}
	for _, r := range f.file.Rules("pte_runtime") {
		programs := r.AttrStrings("programs")
		left := slices.DeleteFunc(slices.Clone(programs), func(p string) bool { return gone[p] })
		switch {
		case len(left) == len(programs) || kept(r):
		case len(left) == 0:
			f.remove(r)
		default:
			setList(r, "programs", left)
		}
	}
}

// find is the first rule of a kind with a property, or nil.
func (f *folder) find(kind string, is func(*build.Rule) bool) *build.Rule {
	for _, r := range f.rules(kind) {
		if is(r) {
			return r
		}
	}
	return nil
}

// rules are those of a kind, with what list comprehensions make.
func (f *folder) rules(kind string) []*build.Rule {
	all := f.file.Rules(kind)
	for _, r := range f.made {
		if r.Kind() == kind {
			all = append(all, r)
		}
	}
	return all
}

// add adds a rule at the end; if the name is taken, one with the kind behind it.
func (f *folder) add(kind, name string) *build.Rule {
	named := func(r *build.Rule) bool { return r.Name() == name }
	if f.file.RuleNamed(name) != nil || slices.ContainsFunc(f.made, named) {
		name += strings.TrimPrefix(kind, "pte")
	}
	call := &build.CallExpr{X: &build.Ident{Name: kind}}
	r := build.NewRule(call)
	r.SetAttr("name", &build.StringExpr{Value: name})
	f.file.Stmt = append(f.file.Stmt, call)
	return r
}

func (f *folder) remove(r *build.Rule) {
	if f.removed == nil {
		f.removed = map[string]bool{}
	}
	f.removed[r.Kind()] = true
	f.file.Stmt = slices.DeleteFunc(f.file.Stmt, func(s build.Expr) bool { return s == build.Expr(r.Call) })
}

// keeps reports the comment `# keep`.
func keeps(c *build.Comments) bool {
	for _, x := range append(slices.Clone(c.Before), c.Suffix...) {
		if text := strings.TrimSpace(strings.TrimPrefix(x.Token, "#")); text == "keep" || strings.HasPrefix(text, "keep ") {
			return true
		}
	}
	return false
}

func kept(r *build.Rule) bool { return keeps(r.Call.Comment()) }

// setModels sets the list of models, or a dict where a model belongs to another package. What is neither stays.
func (f *folder) setModels(w *workspace, r *build.Rule, models []string) {
	switch r.Attr("models").(type) {
	case nil, *build.ListExpr, *build.DictExpr:
	default: // a glob, a select
		return
	}
	labels := make([]string, len(models))
	plain := true
	for i, m := range models {
		labels[i] = f.modelLabel(w, m)
		plain = plain && labels[i] == m
	}
	if _, ok := r.Attr("models").(*build.DictExpr); !ok && plain {
		setList(r, "models", models)
		return
	}
	setDict(r, "models", labels, models)
}

// modelLabel is the label of a model's file: its path below the nearest folder with a BUILD file.
func (f *folder) modelLabel(w *workspace, model string) string {
	full := path.Join(f.dir, model)
	for dir := path.Dir(full); ; dir = path.Dir(dir) {
		if dir == "." {
			dir = ""
		}
		if dir == f.dir {
			return model
		}
		if at := w.folders[dir]; dir == "" || at != nil && at.build != "" {
			return "//" + dir + ":" + strings.TrimPrefix(strings.TrimPrefix(full, dir), "/")
		}
	}
}

func list(values []string) *build.ListExpr {
	l := &build.ListExpr{}
	for _, v := range values {
		l.List = append(l.List, &build.StringExpr{Value: v})
	}
	return l
}

// setList makes an attribute the list of values, with the comments of elements that stay, and the elements that are to be
// kept. What is no list stays.
func setList(r *build.Rule, attr string, values []string) {
	old, ok := r.Attr(attr).(*build.ListExpr)
	if r.Attr(attr) != nil && !ok {
		return
	}
	if !ok {
		if len(values) > 0 {
			r.SetAttr(attr, list(values))
		}
		return
	}
	if keeps(r.AttrDefn(attr).Comment()) {
		return
	}
	fresh := list(values)
	for _, e := range old.List {
		s, ok := e.(*build.StringExpr)
		i := -1
		if ok {
			i = slices.Index(values, s.Value)
		}
		switch {
		case i >= 0:
			fresh.List[i] = s
		case !ok || keeps(s.Comment()):
			fresh.List = append(fresh.List, e)
		}
	}
	old.List = fresh.List
	if len(old.List) == 0 {
		r.DelAttr(attr)
	}
}

// setDict makes an attribute the dict of labels to keys, with the entries that stay or are to be kept.
func setDict(r *build.Rule, attr string, labels, keys []string) {
	old, ok := r.Attr(attr).(*build.DictExpr)
	if r.AttrDefn(attr) != nil && keeps(r.AttrDefn(attr).Comment()) {
		return
	}
	fresh := &build.DictExpr{ForceMultiLine: true}
	for i, l := range labels {
		fresh.List = append(fresh.List, &build.KeyValueExpr{Key: &build.StringExpr{Value: l}, Value: &build.StringExpr{Value: keys[i]}})
	}
	if !ok {
		fresh.List = append(fresh.List, keptEntries(r.Attr(attr))...)
		r.SetAttr(attr, fresh)
		return
	}
	for _, e := range old.List {
		value, _ := e.Value.(*build.StringExpr)
		i := -1
		if value != nil {
			i = slices.Index(keys, value.Value)
		}
		switch {
		case i >= 0: // the user knows best which target has the model
			fresh.List[i] = e
		case keeps(e.Comment()):
			fresh.List = append(fresh.List, e)
		}
	}
	old.List = fresh.List
}

// keptEntries are the elements of a list that are to be kept, as entries of a dict: a file of this package is its own key.
func keptEntries(attr build.Expr) (entries []*build.KeyValueExpr) {
	old, ok := attr.(*build.ListExpr)
	if !ok {
		return nil
	}
	for _, e := range old.List {
		if s, ok := e.(*build.StringExpr); ok && keeps(s.Comment()) {
			key := &build.StringExpr{Value: s.Value}
			entries = append(entries, &build.KeyValueExpr{Comments: s.Comments, Key: key, Value: &build.StringExpr{Value: localFile(s.Value)}})
		}
	}
	return entries
}

// kinds are the rules that are written.
var kinds = []string{"pte_program", "pte_runtime", "pte_spec", "pte_test"}

// identifiers are the names in the file outside of its loads.
func (f *folder) identifiers() map[string]bool {
	used := map[string]bool{}
	for _, s := range f.file.Stmt {
		if _, ok := s.(*build.LoadStmt); ok {
			continue
		}
		build.Walk(s, func(x build.Expr, _ []build.Expr) {
			if id, ok := x.(*build.Ident); ok {
				used[id.Name] = true
			}
		})
	}
	return used
}

// writeLoads loads the rules that are used, and no longer those that dropStale has made unused.
func (f *folder) writeLoads() {
	used := f.identifiers()
	var load *build.LoadStmt
	loaded := map[string]bool{}
	for _, s := range f.file.Stmt {
		l, ok := s.(*build.LoadStmt)
		if !ok {
			continue
		}
		for _, name := range l.To {
			loaded[name.Name] = true
		}
		if strings.HasSuffix(l.Module.Value, "//rules:defs.bzl") && load == nil {
			load = l
		}
	}
	var missing []string
	for _, kind := range kinds {
		if used[kind] && !loaded[kind] {
			missing = append(missing, kind)
		}
	}
	switch {
	case load == nil && len(missing) == 0:
		return
	case load == nil:
		load = &build.LoadStmt{Module: &build.StringExpr{Value: defs}, ForceCompact: true}
		f.insert(load)
	}
	f.changeLoad(load, missing, used)
}

// changeLoad adds what is missing to a load, and takes out what was removed and is not used; an empty one goes.
func (f *folder) changeLoad(load *build.LoadStmt, missing []string, used map[string]bool) {
	var from, to []*build.Ident
	for i, name := range load.To {
		if used[name.Name] || !f.removed[load.From[i].Name] {
			from, to = append(from, load.From[i]), append(to, name)
		}
	}
	for _, kind := range missing {
		from, to = append(from, &build.Ident{Name: kind}), append(to, &build.Ident{Name: kind})
	}
	load.From, load.To = from, to
	build.SortLoadArgs(load)
	if len(to) == 0 {
		f.file.Stmt = slices.DeleteFunc(f.file.Stmt, func(s build.Expr) bool { return s == build.Expr(load) })
	}
}

// insert puts a load after the file's comment and the other loads.
func (f *folder) insert(load *build.LoadStmt) {
	at := 0
	for i, s := range f.file.Stmt {
		switch s.(type) {
		case *build.LoadStmt:
			at = i + 1
		case *build.CommentBlock, *build.StringExpr:
			if at == i {
				at = i + 1
			}
		}
	}
	f.file.Stmt = slices.Insert(f.file.Stmt, at, build.Expr(load))
}
