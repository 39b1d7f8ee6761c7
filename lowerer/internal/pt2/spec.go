package pt2

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// scalarTypes maps the archive's numbers (ScalarType in torch/_export/serde/schema.py)
// to ExecuTorch's.
var scalarTypes = map[int]tensor.ScalarType{
	1: tensor.Byte, 2: tensor.Char, 3: tensor.Short, 4: tensor.Int, 5: tensor.Long, 6: tensor.Half, 7: tensor.Float,
	8: tensor.Double, 12: tensor.Bool, 13: tensor.BFloat16, 28: tensor.UInt16, 34: tensor.UInt32, 35: tensor.UInt64,
}

var otherTypes = map[int]string{
	9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2",
	31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
}

func dtypeOf(n int) (tensor.ScalarType, error) {
	if t, ok := scalarTypes[n]; ok {
		return t, nil
	}
	name := otherTypes[n]
	if name == "" {
		name = fmt.Sprintf("number %d", n)
	}
	return tensor.Undefined, elementTypeError(name)
}

// elementTypeError names an element type that programs cannot have.
type elementTypeError string

// Error implements error.
func (e elementTypeError) Error() string {
	return "has element type " + string(e) + ", which is not supported"
}

// hint says what to write in place of the type.
func (e elementTypeError) hint() string {
	if strings.HasPrefix(string(e), "complex") {
		return "write that line with real numbers: real and imaginary parts in tensors of their own"
	}
	return "convert to a type that is supported before that line, such as float32 or int8"
}

// stridedLayout is Layout.Strided of schema.py.
const stridedLayout = 7

var channelsLast = map[int][]uint8{4: {0, 2, 3, 1}, 5: {0, 2, 3, 4, 1}}

// dimOrder is the order of the dimensions in memory: channels last if the
// strides are exactly those and not contiguous as well, else contiguous.
func dimOrder(shapes *tensor.Shapes, sizes, strides []tensor.Dim) []uint8 {
	order := channelsLast[len(sizes)]
	if order == nil || len(strides) != len(sizes) ||
		stridesFollow(shapes, sizes, strides, nil) || !stridesFollow(shapes, sizes, strides, order) {
		return nil
	}
	return append([]uint8(nil), order...)
}

// memoryOrder lists the dimensions from the outermost in memory to the innermost; nil if that is row-major, or if there
// are gaps or overlaps.
func memoryOrder(shapes *tensor.Shapes, sizes, strides []tensor.Dim) []uint8 {
	if len(strides) != len(sizes) {
		return nil
	}
	left := rowMajor(len(sizes))
	order := rowMajor(len(sizes))
	// The next stride: PyTorch counts a size that may be 0 as it is, or as at least 1.
	step, atLeast := tensor.Dim(1), tensor.Dim(1)
	for i := len(order) - 1; i >= 0; i-- {
		at := len(left) - 1
		for ; at >= 0; at-- {
			d := left[at]
			if sizes[d] == 1 || shapes.Equal(strides[d], step) == tensor.Yes || shapes.Equal(strides[d], atLeast) == tensor.Yes {
				break
			}
		}
		if at < 0 {
			return nil
		}
		d := left[at]
		left = slices.Delete(left, at, at+1)
		order[i] = d
		if sizes[d] != 1 {
			step, atLeast = shapes.Mul(strides[d], sizes[d]), shapes.Mul(strides[d], shapes.Max(sizes[d], 1))
		}
	}
	if slices.IsSorted(order) {
		return nil
	}
	return order
}

func rowMajor(rank int) []uint8 {
	order := make([]uint8, rank)
	for d := range order {
		order[d] = uint8(d)
	}
	return order
}

func stridesFollow(shapes *tensor.Shapes, sizes, strides []tensor.Dim, order []uint8) bool {
	step := tensor.Dim(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		d := i
		if order != nil {
			d = int(order[i])
		}
		if sizes[d] != 1 && shapes.Equal(strides[d], step) != tensor.Yes {
			return false
		}
		step = shapes.Mul(step, shapes.Max(sizes[d], 1))
	}
	return true
}

// symbolTable knows the symbols of one method.
type symbolTable struct {
	t      *symint.Table
	shapes tensor.Shapes
	prefix string
	byName map[string]tensor.Dim
	hints  map[string]int64
	parsed map[string]tensor.Dim
	names  []string // in the Table
}

// newSymbols declares the symbols of the range constraints. A name that the
// table has from another method gets the method's name in front.
func newSymbols(t *symint.Table, method string, ranges map[string]rangeJSON, g *graphJSON) *symbolTable {
	s := &symbolTable{t: t, shapes: tensor.Shapes{Table: t}, prefix: method + ".",
		byName: map[string]tensor.Dim{}, hints: map[string]int64{}, parsed: map[string]tensor.Dim{}}
	s.findHints(g)
	masked := maskedSizes(g)
	for _, name := range sortedKeys(ranges) {
		if !symint.IsName(name) {
			continue // a derived range, such as that of "2*s0 + 1"
		}
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
		if r := ranges[name]; r.Min.set {
			lo = r.Min.n
		}
		if r := ranges[name]; r.Max.set && r.Max.n < unbounded {
			hi = max(r.Max.n, masked[name])
		}
		s.declare(name, min(lo, hi), hi)
	}
	return s
}

