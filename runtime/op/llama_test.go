package op

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// byHeads is x, of sizes [batch, rows, heads, depth], as [batch, heads, rows, depth], or, turned, [batch, heads, depth, rows]; each head stands as often
// as so many read it, and rows end at most.
func byHeads(x *tensor.Tensor, most, readers int, turned bool) []float32 {
	s := x.Sizes
	rows, heads, depth := int(s[1]), int(s[2]), int(s[3])
	var out []float32
	for b := range int(s[0]) {
		for h := range heads * readers {
			at := func(r, d int) float32 { return elems[float32](x)[((b*rows+r)*heads+h/readers)*depth+d] }
			if turned {
				for d := range depth {
					for r := range most {
						out = append(out, at(r, d))
					}
				}
				continue
			}
			for r := range most {
				for d := range depth {
					out = append(out, at(r, d))
				}
			}
		}
	}
	return out
}

// TestCustomSdpa holds attention with a cache against float64: causal and not, with a mask, with heads that share keys, at
// sizes around those of blocks, on several threads too.
func TestCustomSdpa(t *testing.T) {
	threads := &Env{Parallel: func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}, Threads: 3}
	for _, s := range []struct{ batch, rows, heads, shared, depth, most, start int }{
		{1, 1, 4, 2, 16, 8, 0}, {1, 1, 4, 2, 16, 8, 7}, {2, 3, 4, 4, 16, 20, 5}, {2, 30, 2, 1, 32, 60, 17}, {1, 1, 6, 1, 64, 1100, 1060}, {1, 33, 3, 3, 5, 600, 530}, {1, 2, 9, 1, 16, 40, 3},
	} {
		dim := func(n int) tensor.Dim { return tensor.Dim(n) }
		q := wave(dim(s.batch), dim(s.rows), dim(s.heads), dim(s.depth))
		k, v := wave(dim(s.batch), dim(s.most), dim(s.shared), dim(s.depth)), wave(dim(s.batch), dim(s.most), dim(s.shared), dim(s.depth))
		mask := wave(dim(s.rows), dim(s.most))
		for i := range elems[float32](mask) {
			if i%5 == 3 {
				elems[float32](mask)[i] = float32(math.Inf(-1))
			}
		}
		scale := 1 / math.Sqrt(float64(s.depth))
		for _, c := range []struct {
			name string
			args []any
			last int
			bias func(i, r, c int) float64
		}{
			{"no mask", []any{nil, 0.0, false, nil}, s.start + s.rows, func(_, _, _ int) float64 { return 0 }},
			{"causal", []any{nil, 0.0, true, 0.03}, s.start + s.rows, func(_, r, c int) float64 {
				if c > s.start+r {
					return math.Inf(-1)
				}
				return 0
			}},
			{"causal, upside down", []any{nil, 0.0, true, -0.03}, s.start + s.rows, func(_, r, c int) float64 {
				if c > s.start+r {
					return math.Inf(-1)
				}
				return 0
			}},
			{"mask", []any{mask, 0.0, false, nil}, s.most, func(_, r, c int) float64 { return float64(elems[float32](mask)[r*s.most+c]) }},
		} {
			scale := scale
			if x, ok := c.args[3].(float64); ok {
				scale = x
			}
			n, group := s.batch*s.heads, s.heads/s.shared
			want := attention64(byHeads(q, s.rows, 1, false), byHeads(k, c.last, group, true), byHeads(v, c.last, group, false), n, s.rows, s.depth, c.last, s.depth, scale, c.bias)
			args := append([]any{q, k, v, s.start}, c.args...)
			for _, tier := range kernel.Tiers() {
				for _, env := range []*Env{{}, threads} {
					got := byHeads(plannedIn(t, env, &CustomSdpaF32, tier, false, args...), s.rows, 1, false)
					for i, x := range got {
						if !(math.Abs(float64(x)-want[i]) <= 2e-5*(1+math.Abs(want[i]))) {
							t.Fatalf("%+v, %s, %v: element %d is %v, want %v", s, c.name, tier, i, x, want[i])
						}
					}
				}
			}
		}
	}
}

