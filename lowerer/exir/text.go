package exir

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Symbols names symbolic sizes and makes those that a text declares; *symint.Table implements it. A range whose
// end is math.MinInt64 or math.MaxInt64 is open there. Node takes an expression apart: op is "symbol" for one with
// a name, and args are the operands of any other.
type Symbols interface {
	tensor.Expressions
	Symbol(name string, min, max, hint int64) tensor.Dim
	Node(d tensor.Dim) (op string, args []tensor.Dim, name string)
	Bounds(d tensor.Dim) (lo, hi int64)
	Hint(d tensor.Dim) int64
	String(d tensor.Dim) string
}

// Text is the method in lines, which ParseMethod reads back:
//
//	method forward
//	symbol s0 in [2, 8] hint 4
//	const @fc.weight: f32[3, 4] = weight(record="data/weights/weight_0", offset=0, size=48, strides=[4, 1])
//	const @one: f32[] = literal(0000803f)
//	input %x: f32[s0, 4]
//	parameter fc.weight %p_fc_weight: f32[3, 4] = @fc.weight
//	%linear: f32[s0, 3] = aten::linear(%x, %p_fc_weight, None)  # 1 model.py:25 fc
//	%add: f32[s0, 3] = aten::add.Tensor(%linear, @one)  # 2 model.py:26
//	output %add
//
// Sizes are written as symbols name them. Arguments stand in the order of the schema; those after its * have names,
// and are left out where they have their default. What follows # is the exported node's number (the debug handle),
// the Python line and the module. Nested graphs are indented under their node.
//
// A constant whose name another one has gets a number; besides that nothing is lost but the Python frames above the
// user's own, folders of Python files, and the origin's Source.
func (m *Method) Text(symbols Symbols) string {
	p := &printer{symbols: symbols, consts: map[*Constant]string{}, taken: map[string]bool{}, known: map[*Value]bool{}}
	body := p.method(m)
	var b strings.Builder
	fmt.Fprintf(&b, "method %s\n", quoteName(m.Name))
	for _, s := range []struct{ key, text string }{{"in_spec", m.InSpec}, {"out_spec", m.OutSpec}} {
		if s.text != "" {
			fmt.Fprintf(&b, "%s %q\n", s.key, s.text)
		}
	}
	for _, s := range p.order {
		b.WriteString(s)
	}
	b.WriteString(p.defs.String() + body)
	return b.String()
}

// printer writes one method. Constants and symbols are noted when they are first met, and stand at the top.
type printer struct {
	symbols Symbols
	order   []string // lines of symbols
	seen    map[tensor.Dim]bool
	defs    strings.Builder // lines of constants
	consts  map[*Constant]string
	taken   map[string]bool
	known   map[*Value]bool // inputs of the graph being printed
}

func (p *printer) method(m *Method) string {
	for _, r := range m.Ranges {
		p.note(r.Dim)
	}
	var b strings.Builder
	for i, v := range m.Graph.Inputs {
		b.WriteString(p.input(&m.Inputs[i], v) + "\n")
	}
	p.nodes(&b, m.Graph, "")
	for i := range m.Graph.Outputs {
		b.WriteString(outputWords(&m.Outputs[i]) + p.arg(&m.Graph.Outputs[i]) + "\n")
	}
	return b.String()
}

// inputWords are the words for kinds of inputs.
var inputWords = [...]string{UserInput: "input", Parameter: "parameter", Buffer: "buffer", TensorConstant: "constant", ConstantInput: "value"}

// persistent is what an input of this kind is if nothing else is said.
func persistent(k InputKind) bool { return k == Parameter || k == Buffer }

func (p *printer) input(s *InputSpec, v *Value) string {
	line := inputWords[s.Kind]
	if s.Persistent != persistent(s.Kind) {
		line += map[bool]string{true: "(persistent)", false: "(non_persistent)"}[s.Persistent]
	}
	if s.Target != "" {
		line += " " + quoteName(s.Target)
	}
	if s.Kind == ConstantInput {
		return line + " = " + p.arg(&s.Value)
	}
	return line + " " + p.placeholder(v)
}

// placeholder is the declaration of a graph's input.
func (p *printer) placeholder(v *Value) string {
	if v == nil {
		return "None"
	}
	p.known[v] = true
	text := p.value(v)
	if v.Const != nil {
		text += " = @" + p.constant(v.Const)
	}
	return text
}

