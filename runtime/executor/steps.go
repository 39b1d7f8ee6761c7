package executor

import (
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// step is one instruction, resolved.
type step struct {
	kind pte.InstructionType
	name string // of the operator or backend
	a, b int32
	// args are the values of a built-in operator, a delegate, or a kernel without outs and results.
	args []int32
	outs []int32 // of a kernel; lists taken apart
	// params are those of args of a kernel.
	params  []*op.Param
	plan    *op.Plan
	prim    primFunc
	backend backend.Backend
	// inputs is how many of a delegate's args are inputs, if known: else all are, and may be outputs, too.
	inputs int
	known  bool
	// assert is the check of a move to itself, or nil.
	assert *assertion
	// chain and index say which instruction of the method's plan it is.
	chain, index int
	fused        []int // the instructions of the chain that the step runs, if there are several
	fixed        bool  // the sizes of the outs never change
	stable       bool  // they follow from the sizes of the tensors alone
}

// operatorNames are the names of a plan's operators.
func operatorNames(plan *pte.ExecutionPlan) []string {
	names := make([]string, len(plan.Operators))
	for i := range plan.Operators {
		names[i] = plan.Operators[i].FullName()
	}
	return names
}

// fusedOf are the instructions that those of steps in list run.
func fusedOf(steps []step, list ...int) []int {
	var all []int
	for _, i := range list {
		if s := &steps[i]; s.fused != nil {
			all = append(all, s.fused...)
		} else {
			all = append(all, s.index)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// outsAndReads are the values that an instruction writes without and with reading what they hold. Without a
// kernel at hand it goes by the name: in-place operators end in "_".
func (m *method) outsAndReads(in *pte.Instruction) (outs, reads []int32) {
	if in.Type != pte.KernelCall || int(in.A) >= len(m.plan.Operators) || in.A < 0 || len(in.Args) < 2 {
		return nil, in.Args
	}
	o := m.plan.Operators[in.A]
	_, sig := m.prog.table.Def(m.operators[in.A])
	switch {
	case sig != nil:
		for i, p := range sig.Params {
			if i >= len(in.Args) {
				break
			}
			if p.Out {
				outs = append(outs, in.Args[i])
			} else {
				reads = append(reads, in.Args[i])
			}
		}
		return outs, reads
	case strings.HasSuffix(o.Name, "_"):
		return nil, in.Args
	}
	return in.Args[len(in.Args)-1:], in.Args[:len(in.Args)-2]
}

// loadSteps resolves all instructions; kernels and backends that are not there go to missing.
func (m *method) loadSteps(missing *missingList) error {
	m.markVarying()
	m.layOut()
	count, base := 0, 0
	for _, chain := range m.plan.Chains {
		count += len(chain.Instructions)
	}
	m.steps = make([]step, 0, count)
	for k, chain := range m.plan.Chains {
		for i := range chain.Instructions {
			s, err := m.loadStep(&chain.Instructions[i], missing)
			s.chain, s.index = k, i
			if err != nil {
				return wrap(pte.InvalidProgram, "load instruction "+itoa(m.instruction(i)), err)
			}
			if s.kind == pte.JumpFalseCall {
				if s.b < 0 || int(s.b) > len(chain.Instructions) {
					return fail(pte.InvalidProgram, "load instruction ", itoa(i), ": jump to ", itoa(s.b))
				}
				s.b += int32(base)
			}
			m.steps = append(m.steps, s)
		}
		base += len(chain.Instructions)
	}
	if err := m.checkIO(); err != nil {
		return err
	}
	if err := m.loadAsserts(); err != nil {
		return err
	}
	m.findWriteBacks()
	if err := m.checkWrites(); err != nil {
		return err
	}
	m.updateBuffers()
	m.turnBacks()
	m.findUnread()
	m.fuse()
	if err := m.fuseIntegers(); err != nil {
		return err
	}
	if err := m.fold(); err != nil {
		return err
	}
	m.fuseKernels()
	m.findLent()
	m.findOwn()
	m.args, m.outs, m.infer, m.found = nil, nil, op.Infer{}, nil
	return nil
}

func (m *method) has(v int32) bool { return v >= 0 && int(v) < len(m.vals) }

func (m *method) checkIO() error {
	for _, list := range [][]int32{m.plan.Inputs, m.plan.Outputs} {
		for _, v := range list {
			if !m.has(v) {
				return fail(pte.InvalidProgram, "input or output is value ", itoa(v), ", which does not exist")
			}
		}
	}
	for _, v := range m.plan.Outputs {
		m.used[v] = true
	}
	return nil
}

// markVarying finds the values that change from call to call.
func (m *method) markVarying() {
	mark := func(v int32) {
		if m.has(v) {
			m.varies[v] = true
		}
	}
	for _, v := range m.plan.Inputs {
		if m.has(v) && m.vals[v].Kind != op.Tensor {
			mark(v)
		}
	}
	for _, chain := range m.plan.Chains {
		for _, in := range chain.Instructions {
			switch in.Type {
			case pte.MoveCall:
				if m.has(in.A) && m.vals[in.A].Kind == op.Tensor { // a number stays as it is
					mark(in.A)
				}
				mark(in.B)
			case pte.DelegateCall:
				m.markNumbers(in.Args, mark)
			case pte.KernelCall:
				if n := len(in.Args); n > 0 && in.A >= 0 && int(in.A) < len(m.plan.Operators) {
					m.markNumbers(in.Args[n-1:], mark)
				}
			}
		}
	}
	m.markLists()
}

// markNumbers marks those of list that are numbers.
func (m *method) markNumbers(list []int32, mark func(int32)) {
	for _, v := range list {
		if m.has(v) && (isNumber(&m.vals[v]) || m.vals[v].Kind == op.None) {
			mark(v)
		}
	}
}

// markLists marks the lists with a member that varies.
func (m *method) markLists() {
	for i := range m.plan.Values {
		e := &m.plan.Values[i]
		if e.Type != pte.IntList && e.Type != pte.TensorList && e.Type != pte.OptionalTensorList {
			continue
		}
		for _, item := range e.Items {
			if item >= 0 && m.varies[item] {
				m.varies[i] = true
			}
		}
	}
}

func (m *method) loadStep(in *pte.Instruction, missing *missingList) (step, error) {
	s := step{kind: in.Type, a: in.A, b: in.B, args: in.Args}
	for _, v := range in.Args {
		if !m.has(v) {
			return s, fail(pte.InvalidProgram, "argument is value ", itoa(v), ", which does not exist")
		}
		m.use(int(v))
	}
	switch in.Type {
	case pte.KernelCall:
		if in.A < 0 || int(in.A) >= len(m.plan.Operators) {
			return s, fail(pte.InvalidProgram, "operator ", itoa(in.A), " does not exist")
		}
		s.name = m.operators[in.A]
		return s, m.loadCall(&s, missing)
	case pte.DelegateCall:
		return s, m.loadDelegate(&s, missing)
	case pte.MoveCall, pte.JumpFalseCall, pte.FreeCall:
		if !m.has(in.A) || in.Type == pte.MoveCall && !m.has(in.B) {
			return s, fail(pte.InvalidProgram, "instruction on a value that does not exist")
		}
		m.use(int(in.A))
		return s, m.checkMove(in)
	}
	return s, fail(pte.InvalidProgram, "unknown instruction ", itoa(int(in.Type)))
}

// checkMove refuses a move that would change what kind of value a kernel sees: other types, other ranks, or lists.
func (m *method) checkMove(in *pte.Instruction) error {
	if in.Type != pte.MoveCall {
		return nil
	}
	from, to := &m.vals[in.A], &m.vals[in.B]
	scalar := func(v *op.Value) bool { return isNumber(v) || v.Kind == op.None || v.Kind == op.String }
	switch {
	case scalar(from) && scalar(to):
		return nil
	case from.Kind == op.Tensor && to.Kind == op.Tensor && from.Tensor.DType == to.Tensor.DType && len(from.Tensor.Sizes) == len(to.Tensor.Sizes):
		return nil
	}
	return fail(pte.InvalidProgram, "move of ", from.String(), " to ", to.String())
}

// use marks a value and what it lists as used.
func (m *method) use(v int) {
	m.used[v] = true
	switch e := &m.plan.Values[v]; e.Type {
	case pte.IntList, pte.TensorList, pte.OptionalTensorList:
		for _, item := range e.Items {
			if item >= 0 {
				m.used[item] = true
			}
		}
	}
}

func (m *method) loadDelegate(s *step, missing *missingList) error {
	if s.a < 0 || int(s.a) >= len(m.plan.Delegates) {
		return fail(pte.InvalidProgram, "delegate ", itoa(s.a), " does not exist")
	}
	d := &m.plan.Delegates[s.a]
	s.name = d.ID
	if d.Processed < 0 || d.Processed >= len(m.prog.file.DelegateData) {
		return fail(pte.InvalidProgram, "payload ", itoa(d.Processed), " of delegate ", itoa(s.a), " does not exist")
	}
	for _, b := range m.prog.opts.Backends {
		switch {
		case b.ID() != d.ID:
		case b.Available():
			s.backend = b
			if part, ok := m.parts[s.a]; ok {
				s.inputs, s.known = part.inputs, true
			} else if c, ok := b.(backend.InputCounter); ok {
				s.inputs = c.Inputs(m.prog.file.DelegateData[d.Processed])
				s.known = s.inputs >= 0 && s.inputs <= len(s.args)
			}
			return nil
		default:
			missing.add(&missing.unavailable, d.ID)
			return nil
		}
	}
	missing.add(&missing.backends, d.ID)
	return nil
}

// loadCall resolves a KernelCall to a built-in operator or a prepared kernel.
func (m *method) loadCall(s *step, missing *missingList) error {
	if f, n := primOp(s.name); f != nil {
		if len(s.args) < n {
			return fail(pte.InvalidProgram, s.name, " has ", itoa(len(s.args)), " arguments, want ", itoa(n))
		}
		s.prim = f
		if result := &m.vals[s.args[n-1]]; s.name != etViewName && s.name != etCopyName && !isNumber(result) && result.Kind != op.None {
			return fail(pte.InvalidProgram, s.name, " writes to ", result.String())
		}
		return nil
	}
	def, sig := m.prog.table.Def(s.name)
	if def == nil {
		missing.add(&missing.ops, s.name+" ("+m.firstType(s.args)+")")
		return nil
	}
	if len(s.args) < len(sig.Params) {
		return fail(pte.InvalidProgram, s.name, " has ", itoa(len(s.args)), " arguments, want ", itoa(len(sig.Params)))
	}
	if err := m.splitArgs(s, sig); err != nil {
		return err
	}
	return m.prepare(s, def, sig, missing)
}

func (m *method) firstType(args []int32) string {
	for _, v := range args {
		if t := m.vals[v].Tensor; t != nil {
			return t.DType.String()
		}
		for _, t := range m.vals[v].Tensors {
			if t != nil {
				return t.DType.String()
			}
		}
	}
	return "no tensor"
}

// splitArgs divides a kernel's arguments into those it reads and its outs.
func (m *method) splitArgs(s *step, sig *op.Signature) error {
	all := s.args
	s.args, s.params = all[:0:0], sig.Ins
	for i := range sig.Params {
		p, v := &sig.Params[i], all[i]
		if !p.Out {
			s.args = follow(s.args, all, i)
		}
		switch {
		case !p.Out && !p.InPlace:
		case m.vals[v].Kind == op.Tensors:
			for _, item := range m.plan.Values[v].Items {
				s.outs = append(s.outs, int32(item))
			}
		default:
			s.outs = follow(s.outs, all, i)
		}
	}
	for _, o := range s.outs {
		if o < 0 || m.vals[o].Kind != op.Tensor || m.place[o] == constant {
			return fail(pte.InvalidProgram, s.name, " writes value ", itoa(o), ", which is no writable tensor")
		}
	}
	return nil
}

// follow is list with all[i] at its end: a part of all, if list is what lies before that, or else a copy.
func follow(list, all []int32, i int) []int32 {
	n := len(list)
	if n == 0 || n <= i && &list[0] == &all[i-n] {
		return all[i-n : i+1 : i+1]
	}
	return append(list, all[i])
}

// kernelArgs are the arguments of a kernel step taken from vals.
func (s *step) kernelArgs(vals []op.Value) []op.Value {
	return s.appendArgs(make([]op.Value, 0, len(s.args)), vals)
}

func (s *step) appendArgs(args, vals []op.Value) []op.Value {
	for i, v := range s.args {
		args = append(args, s.kernelArg(i, &vals[v]))
	}
	return args
}

// checkArg refuses a value of a kind that argument i does not take.
func (s *step) checkArg(i int, v *op.Value) error {
	if p := s.params[i]; !p.Takes(v) {
		return fail(pte.InvalidArgument, s.name, ": argument ", p.Name, " is ", v.String(), ", want ", p.Type)
	}
	return nil
}

func (s *step) kernelArg(i int, v *op.Value) op.Value {
	a := *v
	if a.Kind == op.Int && s.params[i].Float() {
		a.Kind, a.Float = op.Float, float64(a.Int)
	}
	return a
}

func (m *method) prepare(s *step, def *op.Def, sig *op.Signature, missing *missingList) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = recovered("prepare "+s.name, r)
		}
	}()
	args, outs := s.appendArgs(m.args[:0], m.vals), m.outs[:0]
	for i := range args {
		if err := s.checkArg(i, &args[i]); err != nil && (!m.varies[s.args[i]] || s.params[i].Type == "Tensor") { // what varies stays no tensor
			return err
		}
	}
	for _, o := range s.outs {
		outs = append(outs, m.vals[o].Tensor.Meta)
	}
	m.args, m.outs = args, outs
	key := op.KeyOf(def, args, outs)
	k := m.prog.table.Lookup(s.name, key)
	if k == nil {
		missing.add(&missing.ops, s.name+" ("+key.String()+")")
		return nil
	}
	s.stable = def.Tags&op.ReadsData == 0 && !def.DependsOnData(op.HasMask(args[min(1, len(args)):])) && !m.changes(s)
	s.fixed = s.stable && m.fixed(s)
	if err := m.checkSizes(s, def, args, outs); err != nil {
		return err
	}
	if k.Prepare != nil { // which may keep them
		args, outs = slices.Clone(args), slices.Clone(outs)
	}
	plan, err := op.Prepare(k, sig, args, outs, op.Options{Pack: m.prog.packOf, Release: m.prog.release, Tier: m.prog.tier})
	if err != nil {
		return wrap(pte.InvalidProgram, "prepare "+s.name, err)
	}
	s.plan = plan
	return nil
}

// checkSizes infers the sizes of the outs of a step for which they never change, before a kernel looks at its arguments.
func (m *method) checkSizes(s *step, def *op.Def, args []op.Value, outs []tensor.Meta) error {
	if !s.fixed {
		return nil
	}
	infer := &m.infer
	infer.Args, infer.Out = args, slices.Grow(infer.Out[:0], len(outs))[:len(outs)]
	for i := range outs {
		t := &infer.Out[i]
		*t = tensor.Meta{DType: outs[i].DType, Sizes: t.Sizes[:0], DimOrder: t.DimOrder[:0]}
	}
	if err := def.Infer(infer); err != nil {
		return wrap(pte.InvalidArgument, "prepare "+s.name, err)
	}
	for i := range infer.Out {
		if i >= len(outs) || !slices.Equal(infer.Out[i].Sizes, outs[i].Sizes) {
			return fail(pte.InvalidArgument, s.name, ": output ", itoa(i), " does not have the sizes ", op.SizesText(infer.Out[i].Sizes))
		}
	}
	return nil
}

// changes reports whether a step has arguments or outs, lists with members included, that vary.
func (m *method) changes(s *step) bool {
	varies := func(v int32) bool { return m.varies[v] }
	return slices.ContainsFunc(s.args, varies) || slices.ContainsFunc(s.outs, varies)
}

// fixed reports whether all tensors of a step are static.
func (m *method) fixed(s *step) bool {
	dynamic := func(v int64) bool { return v >= 0 && m.plan.Values[v].Tensor != nil && !m.static(int32(v)) }
	any := func(v int32) bool {
		return dynamic(int64(v)) || m.vals[v].Kind == op.Tensors && slices.ContainsFunc(m.plan.Values[v].Items, dynamic)
	}
	return !slices.ContainsFunc(s.args, any) && !slices.ContainsFunc(s.outs, any)
}

// findWriteBacks finds the inputs that kernels write.
func (m *method) findWriteBacks() {
	written := make([]bool, len(m.vals))
	for i := range m.steps {
		for _, v := range m.steps[i].writes() {
			written[v] = true
		}
	}
	m.writesBack = make([]bool, len(m.plan.Inputs))
	for i, v := range m.plan.Inputs {
		m.writesBack[i] = written[v] && m.vals[v].Kind == op.Tensor
	}
}