// TestCustomSdpaAlias writes the result where an operand lies.
func TestCustomSdpaAlias(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for at := range 3 {
			q, k, v := wave(2, 3, 4, 16), wave(2, 3, 4, 16), wave(2, 3, 4, 16)
			args := []any{q, k, v, 0, nil, 0.0, true, nil}
			want := slices.Clone(elems[float32](planned(t, &CustomSdpaF32, tier, false, args...)))
			sig := ParseSignature(CustomSdpa.Schema)
			plan, err := Prepare(&CustomSdpaF32, &sig, vals(args...), []tensor.Meta{q.Meta}, Options{Tier: tier})
			if err != nil {
				t.Fatal(err)
			}
			out := []*tensor.Tensor{q, k, v}[at]
			if err := plan.Bind(vals(args...), []*tensor.Tensor{out}, &Env{Temp: new(Temp)}).Call(); err != nil {
				t.Fatal(err)
			}
			if got := elems[float32](out); !slices.Equal(got, want) {
				t.Errorf("%v, in the place of operand %d: got %v, want %v", tier, at, got[:8], want[:8])
			}
		}
	}
}

// TestUpdateCache writes rows into a cache, from a place on and where indices say.
func TestUpdateCache(t *testing.T) {
	for _, k := range []*Kernel{&UpdateCacheF32, &UpdateCacheWithIndicesF32} {
		cache, value := wave(2, 5, 1, 2), iota32(2, 2, 1, 2)
		want := slices.Clone(elems[float32](cache))
		args := []any{value, cache, 3}
		rows := [2][2]int{{3, 4}, {3, 4}}
		if k == &UpdateCacheWithIndicesF32 {
			rows = [2][2]int{{4, 0}, {1, 2}}
			args = append(args, mi64(dims{2, 2}, 4, 0, 1, 2))
		}
		for b, to := range rows {
			for r, at := range to {
				copy(want[(b*5+at)*2:][:2], elems[float32](value)[(b*2+r)*2:])
			}
		}
		if err := updateCache(k, args...); err != nil {
			t.Fatal(err)
		}
		if got := elems[float32](cache); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", k.Def.Schema, got, want)
		}
	}
}

// updateCache runs a kernel that writes its second argument.
func updateCache(k *Kernel, args ...any) error {
	_, err := cachedCall(k, kernel.Best(), args...)
	return err
}

// cachedCall calls a kernel, which writes the arguments that its schema says, in a tier, and gives the last result.
func cachedCall(k *Kernel, tier kernel.Tier, args ...any) (*tensor.Tensor, error) {
	sig, vals := ParseSignature(k.Def.Schema), vals(args...)
	infer := Infer{Args: vals, Out: make([]tensor.Meta, len(sig.inPlace))}
	if err := k.Def.Infer(&infer); err != nil {
		return nil, err
	}
	plan, err := Prepare(k, &sig, vals, infer.Out, Options{Tier: tier})
	if err != nil {
		return nil, err
	}
	outs := make([]*tensor.Tensor, len(infer.Out))
	for i, m := range infer.Out {
		if at := sig.inPlace[i]; at >= 0 {
			outs[i] = vals[at].Tensor
		} else {
			outs[i] = testTensor(m.DType, m.Sizes)
		}
	}
	return outs[len(outs)-1], plan.Bind(vals, outs, &Env{Temp: new(Temp)}).Call()
}

