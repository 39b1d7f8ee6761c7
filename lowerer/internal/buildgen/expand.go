package buildgen

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// scope has the values of names, as literals: strings, numbers, lists and tuples.
type scope struct {
	names map[string]build.Expr
	// files are those of the package, for glob.
	files func() ([]string, error)
}

// expand finds the rules that list comprehensions of the file make. They have the comment `# keep`, since nothing can
// change one of them alone. It is an error if a comprehension with a rule that is written here cannot be read, unless it has that
// comment itself.
func (f *folder) expand(root string) error {
	s := &scope{names: map[string]build.Expr{}, files: func() ([]string, error) {
		return packageFiles(filepath.Join(root, filepath.FromSlash(f.dir)))
	}}
	for _, stmt := range f.file.Stmt {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			if name, ok := x.LHS.(*build.Ident); ok {
				s.names[name.Name] = s.eval(x.RHS)
			}
		case *build.Comprehension:
			call, ok := x.Body.(*build.CallExpr)
			if !ok || !slices.Contains(kinds, build.NewRule(call).Kind()) {
				continue
			}
			if !s.rules(call, x.Clauses, &f.made) && !keeps(x.Comment()) && !keeps(call.Comment()) {
				start, _ := x.Span()
				return diag.New(diag.FileRead, fmt.Sprintf("%s:%d", f.file.Path, start.Line), "cannot read which targets this list comprehension makes").
					WithHint("use lists of strings or tuples, glob, +, %%, format, replace and removesuffix, or write # keep above it")
			}
		}
	}
	return nil
}

// decisive are the attributes by which targets are found.
var decisive = []string{"name", "spec", "program", "programs", "importpath"}

// rules adds what a call makes below for clauses, and reports whether all could be read.
func (s *scope) rules(call *build.CallExpr, clauses []build.Expr, made *[]*build.Rule) bool {
	if len(clauses) == 0 {
		fresh := &build.CallExpr{X: call.X}
		fresh.Comments.Suffix = []build.Comment{{Token: "# keep"}}
		r := build.NewRule(fresh)
		for _, key := range build.NewRule(call).AttrKeys() {
			value := s.eval(build.NewRule(call).Attr(key))
			if value == nil && slices.Contains(decisive, key) {
				return false
			}
			if value != nil {
				r.SetAttr(key, value)
			}
		}
		*made = append(*made, r)
		return true
	}
	clause, ok := clauses[0].(*build.ForClause)
	if !ok {
		return false
	}
	values, ok := elements(s.eval(clause.X))
	return ok && !slices.ContainsFunc(values, func(v build.Expr) bool {
		inner := &scope{names: maps.Clone(s.names), files: s.files}
		return !inner.bind(clause.Vars, v) || !inner.rules(call, clauses[1:], made)
	})
}

// bind gives variables of a for clause their values.
func (s *scope) bind(vars, value build.Expr) bool {
	if name, ok := vars.(*build.Ident); ok {
		s.names[name.Name] = value
		return true
	}
	names, ok := elements(vars)
	values, isList := elements(value)
	if !ok || !isList || len(names) != len(values) {
		return false
	}
	for i, n := range names {
		if !s.bind(n, values[i]) {
			return false
		}
	}
	return true
}

// elements are those of a list or a tuple.
func elements(x build.Expr) ([]build.Expr, bool) {
	switch x := x.(type) {
	case *build.ListExpr:
		return x.List, true
	case *build.TupleExpr:
		return x.List, true
	}
	return nil, false
}

// texts are the values of a list of strings.
func texts(x build.Expr) ([]string, bool) {
	list, ok := elements(x)
	out := make([]string, len(list))
	for i, e := range list {
		s, isString := e.(*build.StringExpr)
		if !isString {
			return nil, false
		}
		out[i] = s.Value
	}
	return out, ok
}

func text(value string) build.Expr { return &build.StringExpr{Value: value} }

// eval gives a literal, or nil for what is not known here.
func (s *scope) eval(x build.Expr) build.Expr {
	switch x := x.(type) {
	case *build.StringExpr, *build.LiteralExpr:
		return x
	case *build.Ident:
		return s.names[x.Name]
	case *build.ParenExpr:
		return s.eval(x.X)
	case *build.TupleExpr:
		return s.evalList(x.List)
	case *build.ListExpr:
		return s.evalList(x.List)
	case *build.BinaryExpr:
		return s.binary(x)
	case *build.SliceExpr:
		return s.slice(x)
	case *build.CallExpr:
		return s.call(x)
	}
	return nil
}

func (s *scope) evalList(list []build.Expr) build.Expr {
	out := &build.ListExpr{}
	for _, e := range list {
		v := s.eval(e)
		if v == nil {
			return nil
		}
		out.List = append(out.List, v)
	}
	return out
}

