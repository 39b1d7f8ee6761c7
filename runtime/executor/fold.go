package executor

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// What a constant that a step gives may take: so many times the largest constant of the file that it is made of, as weights of 4
// bits take in Float, or so many bytes.
const (
	foldTimes = 8
	foldFree  = 64 << 10
)

// anyOrderFactors are the operators that pack a factor, which is this argument, whatever the order of its dimensions is.
var anyOrderFactors = map[string]int{mmName: 1, addmmName: 2, linearName: 1}

// folded is a constant that an instruction gives while a program is loaded, on the thread that needs it first.
type folded struct {
	prog   *Program
	name   string
	plan   *op.Plan
	args   []op.Value
	from   []*folded // what args are made of
	out    tensor.Tensor
	memory chunk
	values []*tensor.Tensor // all that have the bytes of out
	kept   bool             // somebody reads it after the load
	// temporary says that other constants alone read it, so that it has no memory before it is computed.
	temporary bool
	users     atomic.Int32 // the load, jobs and other constants that have not read it yet
	once      sync.Once
}

// compute makes the bytes of c, if nobody has. It panics with the error of the instruction.
func (c *folded) compute() {
	c.once.Do(func() {
		for _, f := range c.from {
			f.compute()
		}
		switch {
		case c.out.Data == nil:
			c.setMemory(c.prog.spareChunk(c.out.Nbytes()))
		case len(c.out.Data) >= populateLeast:
			populate(c.out.Data)
		}
		env := op.Env{Temp: &op.Temp{Limit: int(c.prog.opts.MaxMemory)}}
		if err := c.plan.Bind(c.args, []*tensor.Tensor{&c.out}, &env).Call(); err != nil {
			panic(wrap(codeOfKernel(err), "fold "+c.name, err))
		}
		for i := range c.args {
			if t := c.args[i].Tensor; t != nil {
				c.prog.release(t.Data)
			}
		}
		for _, f := range c.from {
			f.drop()
		}
	})
}

// setMemory gives c its place.
func (c *folded) setMemory(memory chunk) {
	n := c.out.Nbytes()
	c.memory, c.out.Data = memory, memory.data[:n:n]
	for _, t := range c.values {
		t.Data = c.out.Data
	}
}

// drop says that one user does not need c any more. The last one gives its memory back, or leaves it to others.
func (c *folded) drop() {
	if c.users.Add(-1) > 0 {
		return
	}
	if c.temporary {
		c.prog.mu.Lock()
		defer c.prog.mu.Unlock()
		c.prog.spare = append(c.prog.spare, c.memory)
	} else {
		c.memory.close()
	}
	c.memory = chunk{}
}

// spareChunk is memory of at least n bytes.
func (p *Program) spareChunk(n int) chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.spare {
		if c := p.spare[i]; len(c.data) >= n {
			p.spare = slices.Delete(p.spare, i, i+1)
			return c
		}
	}
	return newChunk(n, n)
}

// keepFolded runs before constants are packed: what somebody reads after the load is computed as well.
func (p *Program) keepFolded() {
	for _, c := range p.folds {
		if c.kept {
			p.fills = append(p.fills, backend.Packing{Bytes: len(c.out.Data), Run: c.compute})
		} else {
			c.drop()
		}
	}
}

// dropFolded runs after constants are packed: the other ones are gone.
func (p *Program) dropFolded() {
	for _, c := range p.folds {
		if c.kept {
			p.constants.add(c.memory)
			continue
		}
		p.packed -= int64(c.out.Nbytes())
		for _, t := range c.values {
			t.Data = nil
		}
	}
	for _, c := range p.spare {
		c.close()
	}
	p.folds, p.foldAt, p.foldsOf, p.spare = nil, nil, nil, nil
}

// clearFolded gives back the memory of all constants, after an error.
func (p *Program) clearFolded() {
	for _, c := range p.folds {
		c.memory.close()
	}
	for _, c := range p.spare {
		c.close()
	}
	p.folds, p.foldAt, p.foldsOf, p.spare = nil, nil, nil, nil
}

