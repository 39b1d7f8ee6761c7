package exir

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ParsePlan reads what Plan.Text wrote. Values and instructions must be numbered from 0 in their order. A plan that is
// read need not be a valid one: VerifyPlan says that.
func ParsePlan(text string) (*Plan, error) {
	p := &planParser{
		parser: parser{dims: dims{scanner: &scanner{}}},
		plan:   &Plan{ExecutionPlan: &pte.ExecutionPlan{Chains: []pte.Chain{{}}}, Views: map[int32]int32{}},
		ops:    map[string]int32{},
	}
	for i, line := range strings.Split(text, "\n") {
		if p.rest = strings.TrimSpace(line); p.rest == "" || p.rest[0] == '#' {
			continue
		}
		err := p.planLine()
		if err == nil {
			err = p.end()
		}
		if err != nil {
			return nil, fmt.Errorf("parse text line %d: %w", i+1, err)
		}
	}
	return p.plan, nil
}

type planParser struct {
	parser
	plan *Plan
	ops  map[string]int32
}

func (p *planParser) planLine() (err error) {
	if isNumeral(p.rest[0]) {
		return p.instruction()
	}
	word := p.run(isWord)
	switch word {
	case "plan":
		if p.plan.Name, err = p.name(); err == nil {
			p.plan.Planned = p.keyword("planned")
		}
	case "in_spec":
		p.plan.EncodedInpStr, err = p.quoted()
	case "out_spec":
		p.plan.EncodedOutStr, err = p.quoted()
	case "arena":
		err = p.arena()
	case "delegate":
		err = p.delegate()
	case "inputs":
		p.plan.Inputs, err = p.refs("[", "]")
	case "outputs":
		p.plan.Outputs, err = p.refs("[", "]")
	default:
		return p.planValue(word)
	}
	return err
}

// number reads an integer that is want.
func (p *planParser) number(what string, want int) error {
	if n, err := p.count(); err != nil || n != want {
		return fmt.Errorf("want %s %d", what, want)
	}
	return p.want(":")
}

func (p *planParser) arena() error {
	if len(p.plan.NonConstBufferSizes) == 0 {
		p.plan.NonConstBufferSizes = []int64{0}
	}
	if err := p.number("arena", len(p.plan.NonConstBufferSizes)); err != nil {
		return err
	}
	size, err := p.count()
	p.plan.NonConstBufferSizes = append(p.plan.NonConstBufferSizes, int64(size))
	return err
}

func (p *planParser) delegate() (err error) {
	d := pte.BackendDelegate{}
	if d.ID, err = p.name(); err != nil {
		return err
	}
	if !p.keyword("payload") {
		return errors.New("want payload")
	}
	if d.Processed, err = p.count(); err != nil {
		return err
	}
	if !p.keyword("specs") {
		return errors.New("want specs")
	}
	d.CompileSpecs, err = p.specs()
	p.plan.Delegates = append(p.plan.Delegates, d)
	return err
}

// ref reads v12.
func (p *planParser) ref() (int32, error) {
	word := p.run(isWord)
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "v"), 10, 32)
	if err != nil || n < 0 || word != valueName(int32(n)) {
		return 0, fmt.Errorf("want a value, got %.30q", word)
	}
	return int32(n), nil
}

// optional reads v12 or None, which is -1.
func (p *planParser) optional() (int32, error) {
	if p.keyword("None") {
		return -1, nil
	}
	return p.ref()
}

func (p *planParser) refs(open, shut string) ([]int32, error) {
	var list []int32
	err := p.items(open, shut, func() error {
		v, err := p.optional()
		list = append(list, v)
		return err
	})
	return list, err
}

// planValue reads what follows "v12".
func (p *planParser) planValue(word string) error {
	at := len(p.plan.Values)
	if word != valueName(int32(at)) {
		return fmt.Errorf("got %.30q, want %s", word, valueName(int32(at)))
	}
	if err := p.want(":"); err != nil {
		return err
	}
	var v pte.EValue
	var err error
	before := p.rest
	switch word = p.run(isWord); word {
	case "None":
		v.Type = pte.Null
	case "int":
		v.Type = pte.Int
		v.Int, err = p.integer()
	case "bool":
		if p.space(); strings.HasPrefix(p.rest, "[") {
			p.rest = before
			return p.planTensor()
		}
		v.Type = pte.Bool
		v.Int, err = p.truth()
	case "float":
		v.Type = pte.Double
		v.Double, err = p.floating()
	case "string":
		v.Type = pte.String
		v.String, err = p.quoted()
	case "ints", "tensors", "optionals", "bools", "floats":
		err = p.planList(&v, word)
	default:
		p.rest = before
		return p.planTensor()
	}
	p.plan.Values = append(p.plan.Values, v)
	return err
}

// planList reads the members of a list of the kind that word says.
func (p *planParser) planList(v *pte.EValue, word string) error {
	for kind, w := range listWords {
		if w == word {
			v.Type = kind
		}
	}
	switch v.Type {
	case pte.BoolList:
		return p.items("[", "]", func() error {
			x, err := p.truth()
			v.Items = append(v.Items, x)
			return err
		})
	case pte.DoubleList:
		return p.items("[", "]", func() error {
			x, err := p.floating()
			v.Doubles = append(v.Doubles, x)
			return err
		})
	}
	list, err := p.refs("[", "]")
	for _, i := range list {
		v.Items = append(v.Items, int64(i))
	}
	return err
}