func outputWords(s *OutputSpec) string {
	switch s.Kind {
	case BufferMutation:
		return "mutate buffer " + quoteName(s.Target) + " = "
	case UserInputMutation:
		return "mutate input " + quoteName(s.Target) + " = "
	}
	return "output "
}

func (p *printer) nodes(b *strings.Builder, g *Graph, indent string) {
	for _, n := range g.Nodes {
		b.WriteString(indent + p.node(n) + "\n")
		for i := range n.Args {
			switch a := &n.Args[i]; a.Kind {
			case ArgGraph:
				b.WriteString(indent + "  graph:\n")
				p.nested(b, a.Graph, indent+"    ")
			case ArgLowered:
				a.Lowered.text(b, indent+"  ", p.symbols)
			}
		}
	}
}

func (p *printer) nested(b *strings.Builder, g *Graph, indent string) {
	defer func(outer map[*Value]bool) { p.known = outer }(p.known)
	p.known = map[*Value]bool{}
	for _, v := range g.Inputs {
		b.WriteString(indent + "input " + p.placeholder(v) + "\n")
	}
	p.nodes(b, g, indent)
	b.WriteString(indent + "return " + p.list(g.Outputs) + "\n")
}

func (p *printer) node(n *Node) string {
	outs := make([]string, len(n.Outs))
	first := ""
	for i, v := range n.Outs {
		if outs[i] = "_"; v != nil {
			outs[i] = p.value(v)
			if first == "" {
				first = v.Name
			}
		}
	}
	line := strings.Join(outs, ", ")
	if len(outs) == 0 {
		line = "()"
	}
	line += " = " + p.call(n.Op, n.Args)
	if n.Name != first {
		line += " as " + quoteName(n.Name)
	}
	return line + originText(&n.Origin)
}

// call is an operator with its arguments.
func (p *printer) call(s *Schema, args []Arg) string {
	var parts []string
	for i := range args {
		text := p.arg(&args[i])
		if i < len(s.Args) && s.Args[i].KwOnly {
			if s.Args[i].HasDefault && p.arg(&s.Args[i].Default) == text {
				continue
			}
			text = s.Args[i].Name + "=" + text
		}
		parts = append(parts, text)
	}
	return s.Name + "(" + strings.Join(parts, ", ") + ")"
}

func originText(o *Origin) string {
	f := o.UserFrame()
	if o.DebugHandle == 0 && f == nil && o.Module == "" {
		return ""
	}
	text := "  # " + strconv.Itoa(o.DebugHandle)
	switch {
	case f != nil:
		text += " " + quoteName(f.File[strings.LastIndexByte(f.File, '/')+1:]) + ":" + strconv.Itoa(f.Line)
	case o.Module != "":
		text += " -"
	}
	if o.Module != "" {
		text += " " + quoteName(o.Module)
	}
	return text
}

// value is a value's name and type.
func (p *printer) value(v *Value) string {
	name := "%" + quoteName(v.Name) + ": "
	switch v.Kind {
	case SymInt:
		return name + "int(" + p.dim(v.Sym) + ")"
	case SymFloat:
		return name + "float"
	case SymBool:
		return name + "bool"
	}
	return name + p.meta(&v.Spec)
}

// meta is a tensor's type, such as f32[2, s0]{1,0}: sizes, and the dim order where it is not contiguous.
func (p *printer) meta(m *tensor.Meta) string {
	sizes := make([]string, len(m.Sizes))
	for i, s := range m.Sizes {
		sizes[i] = p.dim(s)
	}
	text := m.DType.Short() + "[" + strings.Join(sizes, ", ") + "]"
	if m.DimOrder == nil {
		return text
	}
	order := make([]string, len(m.DimOrder))
	for i, d := range m.DimOrder {
		order[i] = strconv.Itoa(int(d))
	}
	return text + "{" + strings.Join(order, ",") + "}"
}

func (p *printer) dim(d tensor.Dim) string {
	if !tensor.IsSymbol(d) || p.symbols == nil {
		return strconv.FormatInt(d, 10)
	}
	p.note(d)
	return p.symbols.String(d)
}

// note declares the symbols in d.
func (p *printer) note(d tensor.Dim) {
	if !tensor.IsSymbol(d) || p.seen[d] {
		return
	}
	if p.seen == nil {
		p.seen = map[tensor.Dim]bool{}
	}
	p.seen[d] = true
	op, args, name := p.symbols.Node(d)
	if op != "symbol" {
		for _, a := range args {
			p.note(a)
		}
		return
	}
	lo, hi := p.symbols.Bounds(d)
	p.order = append(p.order, fmt.Sprintf("symbol %s in [%s, %s] hint %d\n", name, endText(lo), endText(hi), p.symbols.Hint(d)))
}