// folder finds steps that give the same in every Run.
type folder struct {
	writers
	users [][]int   // the steps that read each value
	made  []bool    // values that are constants, or that steps that are gone make of some
	size  []int64   // the bytes of the largest constant of the file that each of those is made of
	base  []*folded // what has the bytes of a value
	given []bool    // values that steps have given
	gives []bool    // outputs, and members of lists that are
	// names are the values that have the bytes of one that a step gives, itself among them, which it alone writes.
	names [][]int32
}

// foldRounds is how often a folder looks for steps that depend on what it keeps. A program that needs more runs as it is, so that
// loading takes no square of its length.
const foldRounds = 8

// fold lets steps whose arguments are constants run once, while the program is loaded. Those that read their results are
// prepared anew, as for constants of the file. A result that all its readers pack is gone after the load; the others may not be
// much larger than what they are made of.
func (m *method) fold() error {
	if m.prog.unfolded || m.prog.tracesIntermediates() || !slices.ContainsFunc(m.steps, m.foldsAlone) || !m.inLine() {
		return nil
	}
	n := len(m.vals)
	f := folder{writers: m.findWriters(), users: make([][]int, n), made: make([]bool, n), size: make([]int64, n), base: make([]*folded, n),
		given: make([]bool, n), names: make([][]int32, n), gives: make([]bool, n)}
	m.each(m.plan.Outputs, func(v int32) { f.gives[v] = true })
	if !f.find() || !f.fits() {
		return nil
	}
	for i := range f.steps {
		if f.gone[i] {
			f.give(&f.steps[i])
		}
	}
	m.steps = without(f.steps, f.gone)
	return f.prepareReaders()
}

// foldsAlone reports whether a step can run once, and reads nothing but constants of the file.
func (m *method) foldsAlone(s step) bool {
	all := foldable(&s)
	m.each(s.args, func(v int32) { all = all && m.place[v] == constant })
	return all
}

// foldable reports whether a step gives the same whenever its arguments are the same, and has nothing to pack.
func foldable(s *step) bool {
	return s.plan != nil && s.fixed && len(s.outs) == 1 && s.plan.Kernel.Def.Tags&op.Random == 0 && s.plan.Kernel.Prepare == nil
}

// find marks the steps that run once as gone, and reports whether there are any.
func (f *folder) find() bool {
	group := f.spans.names()
	for i := range f.steps {
		s := &f.steps[i]
		f.each(s.reads(), func(v int32) { f.users[v] = append(f.users[v], i) })
		if foldable(s) && f.place[s.outs[0]] == planned {
			f.names[s.outs[0]] = group[f.root(s.outs[0])]
			f.gone[i] = f.writesNames(i)
		}
	}
	for range foldRounds {
		f.trace()
		stays := true
		for i := len(f.steps) - 1; i >= 0; i-- {
			if f.gone[i] && !f.pays(f.steps[i].outs[0]) {
				f.gone[i], stays = false, false
			}
		}
		if stays {
			return slices.Contains(f.gone, true)
		}
	}
	return false
}

// writesNames reports whether step i alone writes its result, before anybody reads it, and whether what shares bytes with it has
// all of them, under another name.
func (f *folder) writesNames(i int) bool {
	v := f.steps[i].outs[0]
	t := f.vals[v].Tensor
	if int(f.of[v].first) != i || f.writes[v] != 1 || t.Nbytes() == 0 {
		return false
	}
	for _, w := range f.names[v] {
		u := f.vals[w].Tensor
		if f.of[w].stays || f.isInput[w] || f.gives[w] || w != v && (f.writes[w] > 0 || f.offset(w) != f.offset(v) ||
			!f.static(w) || u.Nbytes() != t.Nbytes() || !u.Contiguous() || !t.Contiguous() || u.DType.Size() > t.DType.Size()) {
			return false
		}
	}
	return true
}

