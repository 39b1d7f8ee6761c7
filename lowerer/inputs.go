package lowerer

import (
	"math"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// MethodInputs are the inputs that a caller of one method gives.
type MethodInputs struct {
	Method string `json:"method"`
	// Model is the key of the .pt2 in the spec.
	Model  string  `json:"model"`
	Inputs []Input `json:"inputs"`
}

// Input is one of a method's inputs.
type Input struct {
	// Name is what `dynamic_shapes` calls it.
	Name string `json:"name"`
	// Kind is "tensor", "int", "float", "bool", "none", or "constant" for a value that the export fixed: a call gives it
	// and the program ignores it.
	Kind string `json:"kind"`
	// DType is a tensor's element type by PyTorch's name.
	DType string `json:"dtype,omitempty"`
	// Sizes are a tensor's: numbers, and symbols' names and expressions.
	Sizes []string `json:"sizes,omitempty"`
	// Dynamic are the dimensions that are not fixed, after the spec's dynamic_shapes.
	Dynamic []Dynamic `json:"dynamic,omitempty"`
}

// Dynamic is a dimension whose size is known at run time only.
type Dynamic struct {
	Dim int `json:"dim"`
	// Size is a symbol's name, or an expression over symbols.
	Size string `json:"size"`
	// Min and Max are inclusive. A nil Max is none at all.
	Min int64  `json:"min"`
	Max *int64 `json:"max"`
	// Exported is the size in the example that the model was exported with; 0 if Size is no symbol.
	Exported int64 `json:"exported,omitempty"`
}

// Symbol reports that the spec can bound the dimension itself: it is no expression over other ones.
func (d *Dynamic) Symbol() bool { return symint.IsName(d.Size) }

// Suggest is a bound to begin with for a dimension that has none: a power of two that holds the exported size.
func (d *Dynamic) Suggest() int64 {
	n := int64(512)
	for n < max(d.Exported, d.Min) {
		n *= 2
	}
	return n
}

// Inputs lists the inputs of every method, in the order of the methods' names.
func (l *Loaded) Inputs() []MethodInputs {
	var out []MethodInputs
	for _, m := range l.Program.Methods {
		mi := MethodInputs{Method: m.Name, Model: l.models[m.Name], Inputs: []Input{}}
		for i, v := range m.Graph.Inputs {
			switch m.Inputs[i].Kind {
			case exir.ConstantInput:
				mi.Inputs = append(mi.Inputs, Input{Kind: constantKind(&m.Inputs[i].Value)})
			case exir.UserInput:
				mi.Inputs = append(mi.Inputs, l.input(v))
			}
		}
		out = append(out, mi)
	}
	return out
}

func constantKind(a *exir.Arg) string {
	if a.Kind == exir.ArgNone {
		return "none"
	}
	return "constant"
}

func (l *Loaded) input(v *exir.Value) Input {
	if v == nil {
		return Input{Kind: "none"}
	}
	in := Input{Name: v.Name}
	switch v.Kind {
	case exir.SymInt:
		in.Kind = "int"
	case exir.SymFloat:
		in.Kind = "float"
	case exir.SymBool:
		in.Kind = "bool"
	default:
		in.Kind, in.DType = "tensor", v.Spec.DType.String()
		for i, d := range v.Spec.Sizes {
			in.Sizes = append(in.Sizes, l.table.String(d))
			if tensor.IsSymbol(d) {
				in.Dynamic = append(in.Dynamic, l.dynamic(i, d))
			}
		}
	}
	return in
}

func (l *Loaded) dynamic(dim int, d tensor.Dim) Dynamic {
	lo, hi := l.table.Bounds(d)
	out := Dynamic{Dim: dim, Size: l.table.String(d), Min: max(lo, 0)}
	if op, _, _ := l.table.Node(d); op == "symbol" {
		out.Exported = l.table.Hint(d)
	}
	if hi < math.MaxInt32 { // ExecuTorch's sizes are int32
		out.Max = &hi
	}
	return out
}

// bound applies the spec's dynamic_shapes to the symbols of m. They may narrow the exported range or bound an open one.
func (l *Loaded) bound(spec *config.Spec, ms *config.MethodSpec, m *exir.Method) error {
	var errs diag.List
	exported := map[string]exir.SymbolRange{}
	for _, r := range m.Ranges {
		exported[r.Name] = r
	}
	for i := range ms.DynamicShapes {
		b := bounder{spec, l.table, m, &ms.DynamicShapes[i], exported}
		if err := b.apply(); err != nil {
			errs = append(errs, err)
		}
	}
	for i := range m.Ranges {
		m.Ranges[i].Min, m.Ranges[i].Max = l.table.Bounds(m.Ranges[i].Dim)
	}
	return errs.Err()
}

// bounder applies one entry of dynamic_shapes.
type bounder struct {
	spec  *config.Spec
	table *symint.Table
	m     *exir.Method
	r     *config.DimRange
	// exported are the symbols as the model has them.
	exported map[string]exir.SymbolRange
}

func (b *bounder) apply() *diag.Error {
	v := userInput(b.m, b.r.Input.V)
	if v == nil {
		return b.errorAt(diag.UnknownInput, b.r.Input.Pos, "method %q has no tensor input %q", b.m.Name, b.r.Input.V).
			WithHint("its tensor inputs are %s", strings.Join(tensorInputs(b.m), ", "))
	}
	dim := b.r.Dim.V
	if dim < 0 || dim >= v.Spec.Rank() || !tensor.IsSymbol(v.Spec.Sizes[dim]) {
		return b.errorAt(diag.UnknownInput, b.r.Dim.Pos, "dimension %d of input %q is not dynamic", dim, b.r.Input.V).
			WithHint("its sizes are %s", sizesText(b.table, v))
	}
	op, _, name := b.table.Node(v.Spec.Sizes[dim])
	if op != "symbol" {
		return b.errorAt(diag.BadRange, b.r.Dim.Pos, "dimension %d of input %q is an expression, %s", dim, b.r.Input.V,
			b.table.String(v.Spec.Sizes[dim])).WithHint("bound the dimension that it is made of")
	}
	return b.narrow(name)
}

// narrow sets the range of the symbol called name, which may not grow.
func (b *bounder) narrow(name string) *diag.Error {
	lo, hi := b.exported[name].Min, b.exported[name].Max
	newLo, newHi := lo, hi
	if b.r.Min.Set {
		newLo = b.r.Min.V
	}
	if b.r.Max.Set {
		newHi = b.r.Max.V
	}
	switch {
	case newLo < lo:
		return b.outside(b.r.Min, "min", lo, hi)
	case newHi > hi, newHi < lo:
		return b.outside(b.r.Max, "max", lo, hi)
	case newLo > hi:
		return b.outside(b.r.Min, "min", lo, hi)
	}
	if err := b.table.SetRange(name, newLo, newHi); err != nil {
		return b.errorAt(diag.BadRange, b.r.Dim.Pos, "bound dimension %d of input %q: %w", b.r.Dim.V, b.r.Input.V, err)
	}
	return nil
}

func (b *bounder) outside(v config.Value[int64], what string, lo, hi int64) *diag.Error {
	return b.errorAt(diag.BadRange, v.Pos, "%s %d of dimension %d of input %q is outside of the exported range, %s", what, v.V,
		b.r.Dim.V, b.r.Input.V, rangeText(lo, hi)).WithHint("stay within it, or export the model again")
}

func (b *bounder) errorAt(code diag.Code, pos config.Pos, format string, args ...any) *diag.Error {
	return diag.New(code, b.spec.Where(pos), format, args...)
}

func rangeText(lo, hi int64) string {
	if hi >= math.MaxInt32 {
		return strconv.FormatInt(lo, 10) + " and more"
	}
	return strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)
}

func userInput(m *exir.Method, name string) *exir.Value {
	for i, v := range m.Graph.Inputs {
		if v != nil && m.Inputs[i].Kind == exir.UserInput && v.Kind == exir.TensorValue && v.Name == name {
			return v
		}
	}
	return nil
}

func tensorInputs(m *exir.Method) []string {
	var names []string
	for i, v := range m.Graph.Inputs {
		if v != nil && m.Inputs[i].Kind == exir.UserInput && v.Kind == exir.TensorValue {
			names = append(names, v.Name)
		}
	}
	return names
}

func sizesText(table *symint.Table, v *exir.Value) string {
	sizes := make([]string, len(v.Spec.Sizes))
	for i, d := range v.Spec.Sizes {
		sizes[i] = table.String(d)
	}
	return strings.Join(sizes, " × ")
}
