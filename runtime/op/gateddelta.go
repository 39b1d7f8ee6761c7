package op

import (
	"errors"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

var (
	// GatedDeltaRule is the recurrence of a gated delta network. query is [batch, heads, tokens, K], key [batch, shared, tokens, K] and value
	// [batch, shared, tokens, V], with heads a multiple of shared; decay is [batch, shared, tokens, K], or [batch, shared, tokens] for all of K, beta
	// [batch, shared, tokens], initial_state [batch, shared, K, V]; all are Float. Token by token, with S the state of a head:
	//
	//	d = beta·(v - kᵀ·diag(decay)·S), S = diag(decay)·S + k·dᵀ, out = qᵀ·S
	//
	// out is [batch, heads, tokens, V], final_state_out the last S. The official runtime does several tokens of a prompt at once, by logarithms of decay.
	GatedDeltaRule = Def{
		Schema: "llama::gated_delta_rule.out(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, " +
			"Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))",
		Functional: "llama::gated_delta_rule", Infer: inferGatedDeltaRule,
	}
	// ChannelwiseGatedDeltaRule is an older name of GatedDeltaRule.
	ChannelwiseGatedDeltaRule = Def{
		Schema: "llama::channelwise_gated_delta_rule.out(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, " +
			"Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))",
		Functional: "llama::channelwise_gated_delta_rule", Infer: inferGatedDeltaRule,
	}
)

var errDeltaSizes = errors.New("check sizes: those of query, key, value, decay, beta and initial_state do not agree")

func inferGatedDeltaRule(c *Infer) error {
	var s [6][]tensor.Dim
	for i, ranks := range [...][2]int{{4, 4}, {4, 4}, {4, 4}, {3, 4}, {3, 3}, {4, 4}} {
		t, err := argTensor(c.Args, i)
		switch {
		case err != nil:
			return err
		case t.DType != tensor.Float:
			return errSameType
		case t.Rank() < ranks[0] || t.Rank() > ranks[1]:
			return errDims
		}
		s[i] = t.Sizes
	}
	q, k, v, decay, beta, state := s[0], s[1], s[2], s[3], s[4], s[5]
	equal := func(a, b []tensor.Dim) bool { return mayBe(c.Shapes, a, b) }
	if !equal(q[:1], k[:1]) || !equal(q[2:], k[2:]) || !equal(v[:3], k[:3]) || !equal(decay, k[:len(decay)]) || !equal(beta, k[:3]) ||
		!equal(state[:2], k[:2]) || !equal(state[2:3], k[3:]) || !equal(state[3:], v[3:]) {
		return errDeltaSizes
	}
	if k[1] == 0 || c.Shapes.Equal(c.Shapes.Mod(q[1], k[1]), 0) == tensor.No {
		return errCacheHeads
	}
	c.Set(0, tensor.Float, q[0], q[1], q[2], v[3])
	c.Set(1, tensor.Float, state...)
	return nil
}

// deltaRule is a job: heads of keys, with those of queries that read them.
type deltaRule struct {
	tier                        kernel.Tier
	q, k, v, decay, beta        []float32
	state, o                    []float32
	group, tokens, depth, width int
	channels                    bool // decay has a number for each of depth
	slots                       Slots
	scratch                     []float32
	room                        int
}

func runGatedDeltaRule(c *Call, _ State) error {
	var x [6][]float32
	for i := range x {
		var err error
		if x[i], err = contiguousOf[float32](c, c.Args[i].Tensor); err != nil {
			return err
		}
	}
	o, state := elems[float32](c.Out[0]), elems[float32](c.Out[1])
	copy(state, x[5])
	q, k := c.Args[0].Tensor.Sizes, c.Args[1].Tensor.Sizes
	j := deltaRule{tier: c.Tier, q: x[0], k: x[1], v: x[2], decay: x[3], beta: x[4], state: state, o: o, group: int(q[1] / k[1]), tokens: int(k[2]),
		depth: int(k[3]), width: int(c.Args[2].Tensor.Sizes[3]), channels: c.Args[3].Tensor.Rank() == 4}
	heads := int(k[0] * k[1])
	j.slots = Slots{Count: max(min(heads, c.Threads, MaxSlots), 1), Items: heads}
	j.room = 2*j.depth + j.width + SlotGap/f32Size
	var err error
	if j.scratch, err = tempOf[float32](c, j.slots.Count*j.room); err != nil || heads == 0 {
		return err
	}
	share(c, &j, heads, max(1, gemmParallelMin/4/max(1, j.tokens*j.depth*j.width)))
	return nil
}

func (j *deltaRule) parts(lo, hi int) {
	mine := j.slots.Enter(lo)
	defer j.slots.Leave(mine)
	room := j.scratch[mine*j.room:][:j.room]
	for head := lo; head < hi; head++ {
		s := j.state[head*j.depth*j.width:][:j.depth*j.width]
		for t := range j.tokens {
			j.token(s, room, head, t)
		}
	}
}

// token lets token t of a head change its state s, and gives what its queries read of that: qᵀ·diag(decay)·s, of the state before, and (q·k)·d.
func (j *deltaRule) token(s, room []float32, head, t int) {
	decay, weights, d := room[:j.depth], room[j.depth:][:j.depth], room[2*j.depth:][:j.width]
	at := head*j.tokens + t
	k := j.k[at*j.depth:][:j.depth]
	for i := range decay {
		if j.channels {
			decay[i] = j.decay[at*j.depth+i]
		} else {
			decay[i] = j.decay[at]
		}
		weights[i] = decay[i] * k[i]
	}
	clear(d)
	sumRows(j.tier, d, s, weights)
	for i, v := range j.v[at*j.width:][:j.width] {
		d[i] = (v - d[i]) * j.beta[at]
	}
	for g := range j.group {
		row := (head*j.group+g)*j.tokens + t
		q, o := j.q[row*j.depth:][:j.depth], j.o[row*j.width:][:j.width]
		var both float32
		for i, x := range q {
			weights[i] = x * decay[i]
			both += float32(x * k[i])
		}
		clear(o)
		sumRows(j.tier, o, s, weights)
		addTimes(j.tier, o, d, both)
	}
	for i := range k {
		row := s[i*j.width:][:j.width]
		if !kernel.AffineRowF32(j.tier, row, row, nil, nil, 0, decay[i]) {
			for c := range row {
				row[c] *= decay[i]
			}
		}
		addTimes(j.tier, row, d, k[i])
	}
}

// addTimes adds scale·y to o.
func addTimes(t kernel.Tier, o, y []float32, scale float32) {
	if kernel.AddScaledF32(t, o, o, y, [2]float32{scale}) {
		return
	}
	for i, v := range y {
		o[i] += float32(scale * v)
	}
}