// trace finds what is made of constants by steps that are gone; those that read anything else are not.
func (f *folder) trace() {
	for v := range f.vals {
		if f.made[v] = f.place[v] == constant; f.made[v] {
			f.size[v] = int64(len(f.vals[v].Tensor.Data))
		}
	}
	for i := range f.steps {
		if !f.gone[i] {
			continue
		}
		s, size := &f.steps[i], int64(0)
		f.each(s.args, func(v int32) {
			f.gone[i] = f.gone[i] && f.made[v]
			size = max(size, f.size[v])
		})
		for _, v := range f.names[s.outs[0]] {
			f.made[v], f.size[v] = f.gone[i], size
		}
	}
}

// pays reports whether kernels alone read v, and delegates as an input, and whether those that run every time, if there are any, may find it in
// memory.
func (f *folder) pays(v int32) bool {
	read, stays := false, false
	for _, name := range f.names[v] {
		for _, i := range f.users[name] {
			if s := &f.steps[i]; s.plan == nil && !s.known {
				return false
			}
			read, stays = true, stays || !f.gone[i]
		}
	}
	n := int64(f.vals[v].Tensor.Nbytes())
	return read && (!stays || n <= foldFree || n/foldTimes <= f.size[v])
}

// fits reports whether there is room for what steps that are gone give, and for the same packed as float32 or, if that is more, as it is.
func (f *folder) fits() bool {
	p := f.prog
	left := p.opts.MaxMemory - p.arenas - p.packed
	for i := range f.steps {
		if f.gone[i] {
			t := f.vals[f.steps[i].outs[0]].Tensor
			left -= int64(t.Nbytes()) + max(4*int64(t.Numel()), int64(t.Nbytes()))
			if left < 0 {
				return false
			}
		}
	}
	return true
}

// give makes a constant of what s gives.
func (f *folder) give(s *step) {
	var c *folded
	var data []byte
	if f.sameBytes(s) {
		c, data = f.base[s.args[0]], f.vals[s.args[0]].Tensor.Data
	} else {
		c = f.foldedOf(s)
		data = c.out.Data
	}
	for _, v := range f.names[s.outs[0]] {
		t := f.vals[v].Tensor
		f.place[v], f.given[v], f.base[v], t.Data = constant, true, c, data
		if c != nil {
			c.values = append(c.values, t)
		}
	}
}

// foldedOf is what s gives: a constant that is there, or a new one.
func (f *folder) foldedOf(s *step) *folded {
	args, out := s.kernelArgs(f.vals), &f.vals[s.outs[0]].Tensor.Meta
	if c := f.prog.knownFolded(s, args, out); c != nil {
		return c
	}
	c := f.prog.newFolded(s, args, out, f.temporary(s))
	f.each(s.args, func(v int32) {
		if from := f.base[v]; from != nil && !slices.Contains(c.from, from) {
			from.users.Add(1)
			c.from = append(c.from, from)
		}
	})
	return c
}

// newFolded is what step s gives of constant arguments, not yet computed.
func (p *Program) newFolded(s *step, args []op.Value, out *tensor.Meta, temporary bool) *folded {
	c := &folded{prog: p, name: s.name, plan: s.plan, args: args, out: tensor.Tensor{Meta: out.Clone()}, temporary: temporary}
	c.users.Store(1)
	p.packed += int64(out.Nbytes())
	p.folds = append(p.folds, c)
	if !temporary {
		n := out.Nbytes()
		c.setMemory(newChunk(n, n))
		p.foldAt[&c.out.Data[0]] = c
		if b := firstBytes(args); b != nil {
			p.foldsOf[&b[0]] = append(p.foldsOf[&b[0]], c)
		}
	}
	return c
}

// foldsOfOne is with how many of the constants that are made of one a new one is compared.
const foldsOfOne = 8