// TestSdpaWithKvCache holds it against the operators that it stands for: bits in the caches, numbers in the result.
func TestSdpaWithKvCache(t *testing.T) {
	for _, types := range []struct {
		k, attention, update *Kernel
	}{
		{&SdpaWithKvCacheF32, &CustomSdpaF32, &UpdateCacheF32}, {&SdpaWithKvCacheF16, &CustomSdpaF16, &UpdateCacheF16}, {&SdpaWithKvCacheBF16, &CustomSdpaBF16, &UpdateCacheBF16},
	} {
		for _, s := range []struct{ batch, rows, heads, shared, depth, most, start int64 }{{1, 1, 4, 2, 16, 8, 0}, {2, 3, 4, 4, 5, 20, 17}, {1, 25, 6, 2, 33, 70, 30}} {
			typed := func(sizes ...tensor.Dim) *tensor.Tensor {
				x := wave(sizes...)
				y := testTensor(types.k.DType, sizes)
				CastBytes(y.Data, y.DType, x.Data, x.DType, x.Numel())
				return y
			}
			for _, rest := range [][]any{{nil, 0.0, true, nil}, {nil, 0.0, false, 0.3}, {wave(s.rows, s.most), 0.0, false, nil}, {nil, 0.0, true, -0.1}} {
				for _, tier := range kernel.Tiers() {
					q, k, v := typed(s.batch, s.rows, s.heads, s.depth), typed(s.batch, s.rows, s.shared, s.depth), typed(s.batch, s.rows, s.shared, s.depth)
					caches := [2][2]*tensor.Tensor{}
					for i := range caches {
						caches[i] = [2]*tensor.Tensor{typed(s.batch, s.most, s.shared, s.depth), typed(s.batch, s.most, s.shared, s.depth)}
					}
					got, err := cachedCall(types.k, tier, append([]any{q, k, v, caches[0][0], caches[0][1], int(s.start), int(s.rows)}, rest...)...)
					if err != nil {
						t.Fatal(err)
					}
					for i, value := range []*tensor.Tensor{k, v} {
						if err := updateCache(types.update, value, caches[1][i], int(s.start)); err != nil {
							t.Fatal(err)
						}
						if !slices.Equal(caches[0][i].Data, caches[1][i].Data) {
							t.Fatalf("%s, %+v: cache %d has other bits", types.k.DType, s, i)
						}
					}
					want := planned(t, types.attention, tier, false, append([]any{q, caches[1][0], caches[1][1], int(s.start)}, rest...)...)
					if !slices.Equal(got.Data, want.Data) {
						t.Errorf("%s, %+v, %v: other bits than of custom_sdpa", types.k.DType, s, rest)
					}
				}
			}
		}
	}
}

