package rt

import "github.com/rules-pte/rules_pte/runtime/kernel"

// findChains sets the steps' chains.
func (p *program) findChains() {
	for i := range p.steps {
		if p.steps[i].plan == nil {
			continue
		}
		last := i + 1
		for last < len(p.steps) && p.steps[last].inPlace != nil && p.feeds(last-1) {
			last++
		}
		if last < len(p.steps) && p.steps[last].plan != nil && p.feeds(last-1) && p.steps[i].plan.Chains(p.steps[last].plan) {
			p.steps[i].chain = last + 1 - i
			p.keepArgs(i, last)
		}
	}
}

// keepArgs lets what step i reads live until a later one has run.
func (p *program) keepArgs(i, last int) {
	for k := range p.steps[i].args {
		if at := p.steps[i].args[k].slot; at >= 0 {
			p.slots[at].last = max(p.slots[at].last, last)
		}
	}
}

// feeds reports whether step i has one result, and the next step is the only one that reads it, as its first argument.
func (p *program) feeds(i int) bool {
	if len(p.steps[i].outs) != 1 {
		return false
	}
	out := p.steps[i].outs[0].slot
	s := &p.slots[out]
	return out == p.steps[i+1].args[0].slot && s.external < 0 && s.first == i && s.last == i+1
}

// runChain runs the steps of a chain from step i on together and reports whether it has: else it has run none.
func (in *instance) runChain(i int) (bool, error) {
	last := i + in.prog.steps[i].chain - 1
	first, then := &in.steps[i], &in.steps[last]
	first.open()
	if err := first.invoker.Place(); err != nil {
		return false, err
	}
	first.close()
	for k := i + 1; k < last; k++ {
		own := in.steps[k].own
		if err := own.resize(own.outs[0], own.args[0].Sizes); err != nil {
			return false, err
		}
	}
	then.open()
	done, err := then.invoker.CallBehind(first.invoker, first.between)
	then.close()
	return done, err
}

// betweenOf is what the steps of a chain from step i on do between its convolutions, nil for nothing.
func (p *program) betweenOf(i int, t kernel.Tier) func(x []float32) {
	if p.steps[i].chain < 3 {
		return nil
	}
	steps := p.steps[i+1 : i+p.steps[i].chain-1]
	return func(x []float32) {
		for k := range steps {
			steps[k].inPlace(t, x)
		}
	}
}