func endText(n int64) string {
	switch n {
	case math.MinInt64:
		return "-inf"
	case math.MaxInt64:
		return "inf"
	}
	return strconv.FormatInt(n, 10)
}

// memoryFormats are c10's memory formats by number.
var memoryFormats = [...]string{"torch.contiguous_format", "torch.preserve_format", "torch.channels_last", "torch.channels_last_3d"}

func (p *printer) arg(a *Arg) string {
	switch a.Kind {
	case ArgNone:
		return "None"
	case ArgValue:
		if v := a.Value; v.Const != nil && v.Node == nil && !p.known[v] {
			return "@" + p.constant(v.Const)
		}
		return "%" + quoteName(a.Value.Name)
	case ArgInt:
		return p.dim(a.Int)
	case ArgFloat:
		return floatText(a.Float)
	case ArgBool:
		return strconv.FormatBool(a.Int != 0)
	case ArgString:
		return strconv.Quote(a.Str)
	case ArgDevice:
		return "device(" + strconv.Quote(a.Str) + ")"
	case ArgDType:
		return "torch." + tensor.ScalarType(a.Int).String()
	case ArgMemoryFormat:
		return memoryFormats[a.Int&3]
	case ArgLayout:
		return "torch.strided"
	case ArgGraph:
		return "graph"
	case ArgLowered:
		return "lowered"
	}
	return p.list(a.List)
}

func (p *printer) list(args []Arg) string {
	parts := make([]string, len(args))
	for i := range args {
		parts[i] = p.arg(&args[i])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// floatText is the shortest text that reads back as x, and shows that it is no integer.
func floatText(x float64) string {
	text := strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64))
	text = strings.TrimPrefix(text, "+")
	if strings.ContainsAny(text, ".ein") {
		return text
	}
	return text + ".0"
}

// constant is the name of c in this text; its definition is written first, after those of what it is made of.
func (p *printer) constant(c *Constant) string {
	if name, ok := p.consts[c]; ok {
		return name
	}
	def := ""
	switch {
	case c.Node != nil:
		def = p.constantCall(c.Node)
	case c.Weight != nil:
		def = c.Weight.text()
	case c.Literal:
		def = "literal(" + hex.EncodeToString(c.Data) + ")"
	default:
		def = "initial(" + hex.EncodeToString(c.Data) + ")"
	}
	name := c.Name
	for i := 1; p.taken[name]; i++ {
		name = c.Name + "_" + strconv.Itoa(i)
	}
	p.taken[name] = true
	name = quoteName(name)
	p.consts[c] = name
	fmt.Fprintf(&p.defs, "const @%s: %s = %s\n", name, p.meta(&c.Meta), def)
	return name
}

// constantCall is an operator over constants, and the number of the result that counts unless it is the first.
func (p *printer) constantCall(e *ConstExpr) string {
	defer func(inputs map[*Value]bool) { p.known = inputs }(p.known)
	p.known = nil // a placeholder counts as the constant behind it
	text := p.call(e.Op, e.Args)
	if e.Out > 0 {
		text += "[" + strconv.Itoa(e.Out) + "]"
	}
	return text
}

// text is the weight's place in the .pt2; what is empty or 0 is left out.
func (w *Weight) text() string {
	parts := []string{"record=" + strconv.Quote(w.Record)}
	add := func(set bool, key, text string) {
		if set {
			parts = append(parts, key+"="+text)
		}
	}
	add(w.Key != "", "key", strconv.Quote(w.Key))
	add(w.Model != "", "model", strconv.Quote(w.Model))
	add(w.Offset != 0, "offset", strconv.Itoa(w.Offset))
	add(w.Size != 0, "size", strconv.Itoa(w.Size))
	strides := make([]string, len(w.Strides))
	for i, s := range w.Strides {
		strides[i] = strconv.Itoa(s)
	}
	add(len(strides) > 0, "strides", "["+strings.Join(strides, ", ")+"]")
	add(w.StorageOffset != 0, "start", strconv.Itoa(w.StorageOffset))
	return "weight(" + strings.Join(parts, ", ") + ")"
}

// quoteName is name as it is, or quoted where it is no word.
func quoteName(name string) string {
	if name != "" && !slices.ContainsFunc([]byte(name), func(c byte) bool { return !isWord(c) }) {
		return name
	}
	return strconv.Quote(name)
}

// isWord reports a character of names.
func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