func (s *scope) binary(x *build.BinaryExpr) build.Expr {
	left, right := s.eval(x.X), s.eval(x.Y)
	a, isText := left.(*build.StringExpr)
	switch {
	case left == nil || right == nil:
	case x.Op == "+" && isText:
		if b, ok := right.(*build.StringExpr); ok {
			return text(a.Value + b.Value)
		}
	case x.Op == "+":
		as, isList := elements(left)
		bs, ok := elements(right)
		if isList && ok {
			return &build.ListExpr{List: slices.Concat(as, bs)}
		}
	case x.Op == "%" && isText:
		args, ok := texts(right)
		if b, one := right.(*build.StringExpr); one {
			args, ok = []string{b.Value}, true
		}
		if ok {
			return fill(a.Value, "%s", args)
		}
	}
	return nil
}

// fill replaces each mark by one argument; nil if their numbers differ or another verb is left.
func fill(format, mark string, args []string) build.Expr {
	parts := strings.Split(format, mark)
	if len(parts) != len(args)+1 || strings.ContainsAny(strings.Join(parts, ""), "%{}") {
		return nil
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(args) {
			b.WriteString(args[i])
		}
	}
	return text(b.String())
}

// slice takes bytes of a string between numbers, as in name[:-4].
func (s *scope) slice(x *build.SliceExpr) build.Expr {
	t, ok := s.eval(x.X).(*build.StringExpr)
	if !ok || x.Step != nil {
		return nil
	}
	from, ok := index(x.From, 0, len(t.Value))
	to, known := index(x.To, len(t.Value), len(t.Value))
	if !ok || !known {
		return nil
	}
	return text(t.Value[from:max(from, to)])
}

// index is a number within a string of n bytes, counted from the end if it is negative.
func index(x build.Expr, without, n int) (int, bool) {
	sign := 1
	if u, ok := x.(*build.UnaryExpr); ok && u.Op == "-" {
		sign, x = -1, u.X
	}
	if x == nil {
		return without, true
	}
	l, ok := x.(*build.LiteralExpr)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(l.Token)
	if i *= sign; i < 0 {
		i += n
	}
	return min(max(i, 0), n), err == nil
}

// call knows glob and methods of strings.
func (s *scope) call(x *build.CallExpr) build.Expr {
	if name, ok := x.X.(*build.Ident); ok && name.Name == "glob" {
		return s.glob(build.NewRule(x), x)
	}
	method, ok := x.X.(*build.DotExpr)
	if !ok {
		return nil
	}
	on, ok := s.eval(method.X).(*build.StringExpr)
	args, known := texts(s.evalList(x.List))
	switch {
	case !ok || !known:
	case method.Name == "format":
		return fill(on.Value, "{}", args)
	case method.Name == "replace" && len(args) == 2:
		return text(strings.ReplaceAll(on.Value, args[0], args[1]))
	case method.Name == "removesuffix" && len(args) == 1:
		return text(strings.TrimSuffix(on.Value, args[0]))
	case method.Name == "removeprefix" && len(args) == 1:
		return text(strings.TrimPrefix(on.Value, args[0]))
	}
	return nil
}

// glob gives the files of the package that match.
func (s *scope) glob(r *build.Rule, x *build.CallExpr) build.Expr {
	include := r.Attr("include")
	if len(x.List) > 0 && include == nil {
		include = x.List[0]
	}
	want, ok := texts(s.eval(include))
	var but []string
	if exclude := r.Attr("exclude"); exclude != nil && ok {
		but, ok = texts(s.eval(exclude))
	}
	files, err := s.files()
	if !ok || err != nil {
		return nil
	}
	return list(slices.DeleteFunc(files, func(name string) bool { return !matchesAny(want, name) || matchesAny(but, name) }))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return matches(strings.Split(p, "/"), strings.Split(name, "/"))
	})
}

// matches is how Bazel's glob compares: ** is any number of folders.
func matches(pattern, name []string) bool {
	switch {
	case len(pattern) == 0 || len(name) == 0:
		return len(pattern) == len(name)
	case pattern[0] == "**":
		return len(pattern) == 1 || matches(pattern[1:], name) || matches(pattern, name[1:])
	}
	ok, err := path.Match(pattern[0], name[0])
	return ok && err == nil && matches(pattern[1:], name[1:])
}

// packageFiles are the files below a folder that belong to no other package, in order.
func packageFiles(dir string) (files []string, err error) {
	root := os.DirFS(dir)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			files = append(files, name)
			return err
		}
		for _, b := range []string{"BUILD", "BUILD.bazel"} {
			if _, err := fs.Stat(root, path.Join(name, b)); name != "." && err == nil {
				return fs.SkipDir
			}
		}
		return nil
	})
	return files, err
}