// knownFolded is what a step like s gives of the same arguments, as methods with the same weights have them, if that has memory;
// else nil.
func (p *Program) knownFolded(s *step, args []op.Value, out *tensor.Meta) *folded {
	b := firstBytes(args)
	if b == nil {
		return nil
	}
	list := p.foldsOf[&b[0]]
	for _, c := range list[:min(len(list), foldsOfOne)] {
		if c.plan.Kernel == s.plan.Kernel && c.out.Equal(out) && slices.EqualFunc(c.args, args, sameConstant) {
			return c
		}
	}
	return nil
}

// firstBytes are those of the first tensor among args, or nil.
func firstBytes(args []op.Value) []byte {
	for i := range args {
		if t := args[i].Tensor; t != nil && len(t.Data) > 0 {
			return t.Data
		}
	}
	return nil
}

// sameConstant reports whether two values are the same number, list of numbers or place in memory. Other lists are not compared.
func sameConstant(a, b op.Value) bool {
	if a.Tensors != nil || b.Tensors != nil || a.Kind != b.Kind || a.Int != b.Int || a.Str != b.Str ||
		math.Float64bits(a.Float) != math.Float64bits(b.Float) || !slices.Equal(a.Ints, b.Ints) || !slices.Equal(a.Floats, b.Floats) {
		return false
	}
	s, t := a.Tensor, b.Tensor
	if s == nil || t == nil {
		return s == t
	}
	return len(s.Data) > 0 && len(t.Data) == len(s.Data) && &s.Data[0] == &t.Data[0] && s.Equal(&t.Meta)
}

// temporary reports whether other constants alone are computed from what s gives.
func (f *folder) temporary(s *step) bool {
	for _, v := range f.names[s.outs[0]] {
		for _, i := range f.users[v] {
			if t := &f.steps[i]; !f.gone[i] || t.plan.Kernel.Def.Tags&op.View != 0 || t.name == permuteName {
				return false
			}
		}
	}
	return true
}

// sameBytes reports whether s gives the bytes of its first argument: it is a view, or turns a matrix that lies in its order then.
func (f *folder) sameBytes(s *step) bool {
	if len(s.args) == 0 || f.vals[s.args[0]].Kind != op.Tensor {
		return false
	}
	from, to := f.vals[s.args[0]].Tensor, f.vals[s.outs[0]].Tensor
	if from.DType != to.DType || !from.Contiguous() || !to.Contiguous() {
		return false
	}
	turns := s.name == permuteName && to.Rank() == 2 && len(f.names[s.outs[0]]) == 1 && f.vals[s.args[1]].Ints[0]%2 != 0 && f.packs(s.outs[0])
	if turns {
		to.DimOrder = []uint8{1, 0}
	}
	return turns || s.plan.Kernel.Def.Tags&op.View != 0
}

// packs reports whether all steps that read v pack it, if it is constant, in whatever order.
func (f *folder) packs(v int32) bool {
	for _, i := range f.users[v] {
		s := &f.steps[i]
		at, ok := anyOrderFactors[s.name]
		if !ok || !f.prepares(s) || slices.Index(s.args, v) != at {
			return false
		}
	}
	return true
}

// prepares reports whether s calls a kernel as an instruction of the file does.
func (f *folder) prepares(s *step) bool {
	return s.plan != nil && f.prog.table.Lookup(s.name, s.plan.Kernel.DType) == s.plan.Kernel
}

// prepareReaders prepares the steps that read what is constant now, and finds out what they pack.
func (f *folder) prepareReaders() error {
	var missing missingList
	for i := range f.method.steps {
		s := &f.method.steps[i]
		reads := false
		f.each(s.args, func(v int32) { reads = reads || f.given[v] })
		if !reads {
			continue
		}
		if f.prepares(s) {
			def, sig := f.prog.table.Def(s.name)
			if err := f.prepare(s, def, sig, &missing); err != nil {
				return err
			}
		}
		for k, v := range s.args {
			if s.plan == nil || !s.plan.Packed(k) {
				f.each([]int32{v}, func(v int32) {
					if f.base[v] != nil {
						f.base[v].kept = true
					}
				})
			}
		}
	}
	return nil
}