func (p *planParser) truth() (int64, error) {
	switch {
	case p.keyword("true"):
		return 1, nil
	case p.keyword("false"):
		return 0, nil
	}
	return 0, fmt.Errorf("want true or false at %.30q", p.rest)
}

func (p *planParser) floating() (float64, error) {
	p.space()
	if p.keyword("nan") {
		return math.NaN(), nil
	}
	if x, ok := p.float(); ok {
		return x, nil
	}
	return 0, fmt.Errorf("want a number with a point at %.30q", p.rest)
}

// planTensor reads a tensor and what is said about it.
func (p *planParser) planTensor() error {
	at := int32(len(p.plan.Values))
	m, err := p.plainMeta()
	if err != nil {
		return err
	}
	t := &pte.Tensor{ScalarType: m.DType, Sizes: make([]int32, m.Rank()), DimOrder: m.DimOrder}
	for i, d := range m.Sizes {
		t.Sizes[i] = int32(d)
	}
	if t.DimOrder == nil {
		t.DimOrder = make([]uint8, m.Rank())
		for i := range t.DimOrder {
			t.DimOrder[i] = uint8(i)
		}
	}
	p.plan.Values = append(p.plan.Values, pte.EValue{Type: pte.TensorValue, Tensor: t})
	for p.space(); p.rest != ""; p.space() {
		if err := p.attribute(at, t); err != nil {
			return err
		}
	}
	return nil
}

// plainMeta reads a type whose sizes are numbers.
func (p *planParser) plainMeta() (tensor.Meta, error) {
	word := p.run(isWord)
	m := tensor.Meta{DType: tensor.ParseScalarType(word)}
	if !m.DType.Valid() {
		return m, fmt.Errorf("unknown element type %q", word)
	}
	sizes, err := p.counts("[", "]")
	if err != nil {
		return m, err
	}
	if len(sizes) > math.MaxUint8 {
		return m, errors.New("too many dimensions")
	}
	for _, s := range sizes {
		if s > math.MaxInt32 {
			return m, fmt.Errorf("size %d is too large", s)
		}
		m.Sizes = append(m.Sizes, int64(s))
	}
	m.DimOrder, err = p.order()
	return m, err
}

func (p *planParser) attribute(at int32, t *pte.Tensor) error {
	word := p.run(isWord)
	switch word {
	case "bound":
		t.Dynamism = pte.DynamicBound
		return nil
	case "unbound":
		t.Dynamism = pte.DynamicUnbound
		return nil
	case "view":
		if !p.keyword("of") {
			return errors.New("want of")
		}
		base, err := p.ref()
		p.plan.Views[at] = base
		return err
	}
	n, err := p.count()
	switch {
	case err != nil:
		return err
	case n > math.MaxInt32:
		return fmt.Errorf("%d is out of range", n)
	case word == "constant":
		t.DataBufferIdx = uint32(n)
	case word == "state":
		t.DataBufferIdx = uint32(n)
		p.plan.State = append(p.plan.State, at)
	case word == "at":
		if err := p.want("+"); err != nil {
			return err
		}
		offset, err := p.count()
		t.Allocation = &pte.Allocation{MemoryID: uint32(n), Offset: uint64(offset)}
		return err
	default:
		return fmt.Errorf("unexpected %q", word)
	}
	return nil
}

func (p *planParser) instruction() error {
	chain := &p.plan.Chains[0]
	if err := p.number("instruction", len(chain.Instructions)); err != nil {
		return err
	}
	var in pte.Instruction
	var err error
	switch word := p.run(func(c byte) bool { return isWord(c) || c == ':' }); word {
	case "move":
		in.Type = pte.MoveCall
		if in.A, err = p.ref(); err == nil {
			if err = p.want("to"); err == nil {
				in.B, err = p.ref()
			}
		}
	case "jump_false":
		in.Type = pte.JumpFalseCall
		if in.A, err = p.ref(); err == nil {
			if err = p.want("to"); err == nil {
				in.B, err = p.index()
			}
		}
	case "free":
		in.Type = pte.FreeCall
		in.A, err = p.ref()
	case "delegate":
		in.Type = pte.DelegateCall
		if in.A, err = p.index(); err == nil {
			in.Args, err = p.refs("(", ")")
		}
	default:
		if !strings.Contains(word, "::") {
			return fmt.Errorf("unexpected %q", word)
		}
		in.Type, in.A = pte.KernelCall, p.operator(word)
		in.Args, err = p.refs("(", ")")
	}
	if err != nil {
		return err
	}
	chain.Instructions = append(chain.Instructions, in)
	return p.planNode()
}

func (p *planParser) index() (int32, error) {
	n, err := p.count()
	if err == nil && n > math.MaxInt32 {
		err = fmt.Errorf("%d is out of range", n)
	}
	return int32(n), err
}

// planNode reads "# add 12 model.py:25 fc", if it is there.
func (p *planParser) planNode() error {
	var n *Node
	if p.take("#") {
		n = &Node{Origin: Origin{Method: p.plan.Name}}
		var err error
		if n.Name, err = p.name(); err == nil {
			err = p.origin(&n.Origin)
		}
		if err != nil {
			return err
		}
	}
	p.plan.Nodes = append(p.plan.Nodes, n)
	return nil
}

func (p *planParser) operator(name string) int32 {
	i, ok := p.ops[name]
	if !ok {
		i = int32(len(p.plan.Operators))
		base, overload, _ := strings.Cut(name, ".")
		p.plan.Operators = append(p.plan.Operators, pte.Operator{Name: base, Overload: overload})
		p.ops[name] = i
	}
	return i
}