// maskedSizes are how many elements a masked_select of static tensors may select, by the symbol of that number: torch gives
// it the range of the argument's elements, also where the mask has more (masked_select in torch/_subclasses/fake_impls.py).
func maskedSizes(g *graphJSON) map[string]int64 {
	most := map[string]int64{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Target != "torch.ops.aten.masked_select.default" || len(n.Inputs) != 2 || len(n.Outputs) != 1 {
			continue
		}
		x, _ := nameIn(n.Inputs[0].Arg)
		mask, _ := nameIn(n.Inputs[1].Arg)
		out, _ := nameIn(n.Outputs[0])
		if sizes := g.Tensors[out].Sizes; len(sizes) == 1 && sizes[0].Expr != nil {
			most[symint.SymbolName(sizes[0].Expr.Text)] = broadcastElements(g.Tensors[x].Sizes, g.Tensors[mask].Sizes)
		}
	}
	return most
}

// broadcastElements is how many elements tensors of sizes a and b have together; 0 if that is not known.
func broadcastElements(a, b []symJSON) int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	n := int64(1)
	for i := range a {
		d := a[i].Int
		if j := i - (len(a) - len(b)); j >= 0 && d != nil && *d == 1 {
			d = b[j].Int
		}
		if d == nil || *d < 0 || *d > math.MaxInt32 || n > math.MaxInt32 {
			return 0
		}
		n *= *d
	}
	return n
}

// unbounded is what torch takes for no bound: it also writes maxsize - 1 and halves of it.
const unbounded = math.MaxInt64 / 4

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// findHints collects the values at export of the symbols that stand alone.
func (s *symbolTable) findHints(g *graphJSON) {
	look := func(v symJSON) {
		if v.Expr == nil || v.Expr.Hint == nil || v.Expr.Hint.Int == nil {
			return
		}
		if name := symint.SymbolName(v.Expr.Text); name != "" {
			if old, ok := s.hints[name]; !ok || *v.Expr.Hint.Int < old {
				s.hints[name] = *v.Expr.Hint.Int
			}
		}
	}
	for _, m := range g.Tensors {
		for _, v := range m.Sizes {
			look(v)
		}
	}
	for _, v := range g.SymInts {
		look(v)
	}
}

func (s *symbolTable) declare(name string, lo, hi int64) tensor.Dim {
	unique := name
	if _, taken := s.t.Lookup(name); taken {
		unique = s.prefix + name
	}
	d := s.t.Symbol(unique, lo, hi, s.hints[name])
	s.byName[name] = d
	s.names = append(s.names, unique)
	return d
}

func (s *symbolTable) symbol(name string, positive bool) (tensor.Dim, error) {
	if d, ok := s.byName[name]; ok {
		return d, nil
	}
	lo := int64(math.MinInt64)
	if positive {
		lo = 1
	}
	return s.declare(name, lo, math.MaxInt64), nil
}

// dim is the number or expression that v stands for.
func (s *symbolTable) dim(v symJSON) (tensor.Dim, error) {
	switch {
	case v.Int != nil && tensor.IsSymbol(*v.Int):
		return 0, fmt.Errorf("number %d is out of range", *v.Int)
	case v.Int != nil:
		return *v.Int, nil
	case v.Expr == nil:
		return 0, fmt.Errorf("neither number nor expression")
	}
	if d, ok := s.parsed[v.Expr.Text]; ok {
		return d, nil
	}
	d, err := s.t.ParseWith(v.Expr.Text, s.symbol)
	if errors.Is(err, symint.ErrUnsupported) {
		d, err = s.unknown(), nil
	}
	if err == nil {
		s.parsed[v.Expr.Text] = d
	}
	return d, err
}

// unknown is a symbol for a number of which only a node of the graph knows how to compute it.
func (s *symbolTable) unknown() tensor.Dim {
	for i := 0; ; i++ {
		name := "e" + strconv.Itoa(i)
		if _, taken := s.byName[name]; !taken {
			return s.declare(name, math.MinInt64, math.MaxInt64)
		}
	}
}

func (s *symbolTable) dims(in []symJSON) ([]tensor.Dim, error) {
	out := make([]tensor.Dim, len(in))
	for i, v := range in {
		d, err := s.dim(v)
		if err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

// meta is the type and shape of a tensor of the graph, and its order in memory.
func (s *symbolTable) meta(m tensorJSON) (tensor.Meta, []uint8, error) {
	dtype, err := dtypeOf(m.DType)
	if err != nil {
		return tensor.Meta{}, nil, err
	}
	if m.Layout != stridedLayout {
		return tensor.Meta{}, nil, fmt.Errorf("has layout %d; only strided tensors are supported", m.Layout)
	}
	if len(m.Sizes) > tensor.MaxRank {
		return tensor.Meta{}, nil, fmt.Errorf("has %d dimensions, more than %d", len(m.Sizes), tensor.MaxRank)
	}
	sizes, err := s.dims(m.Sizes)
	if err != nil {
		return tensor.Meta{}, nil, fmt.Errorf("size: %w", err)
	}
	for _, d := range sizes {
		if !tensor.IsSymbol(d) && d < 0 {
			return tensor.Meta{}, nil, fmt.Errorf("has size %d", d)
		}
	}
	strides, err := s.dims(m.Strides)
	if err != nil {
		return tensor.Meta{}, nil, fmt.Errorf("stride: %w", err)
	}
	meta := tensor.Meta{DType: dtype, Sizes: sizes, DimOrder: dimOrder(&s.shapes, sizes, strides)}
	return meta, memoryOrder(&s.shapes, sizes, strides), nil
}

// ranges are the symbols of the method, by name.
func (s *symbolTable) ranges() []exir.SymbolRange {
	sort.Strings(s.names)
	var out []exir.SymbolRange
	for _, n := range s.names {
		d, _ := s.t.Lookup(n)
		lo, hi := s.t.Bounds(d)
		out = append(out, exir.SymbolRange{Name: n, Dim: d, Min: lo, Max: hi, Hint: s.t.Hint(d)})
	}
	return out
}
