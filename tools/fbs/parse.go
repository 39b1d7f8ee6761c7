package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// decl is a table, struct, enum or union of a schema.
type decl struct {
	kind, name string
	fields     []field
	base       string   // of an enum
	members    []string // of a union
}

type field struct {
	name, typ string
	required  bool
}

// schema is the declarations of a .fbs file and all that it includes, in order.
type schema struct {
	root, identifier string
	decls            []*decl
	byName           map[string]*decl
}

var (
	comment   = regexp.MustCompile(`//[^\n]*`)
	include   = regexp.MustCompile(`include\s+"([^"]+)"\s*;`)
	ident     = regexp.MustCompile(`file_identifier\s+"([^"]+)"\s*;`)
	rootType  = regexp.MustCompile(`root_type\s+([\w.]+)\s*;`)
	block     = regexp.MustCompile(`(table|struct|enum|union)\s+(\w+)\s*(?::\s*(\w+))?\s*(?:\([^)]*\))?\s*\{([^}]*)\}`)
	fieldText = regexp.MustCompile(`^(\w+)\s*:\s*(\[?\s*[\w.]+\s*\]?)\s*(?:=\s*[^(]+)?(\(.*\))?$`)
)

func parseFile(path string, s *schema) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	src := comment.ReplaceAllString(string(text), "")
	for _, m := range include.FindAllStringSubmatch(src, -1) {
		if err := parseFile(filepath.Join(filepath.Dir(path), m[1]), s); err != nil {
			return err
		}
	}
	if m := ident.FindStringSubmatch(src); m != nil {
		s.identifier = m[1]
	}
	if m := rootType.FindStringSubmatch(src); m != nil {
		s.root = local(m[1])
	}
	for _, m := range block.FindAllStringSubmatch(src, -1) {
		d, err := parseDecl(m[1], m[2], m[3], m[4])
		if err != nil {
			return fmt.Errorf("parse %s %s: %w", m[1], m[2], err)
		}
		s.decls = append(s.decls, d)
		s.byName[d.name] = d
	}
	return nil
}

// local is a type's name without its namespace.
func local(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func parseDecl(kind, name, base, body string) (*decl, error) {
	d := &decl{kind: kind, name: name, base: base}
	if kind == "enum" {
		return d, nil
	}
	sep := ";"
	if kind == "union" {
		sep = ","
	}
	for _, item := range strings.Split(body, sep) {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if kind == "union" {
			d.members = append(d.members, unionMember(item))
			continue
		}
		m := fieldText.FindStringSubmatch(item)
		if m == nil {
			return nil, fmt.Errorf("parse field %q", item)
		}
		typ := strings.ReplaceAll(m[2], " ", "")
		d.fields = append(d.fields, field{m[1], typ, strings.Contains(m[3], "required")})
	}
	return d, nil
}

// unionMember is the table of "Table", "Alias: Table" or "Table = 1".
func unionMember(item string) string {
	if _, table, ok := strings.Cut(item, ":"); ok {
		item = table
	}
	name, _, _ := strings.Cut(item, "=")
	return local(strings.TrimSpace(name))
}

var scalarSizes = map[string]int{
	"bool": 1, "byte": 1, "ubyte": 1, "int8": 1, "uint8": 1,
	"short": 2, "ushort": 2, "int16": 2, "uint16": 2,
	"int": 4, "uint": 4, "int32": 4, "uint32": 4, "float": 4, "float32": 4,
	"long": 8, "ulong": 8, "int64": 8, "uint64": 8, "double": 8, "float64": 8,
}

// layout is the size and alignment of a scalar, enum or struct; ok is false for another type.
func (s *schema) layout(typ string) (size, align int, ok bool) {
	if n, ok := scalarSizes[typ]; ok {
		return n, n, true
	}
	d := s.byName[local(typ)]
	switch {
	case d == nil:
		return 0, 0, false
	case d.kind == "enum":
		n, ok := scalarSizes[d.base]
		return n, n, ok
	case d.kind != "struct":
		return 0, 0, false
	}
	align = 1
	for _, f := range d.fields {
		n, a, ok := s.layout(f.typ)
		if !ok {
			return 0, 0, false
		}
		size = (size+a-1)/a*a + n
		align = max(align, a)
	}
	return (size + align - 1) / align * align, align, true
}

func (s *schema) index(kind, name string) (int, error) {
	n := 0
	for _, d := range s.decls {
		if d.kind != kind {
			continue
		}
		if d.name == local(name) {
			return n, nil
		}
		n++
	}
	return 0, fmt.Errorf("find %s %s: not declared", kind, strconv.Quote(name))
}
