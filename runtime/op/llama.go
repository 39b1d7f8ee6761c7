package op

import (
	"errors"
	"math"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/scalarmath"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// The rows of the operators of language models in ExecuTorch's extension/llm/custom_ops. Queries, keys and values have the sizes
// [batch, rows, heads, depth]; caches of keys and values have room for more rows.
var (
	// CustomSdpa is softmax(scale·(q·kᵀ) + mask)·v with the rows of keys and values up to start_pos and as many as the query has, or,
	// with a mask, all of them. Each head of them is read by as many heads of the query as there are more of those. If is_causal, row r
	// of the query sees the rows up to start_pos+r.
	CustomSdpa = Def{
		Schema:     "llama::custom_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "llama::custom_sdpa", Infer: inferCustomSdpa, KeyArgs: 1,
	}
	// SdpaWithKvCache writes key and value into the rows of their caches from start_pos on, and gives what CustomSdpa gives of the query and the
	// caches, which are outs too. The caches have room for seq_len rows from start_pos on.
	SdpaWithKvCache = Def{
		Schema: "llama::sdpa_with_kv_cache.out(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, " +
			"Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None, *, Tensor(c!) out) -> Tensor(c!)",
		Functional: "llama::sdpa_with_kv_cache", Infer: inferSdpaWithKvCache, KeyArgs: 1,
	}
	// CustomQuantizedSdpa is CustomSdpa of rows of int8, which stand for (x - zero)·scale: scales, of Float, and zero points, of int8, have the sizes
	// of their rows, with 1 for the last one. With is_seq_at_dim_2 sizes are [batch, heads, rows, depth]. The result is Float.
	//
	// The official runtime multiplies queries and keys as integers, exactly, and scales the sums; here both are dequantized first, so that a score
	// differs by at most (depth+4)·2⁻²⁴·scale·Σ|q·k| of its row.
	CustomQuantizedSdpa = Def{
		Schema: "llama::custom_quantized_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, " +
			"float? scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, " +
			"Tensor? v_scales=None, bool is_seq_at_dim_2=False, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "llama::custom_quantized_sdpa", Infer: inferCustomQuantizedSdpa, KeyArgs: 1,
	}
	// UpdateCache writes value into the rows of a cache from start_pos on. Nobody reads out.
	UpdateCache = Def{
		Schema:     "llama::update_cache.out(Tensor value, Tensor(a!) cache, SymInt start_pos, *, Tensor(b!) out) -> Tensor(b!)",
		Functional: "llama::update_cache", Infer: inferUpdateCache, KeyArgs: 1,
	}
	// UpdateCacheWithIndices writes each row of value into the row of a cache that the indices, of sizes [batch, rows], name.
	UpdateCacheWithIndices = Def{
		Schema:     "llama::update_cache_with_indices.out(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices, *, Tensor(b!) out) -> Tensor(b!)",
		Functional: "llama::update_cache_with_indices", Infer: inferUpdateCache, KeyArgs: 1,
	}
)

var (
	errCacheStart = errors.New("check start_pos: the rows do not lie within those of the cache")
	errCacheIndex = errors.New("check indices: one is outside of the cache")
	errCacheHeads = errors.New("check heads: those of the query must be a multiple of those of keys and values")
	errRowScales  = errors.New("check scales and zero points: query, key and value have one of each for a row, of float32 and int8")
	errTwoMasks   = errors.New("check attn_mask: not together with is_causal")
)

func inferUpdateCache(c *Infer) error {
	value, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	cache, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	if err := checkCached(c, value, cache); err != nil {
		return err
	}
	if len(c.Args) > 3 {
		at, err := argTensor(c.Args, 3)
		if err != nil {
			return err
		}
		if at.DType != tensor.Long || at.Rank() != 2 || !mayBe(c.Shapes, at.Sizes, value.Sizes[:2]) {
			return errSizes
		}
	}
	c.Set(0, cache.DType, cache.Sizes...)
	c.Set(1, value.DType, 1)
	return nil
}

// checkCached checks that a cache has room for rows like those of value.
func checkCached(c *Infer, value, cache *tensor.Tensor) error {
	if value.Rank() != 4 || cache.Rank() != 4 {
		return errDims
	}
	if value.DType != cache.DType {
		return errSameType
	}
	for _, i := range []int{0, 2, 3} {
		if c.Shapes.Equal(value.Sizes[i], cache.Sizes[i]) == tensor.No {
			return errSizes
		}
	}
	return nil
}

// cachedArgs are the arguments of an attention that reads keys and values from caches.
type cachedArgs struct {
	q, k, v, mask *tensor.Tensor
	start         int64
	causal        bool
	scale         Value
	rowsAt        int                  // the dimension of rows, 1 or 2; the other one is that of heads
	quantized     [3][2]*tensor.Tensor // zero points and scales of q, k and v; nil of floats
}

// cachedArgsOf takes the arguments of CustomSdpa: those of q, k and v have these numbers, the others follow from number rest on.
func cachedArgsOf(args []Value, q, k, v, start, rest int) cachedArgs {
	return cachedArgs{q: args[q].Tensor, k: args[k].Tensor, v: args[v].Tensor, mask: args[rest].Tensor, start: args[start].Int, causal: args[rest+2].Int != 0,
		scale: args[rest+3], rowsAt: 1}
}

// customSdpaArgs are the arguments of CustomSdpa.
func customSdpaArgs(args []Value) cachedArgs { return cachedArgsOf(args, 0, 1, 2, 3, 4) }

// customQuantizedSdpaArgs are those of CustomQuantizedSdpa.
func customQuantizedSdpaArgs(args []Value) cachedArgs {
	a := customSdpaArgs(args)
	if args[14].Int != 0 {
		a.rowsAt = 2
	}
	for i := range a.quantized {
		a.quantized[i] = [2]*tensor.Tensor{args[8+2*i].Tensor, args[9+2*i].Tensor}
	}
	return a
}

// sdpaWithKvCacheArgs are those of the attention of SdpaWithKvCache.
func sdpaWithKvCacheArgs(args []Value) cachedArgs { return cachedArgsOf(args, 0, 3, 4, 5, 7) }

func inferCustomSdpa(c *Infer) error {
	a := customSdpaArgs(c.Args)
	if err := a.check(c); err != nil {
		return err
	}
	c.Set(0, a.q.DType, a.q.Sizes...)
	return nil
}

func inferCustomQuantizedSdpa(c *Infer) error {
	a := customQuantizedSdpaArgs(c.Args)
	if err := a.check(c); err != nil {
		return err
	}
	if a.q.DType != tensor.Char {
		return errSameType
	}
	for i, t := range []*tensor.Tensor{a.q, a.k, a.v} {
		for k, want := range []tensor.ScalarType{tensor.Char, tensor.Float} {
			p := a.quantized[i][k]
			if p == nil || p.DType != want || p.Rank() != 4 || !mayBe(c.Shapes, p.Sizes[:3], t.Sizes[:3]) || c.Shapes.Equal(p.Sizes[3], 1) == tensor.No {
				return errRowScales
			}
		}
	}
	c.Set(0, tensor.Float, a.q.Sizes...)
	return nil
}

func inferSdpaWithKvCache(c *Infer) error {
	a := sdpaWithKvCacheArgs(c.Args)
	if err := a.check(c); err != nil {
		return err
	}
	for i, cache := range []*tensor.Tensor{a.k, a.v} {
		value, err := argTensor(c.Args, 1+i)
		if err != nil {
			return err
		}
		if err := checkCached(c, value, cache); err != nil {
			return err
		}
		c.Set(i, cache.DType, cache.Sizes...)
	}
	c.Set(2, a.q.DType, a.q.Sizes...)
	return nil
}

// check checks types and sizes.
func (a *cachedArgs) check(c *Infer) error {
	for _, t := range []*tensor.Tensor{a.q, a.k, a.v} {
		switch {
		case t == nil:
			return errNoTensor
		case t.Rank() != 4:
			return errDims
		case t.DType != a.q.DType:
			return errSameType
		}
	}
	q, k, rows, heads := a.q.Sizes, a.k.Sizes, a.rowsAt, 3-a.rowsAt
	if !mayBe(c.Shapes, k, a.v.Sizes) || c.Shapes.Equal(q[0], k[0]) == tensor.No || c.Shapes.Equal(q[3], k[3]) == tensor.No {
		return errSizes
	}
	if k[heads] == 0 || c.Shapes.Equal(c.Shapes.Mod(q[heads], k[heads]), 0) == tensor.No {
		return errCacheHeads
	}
	if mask := a.mask; mask != nil {
		if a.causal {
			return errTwoMasks
		}
		if mask.DType != tensor.Float {
			return errSameType
		}
		if mask.Rank() != 2 || c.Shapes.Equal(mask.Sizes[0], q[rows]) == tensor.No || c.Shapes.Equal(mask.Sizes[1], k[rows]) == tensor.No {
			return errSizes
		}
	}
	return nil
}

func runUpdateCache[T any](c *Call, _ State) error {
	value, cache := c.Args[0].Tensor, c.Out[0]
	if len(c.Args) > 3 {
		x, err := contiguousOf[T](c, value)
		if err != nil {
			return err
		}
		if !cache.Contiguous() {
			return errDims
		}
		o, rows, most, row := elems[T](cache), int(value.Sizes[1]), int(cache.Sizes[1]), int(value.Sizes[2]*value.Sizes[3])
		indices, err := contiguousOf[int64](c, c.Args[3].Tensor)
		if err != nil {
			return err
		}
		for i, to := range indices {
			if to < 0 || to >= int64(most) {
				return errCacheIndex
			}
			copy(o[(i/rows*most+int(to))*row:][:row], x[i*row:])
		}
		return nil
	}
	if !cacheHas(cache, c.Args[2].Int, value.Sizes[1]) {
		return errCacheStart
	}
	return writeCache[T](c, value, cache, int(c.Args[2].Int))
}

// cacheHas reports whether a cache has this many rows from start on, which has to be one of its own even for none.
func cacheHas(cache *tensor.Tensor, start int64, rows int64) bool {
	most := cache.Sizes[1]
	return start >= 0 && start < most && rows <= most-start
}

// writeCache writes value into the rows of a cache from start on, where there is room.
func writeCache[T any](c *Call, value, cache *tensor.Tensor, start int) error {
	x, err := contiguousOf[T](c, value)
	if err != nil {
		return err
	}
	if !cache.Contiguous() {
		return errDims
	}
	o, rows, most, row := elems[T](cache), int(value.Sizes[1]), int(cache.Sizes[1]), int(value.Sizes[2]*value.Sizes[3])
	for b := range int(value.Sizes[0]) {
		copy(o[(b*most+start)*row:][:rows*row], x[b*rows*row:])
	}
	return nil
}

func runCustomSdpa(c *Call, _ State) error {
	a := customSdpaArgs(c.Args)
	return a.run(c, c.Out[0])
}

func runCustomQuantizedSdpa(c *Call, _ State) error {
	a := customQuantizedSdpaArgs(c.Args)
	return a.run(c, c.Out[0])
}

// runSdpaWithKvCache writes nothing unless all rows fit.
func runSdpaWithKvCache(c *Call, _ State) error {
	a := sdpaWithKvCacheArgs(c.Args)
	a.k, a.v = c.Out[0], c.Out[1]
	key, value := c.Args[1].Tensor, c.Args[2].Tensor
	rows := max(c.Args[6].Int, key.Sizes[1], value.Sizes[1])
	if !cacheHas(a.k, a.start, rows) || a.mask == nil && !cacheHas(a.k, a.start, a.q.Sizes[1]) {
		return errCacheStart
	}
	if err := writeCache[float32](c, key, a.k, int(a.start)); err != nil {
		return err
	}
	if err := writeCache[float32](c, value, a.v, int(a.start)); err != nil {
		return err
	}
	return a.run(c, c.Out[2])
}

// run computes out, the attention.
func (a *cachedArgs) run(c *Call, out *tensor.Tensor) error {
	if out.Numel() == 0 {
		return nil
	}
	var j attention
	if err := j.setupCached(c, a, out); err != nil {
		return err
	}
	if c.Tier == kernel.Scalar || !(j.Scale > 0) {
		return j.plainly(c)
	}
	if err := j.cut(c); err != nil {
		return err
	}
	j.direct()
	return j.run(c)
}

// setupCached makes the job of an attention without its memory.
func (j *attention) setupCached(c *Call, a *cachedArgs, out *tensor.Tensor) error {
	q, k := a.q.Sizes, a.k.Sizes
	rows, most, depth := int(q[a.rowsAt]), int(k[a.rowsAt]), int(q[3])
	*j = attention{tiling: tilingOf[float32](c.Tier), tier: c.Tier, rows: rows, depth: depth, columns: most, width: depth, to: elems[float32](out)}
	if j.Scale = float32(1 / math.Sqrt(float64(depth))); a.scale.Kind == Float {
		j.Scale = float32(a.scale.Float)
	}
	j.left = a.place(q)
	j.result = j.left
	if a.mask == nil {
		if a.start < 0 || a.start > int64(most-rows) {
			return errCacheStart
		}
		j.columns = int(a.start) + rows
		j.mask.causal, j.mask.start = a.causal, int(a.start)
	} else if err := j.mask.setup(c, a.mask, [3]int{int(q[0]) * j.left.heads, rows, most}); err != nil {
		return err
	}
	steps := a.place(k)
	cache := heads{steps: steps, count: int(k[0]) * steps.heads, group: j.left.heads / steps.heads}
	j.k, j.v = cache, cache
	switch {
	case a.quantized[0][0] != nil:
		return j.setBytes(c, a)
	case isHalf(a.k.DType):
		return j.setHalves(c, a)
	}
	var x [3][]float32
	for i, t := range [...]*tensor.Tensor{a.q, a.k, a.v} {
		var err error
		if x[i], err = contiguousOf[float32](c, t); err != nil {
			return err
		}
	}
	j.q = x[0]
	j.k.matrix, j.v.matrix = matrix[float32]{x[1], depth, j.columns, 1, steps.row}, matrix[float32]{x[2], j.columns, depth, steps.row, 1}
	return nil
}

// place is how rows lie in a tensor of these sizes.
func (a *cachedArgs) place(sizes []tensor.Dim) place {
	rows, heads, depth := int(sizes[a.rowsAt]), int(sizes[3-a.rowsAt]), int(sizes[3])
	if a.rowsAt == 1 {
		return place{head: depth, row: heads * depth, batch: rows * heads * depth, heads: heads}
	}
	return place{head: rows * depth, row: depth, batch: rows * heads * depth, heads: heads}
}

// plainly computes the attention in portable Go.
func (j *attention) plainly(c *Call) error {
	room, err := tempOf[float32](c, j.columns+j.depth)
	if err == nil {
		err = j.placeOut(c)
	}
	if err != nil {
		return err
	}
	for i := range j.k.count * j.k.group * j.rows {
		j.plain(room[:j.columns], room[j.columns:], i/j.rows, i%j.rows)
	}
	j.giveOut()
	return nil
}

// plain computes a row of a head in portable Go; x has room for its scores, y for a key or a value.
func (j *attention) plain(x, y []float32, head, row int) {
	q, o := j.q[j.left.of(head)+row*j.left.row:][:j.depth], j.out[j.result.of(head)+row*j.result.row:][:j.width]
	for i := range x {
		x[i] = 0
		key := j.k.row(j.tier, y, head/j.k.group, i)
		for d, y := range q {
			x[i] += float32(y * key[d])
		}
		x[i] *= j.Scale
	}
	j.mask.apply(j.tier, x, 1, [3]int{head, row, 0})
	top, sum := kernel.Unclamped[0], float32(0)
	for i := range x {
		top = maxOf(top, x[i])
	}
	clear(o)
	for i := range x {
		w := scalarmath.Exp(x[i] - top)
		sum += w
		for d, y := range j.v.row(j.tier, y, head/j.v.group, i) {
			o[d] += float32(w * y)
		}
	}
	for d := range o {
		o[d] /= sum
	}
}