// TestSdpaWithKvCacheErrors gives what does not fit; caches stay as they were.
func TestSdpaWithKvCacheErrors(t *testing.T) {
	cache := func() *tensor.Tensor { return wave(1, 6, 2, 4) }
	x, k, v := wave(1, 2, 4, 4), wave(1, 2, 2, 4), wave(1, 2, 2, 4)
	args := func(change func(a []any)) []any {
		a := []any{x, k, v, cache(), cache(), 1, 2, nil, 0.0, true, nil}
		change(a)
		return a
	}
	for _, c := range []struct {
		name   string
		change func(a []any)
		want   string
	}{
		{"behind the end", func(a []any) { a[5] = 5 }, "check start_pos: the rows do not lie within those of the cache"},
		{"at the end, without rows", func(a []any) {
			a[0], a[1], a[2], a[5], a[6] = wave(1, 0, 4, 4), wave(1, 0, 2, 4), wave(1, 0, 2, 4), 6, 0
		}, errCacheStart.Error()},
		{"negative", func(a []any) { a[5] = -1 }, errCacheStart.Error()},
		{"seq_len of more rows", func(a []any) { a[6] = 6 }, errCacheStart.Error()},
		{"more rows of keys", func(a []any) { a[1] = wave(1, 6, 2, 4) }, errCacheStart.Error()},
		{"more rows of values", func(a []any) { a[2] = wave(1, 6, 2, 4) }, errCacheStart.Error()},
		{"more rows of the query", func(a []any) { a[0] = wave(1, 6, 4, 4) }, errCacheStart.Error()},
		{"both masks", func(a []any) { a[7] = wave(2, 6) }, "check attn_mask: not together with is_causal"},
		{"short mask", func(a []any) { a[7], a[9] = wave(2, 5), false }, errSizes.Error()},
		{"heads", func(a []any) { a[0] = wave(1, 2, 3, 4) }, "check heads: those of the query must be a multiple of those of keys and values"},
		{"heads of keys", func(a []any) { a[1] = wave(1, 2, 4, 4) }, errSizes.Error()},
		{"depth of values", func(a []any) { a[2] = wave(1, 2, 2, 5) }, errSizes.Error()},
		{"batches", func(a []any) { a[0] = wave(2, 2, 4, 4) }, errSizes.Error()},
		{"rank", func(a []any) { a[3] = wave(6, 2, 4) }, errDims.Error()},
		{"rank of keys", func(a []any) { a[1] = wave(2, 2, 4) }, errDims.Error()},
		{"type of values", func(a []any) { a[2] = mi64(dims{1, 2, 2, 4}, make([]int64, 16)...) }, errSameType.Error()},
		{"type of caches", func(a []any) { a[4] = mi64(dims{1, 6, 2, 4}, make([]int64, 48)...) }, errSameType.Error()},
		{"no keys", func(a []any) { a[1] = nil }, errNoTensor.Error()},
		{"no cache", func(a []any) { a[3] = nil }, errNoTensor.Error()},
	} {
		a := args(c.change)
		_, err := cachedCall(&SdpaWithKvCacheF32, kernel.Best(), a...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		for _, i := range []int{3, 4} {
			if got, ok := a[i].(*tensor.Tensor); ok && got.DType == tensor.Float && got.Rank() == 4 && !slices.Equal(got.Data, cache().Data) {
				t.Errorf("%s: cache %d was written", c.name, i)
			}
		}
	}
}

// TestLlamaErrors gives what does not fit.
func TestLlamaErrors(t *testing.T) {
	x, cache := wave(1, 2, 2, 4), wave(1, 6, 2, 4)
	for _, c := range []struct {
		args []any
		want error
	}{
		{[]any{x, cache, 5}, errCacheStart}, {[]any{x, cache, -1}, errCacheStart}, {[]any{wave(1, 0, 2, 4), cache, 6}, errCacheStart},
		{[]any{x, wave(1, 6, 2, 5), 0}, errSizes}, {[]any{x, wave(2, 6, 2, 4), 0}, errSizes}, {[]any{wave(2, 2, 4), cache, 0}, errDims},
		{[]any{x, mi64(dims{1, 1, 2, 4}, make([]int64, 8)...), 0}, errSameType},
	} {
		if err := updateCache(&UpdateCacheF32, c.args...); !errors.Is(err, c.want) {
			t.Errorf("%v: got %v, want %v", c.args[2], err, c.want)
		}
	}
	for _, c := range []struct {
		at   *tensor.Tensor
		want error
	}{{mi64(dims{1, 2}, 0, 6), errCacheIndex}, {mi64(dims{1, 2}, -1, 0), errCacheIndex}, {mi64(dims{2}, 1, 2), errSizes}, {mi64(dims{1, 1}, 1), errSizes}, {wave(1, 2), errSizes}} {
		if err := updateCache(&UpdateCacheWithIndicesF32, x, cache, 0, c.at); !errors.Is(err, c.want) {
			t.Errorf("indices %v: got %v, want %v", c.at.Sizes, err, c.want)
		}
	}
	for _, c := range []struct {
		args []any
		want error
	}{
		{[]any{x, cache, cache, 5, nil, 0.0, true, nil}, errCacheStart}, {[]any{x, cache, cache, -1, nil, 0.0, false, nil}, errCacheStart},
		{[]any{x, cache, cache, 0, wave(2, 6), 0.0, true, nil}, errTwoMasks}, {[]any{x, cache, cache, 0, wave(2, 5), 0.0, false, nil}, errSizes},
		{[]any{x, cache, cache, 0, someMask(12), 0.0, false, nil}, errSameType}, {[]any{wave(1, 2, 3, 4), cache, cache, 0, nil, 0.0, true, nil}, errCacheHeads},
		{[]any{x, cache, wave(1, 5, 2, 4), 0, nil, 0.0, true, nil}, errSizes}, {[]any{wave(1, 2, 2, 5), cache, cache, 0, nil, 0.0, true, nil}, errSizes},
		{[]any{wave(2, 2, 4), cache, cache, 0, nil, 0.0, true, nil}, errDims}, {[]any{x, cache, mi64(dims{1, 6, 2, 4}, make([]int64, 48)...), 0, nil, 0.0, true, nil}, errSameType},
	} {
		if _, err := call(&CustomSdpaF32, 1, false, c.args...); !errors.Is(err, c.want) {
			t.Errorf("start %v, causal %v: got %v, want %v", c.args[3], c.args[6], err, c.want)
		}
	}
}
