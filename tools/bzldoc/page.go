package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// symbol is one heading of the page.
type symbol struct {
	name, kind, file, doc string
	rows                  []row
}

// row is an attribute, an argument or a field.
type row struct{ name, kind, doc string }

// reference is the text for all public symbols of files: functions and rules first, providers after them.
func reference(root string, files []string) (string, error) {
	r := &reader{root, map[string]*module{}}
	var all []symbol
	for _, file := range files {
		m, err := r.read(file)
		if err != nil {
			return "", err
		}
		for _, name := range m.order {
			if strings.HasPrefix(name, "_") {
				continue
			}
			s, err := r.symbol(m, name)
			if err != nil {
				return "", err
			}
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b symbol) int {
		if d := strings.Compare(headings[a.kind], headings[b.kind]); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	var b strings.Builder
	for i, s := range all {
		if i == 0 || headings[all[i-1].kind] != headings[s.kind] {
			fmt.Fprintf(&b, "\n## %s\n", headings[s.kind])
		}
		s.write(&b)
	}
	return b.String(), nil
}

// headings are those of the page by a symbol's kind.
var headings = map[string]string{
	"rule": "Reference", "macro": "Reference", "test rule": "Reference", "repository_rule": "Reference", "module_extension": "Reference",
	"provider": "Reference of providers",
}

func (r *reader) symbol(m *module, name string) (symbol, error) {
	x, in, err := r.value(m, &build.Ident{Name: name})
	if err != nil {
		return symbol{}, err
	}
	s := symbol{name: name, file: m.file}
	switch x := x.(type) {
	case *build.DefStmt:
		err = r.macro(&s, x)
	case *build.CallExpr:
		err = r.call(&s, in, x)
	default:
		err = fmt.Errorf("%s: %s is no rule, function or provider", m.file, name)
	}
	if err == nil && s.doc == "" {
		err = fmt.Errorf("%s: %s has no documentation", in.file, name)
	}
	for _, row := range s.rows {
		if err == nil && row.doc == "" {
			err = fmt.Errorf("%s: %s: %s has no documentation", in.file, name, row.name)
		}
	}
	return s, err
}

// call reads rule(...), repository_rule(...), module_extension(...) or provider(...).
func (r *reader) call(s *symbol, m *module, call *build.CallExpr) (err error) {
	s.kind = name(call)
	if doc := argument(call, "doc"); doc != nil {
		if s.doc, err = r.text(m, doc); err != nil {
			return err
		}
	}
	list := "attrs"
	switch s.kind {
	case "rule":
		if t, ok := argument(call, "test").(*build.Ident); ok && t.Name == "True" {
			s.kind = "test rule"
		}
	case "provider":
		list = "fields"
	case "repository_rule", "module_extension":
	default:
		return fmt.Errorf("%s: %s is a %s, want a rule or provider", m.file, s.name, s.kind)
	}
	dict := argument(call, list)
	if dict == nil {
		return nil
	}
	entries, err := r.entries(m, dict)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.key, "_") {
			continue
		}
		row, err := r.row(e, list == "fields")
		if err != nil {
			return err
		}
		s.rows = append(s.rows, row)
	}
	slices.SortFunc(s.rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return nil
}

// row reads a field's text, or the call attr.TYPE(...).
func (r *reader) row(e entry, field bool) (row, error) {
	if field {
		doc, err := r.text(e.in, e.value)
		return row{name: e.key, doc: doc}, err
	}
	x, in, err := r.value(e.in, e.value)
	if err != nil {
		return row{}, err
	}
	call, ok := x.(*build.CallExpr)
	if !ok || !strings.HasPrefix(name(call), "attr.") {
		return row{}, fmt.Errorf("%s: attribute %s is no attr.TYPE(...)", in.file, e.key)
	}
	out := row{name: e.key, kind: strings.TrimPrefix(name(call), "attr.")}
	if d := argument(call, "default"); d != nil {
		out.kind += ", " + code(defaultText(d))
	}
	if m, ok := argument(call, "mandatory").(*build.Ident); ok && m.Name == "True" {
		out.kind += ", mandatory"
	}
	if doc := argument(call, "doc"); doc != nil {
		out.doc, err = r.text(in, doc)
	}
	return out, err
}

// defaultText is a default as a user would write it: Label("x") is "x".
func defaultText(x build.Expr) string {
	if call, ok := x.(*build.CallExpr); ok && name(call) == "Label" && len(call.List) == 1 {
		x = call.List[0]
	}
	return build.FormatString(x)
}

func code(s string) string { return "`" + s + "`" }

// macro reads a function: its docstring, whose part "Args:" documents the arguments.
func (r *reader) macro(s *symbol, def *build.DefStmt) error {
	s.kind = "macro"
	if len(def.Body) == 0 {
		return nil
	}
	doc, ok := def.Body[0].(*build.StringExpr)
	if !ok {
		return nil
	}
	text, args := docstring(doc.Value)
	s.doc = text
	for _, p := range def.Params {
		arg := row{}
		switch p := p.(type) {
		case *build.Ident:
			arg = row{name: p.Name, kind: "mandatory"}
		case *build.AssignExpr:
			arg = row{name: p.LHS.(*build.Ident).Name, kind: code(build.FormatString(p.RHS))}
		case *build.UnaryExpr:
			arg = row{name: build.FormatString(p)}
		}
		arg.doc = args[arg.name]
		delete(args, arg.name)
		s.rows = append(s.rows, arg)
	}
	for name := range args {
		return fmt.Errorf("%s documents %s, which is no argument", s.name, name)
	}
	return nil
}

// docstring splits a docstring into its text and that of the arguments.
func docstring(text string) (doc string, args map[string]string) {
	args = map[string]string{}
	var body strings.Builder
	arg := ""
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		name, rest, found := strings.Cut(trimmed, ": ")
		switch {
		case trimmed == "Args:":
			in = true
		case trimmed == "Returns:":
			return strings.TrimSpace(body.String()), args
		case !in:
			body.WriteString(strings.TrimPrefix(line, "    ") + "\n")
		case trimmed == "":
		case indent == 6 && found:
			arg = name
			args[arg] = rest
		default:
			args[arg] += " " + trimmed
		}
	}
	return strings.TrimSpace(body.String()), args
}

// write writes the heading, the documentation and a table.
func (s *symbol) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s of `%s`. %s\n", s.name, strings.ReplaceAll(s.kind, "_", " "), s.file, s.doc)
	if len(s.rows) == 0 {
		return
	}
	if s.kind == "provider" {
		b.WriteString("\n| field | |\n|---|---|\n")
	} else {
		b.WriteString("\n| attribute | type, default | |\n|---|---|---|\n")
	}
	for _, r := range s.rows {
		cells := []string{code(r.name)}
		if s.kind != "provider" {
			cells = append(cells, cell(r.kind))
		}
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(cells, " | "), cell(r.doc))
	}
}

// cell is a text that a table can hold.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
