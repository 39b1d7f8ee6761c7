package exir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// text is the module in lines, as they stand below the call:
//
//	lowered lowered_module_0 XnnpackBackend:
//	  specs ["precision"=(66703332)]
//	  payload (00000000)
//	  key 0 "pte-content-key:…"
//	  handles "1" = [4, 5]
//	  padding 64
//	  method forward
//	  …
//
// A line that would say nothing is left out. The method is what the backend got.
func (l *LoweredModule) text(b *strings.Builder, indent string, symbols Symbols) {
	fmt.Fprintf(b, "%slowered %s %s:\n", indent, quoteName(l.Name), quoteName(l.BackendID))
	indent += "  "
	if len(l.CompileSpecs) > 0 {
		b.WriteString(indent + "specs " + specsText(l.CompileSpecs) + "\n")
	}
	if len(l.Processed.Bytes) > 0 {
		fmt.Fprintf(b, "%spayload (%s)\n", indent, hex.EncodeToString(l.Processed.Bytes))
	}
	for _, k := range l.Processed.Places {
		fmt.Fprintf(b, "%skey %d %q\n", indent, k.Offset, k.Key)
	}
	for _, id := range slices.Sorted(maps.Keys(l.DebugHandles)) {
		handles := make([]string, len(l.DebugHandles[id]))
		for i, h := range l.DebugHandles[id] {
			handles[i] = strconv.Itoa(h)
		}
		fmt.Fprintf(b, "%shandles %q = [%s]\n", indent, id, strings.Join(handles, ", "))
	}
	if l.ArenaPadding != 0 {
		fmt.Fprintf(b, "%spadding %d\n", indent, l.ArenaPadding)
	}
	if l.Program == nil {
		return
	}
	for _, m := range l.Program.Methods {
		for line := range strings.Lines(m.Text(symbols)) {
			b.WriteString(indent + line)
		}
	}
}

func specsText(specs []pte.CompileSpec) string {
	texts := make([]string, len(specs))
	for i, s := range specs {
		texts[i] = strconv.Quote(s.Key) + "=(" + hex.EncodeToString(s.Value) + ")"
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// specs reads compile specs in brackets.
func (p *parser) specs() ([]pte.CompileSpec, error) {
	var list []pte.CompileSpec
	err := p.items("[", "]", func() error {
		key, err := p.quoted()
		if err == nil {
			err = p.want("=")
		}
		if err != nil {
			return err
		}
		value, err := p.hex()
		list = append(list, pte.CompileSpec{Key: key, Value: value})
		return err
	})
	return list, err
}

// lowered reads the module below a call whose line has this indent.
func (p *parser) lowered(indent int) (*LoweredModule, error) {
	if p.graphs++; p.graphs > maxNesting {
		return nil, errors.New("graphs nested too deeply")
	}
	defer func() { p.graphs-- }()
	if !p.next(indent+2) || !p.keyword("lowered") {
		return nil, errors.New("want lowered and the module, indented")
	}
	l := &LoweredModule{}
	var err error
	if l.Name, err = p.name(); err == nil {
		l.BackendID, err = p.name()
	}
	if err == nil {
		err = p.want(":")
	}
	for err == nil && p.at < len(p.lines) && p.lines[p.at].indent == indent+4 && !strings.HasPrefix(p.lines[p.at].text, "method ") {
		p.next(indent + 4)
		if err = p.loweredLine(l); err == nil {
			err = p.end()
		}
	}
	if err != nil {
		return nil, err
	}
	return l, p.loweredMethod(l, indent+4)
}

func (p *parser) loweredLine(l *LoweredModule) (err error) {
	switch word := p.run(isWord); word {
	case "specs":
		l.CompileSpecs, err = p.specs()
	case "payload":
		l.Processed.Bytes, err = p.hex()
	case "key":
		k := KeyPlace{}
		if k.Offset, err = p.count(); err == nil {
			k.Key, err = p.quoted()
		}
		l.Processed.Places = append(l.Processed.Places, k)
	case "handles":
		err = p.handles(l)
	case "padding":
		l.ArenaPadding, err = p.count()
	default:
		err = fmt.Errorf("unexpected %q", word)
	}
	return err
}

func (p *parser) handles(l *LoweredModule) error {
	id, err := p.quoted()
	if err == nil {
		err = p.want("=")
	}
	if err != nil {
		return err
	}
	if l.DebugHandles == nil {
		l.DebugHandles = map[string][]int{}
	}
	l.DebugHandles[id], err = p.counts("[", "]")
	return err
}

// loweredMethod reads the method that stands below with at least this indent, if one does.
func (p *parser) loweredMethod(l *LoweredModule, indent int) error {
	inner := &parser{
		dims:   dims{scanner: &scanner{}, symbols: p.symbols, known: map[string]int64{}},
		method: &Method{Graph: &Graph{}}, consts: map[string]*Value{}, graphs: p.graphs,
	}
	for ; p.at < len(p.lines) && p.lines[p.at].indent >= indent; p.at++ {
		line := p.lines[p.at]
		line.indent -= indent
		inner.lines = append(inner.lines, line)
	}
	if len(inner.lines) == 0 {
		return nil
	}
	if err := inner.parse(); err != nil {
		return fmt.Errorf("line %d: %w", inner.line(), err)
	}
	l.Program = &EdgeProgram{Program: Program{Methods: []*Method{inner.method}}}
	return nil
}
