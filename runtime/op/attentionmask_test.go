package op

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// endsMask is a mask of these sizes of four dimensions, added or of bools, whose rows count up to an end: often that of the row before.
func endsMask(r *rand.Rand, added bool, sizes ...int64) *tensor.Tensor {
	m := testTensor(tensor.Bool, sizes)
	if added {
		m = testTensor(tensor.Float, sizes)
	}
	columns, end := int(sizes[3]), 0
	for row := range m.Numel() / columns {
		if r.IntN(3) == 0 {
			end = 1 + r.IntN(columns)
		}
		for c := range columns {
			yes := c == 0 || c == end-1 || c < end && r.IntN(8) > 0
			switch at := row*columns + c; {
			case !added:
				m.Data[at] = toBool(yes)
			case !yes:
				elems[float32](m)[at] = float32(math.Inf(-1))
			default:
				elems[float32](m)[at] = r.Float32()
			}
		}
	}
	return m
}

// biasOf is what a mask of four dimensions adds to the score of a head, a row and a column; heads are those of a batch.
func biasOf(m *tensor.Tensor, heads int) func(i, r, s int) float64 {
	return func(i, r, s int) float64 {
		at := 0
		for d, x := range []int{i / heads, i % heads, r, s} {
			at = at*int(m.Sizes[d]) + min(x, int(m.Sizes[d])-1)
		}
		if x := NumberAt(m, at); m.DType == tensor.Float {
			return x
		} else if x == 0 {
			return math.Inf(-1)
		}
		return 0
	}
}

// TestAttentionEnds leaves out columns behind those that count, and gives what all of them do.
func TestAttentionEnds(t *testing.T) {
	const batches, heads, depth, width = 2, 3, 8, 20
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][4]int64{{1, 1, 1, 200}, {2, 1, 1, 200}, {1, 1, 60, 200}, {2, 3, 60, 200}, {1, 3, 60, 77}, {2, 1, 1, 1500}, {1, 1, 25, 1100}} {
		for _, added := range []bool{false, true} {
			mask := endsMask(r, added, s[:]...)
			rows, columns, bias := max(int(s[2]), 2), int(s[3]), biasOf(mask, heads)
			q, k, v := wave(batches*heads, int64(rows), depth), wave(batches*heads, depth, s[3]), wave(batches*heads, s[3], width)
			want := attention64(elems[float32](q), elems[float32](k), elems[float32](v), batches*heads, rows, depth, columns, width, 0.5, bias)
			for _, tier := range kernel.Tiers()[1:] {
				t.Run(fmt.Sprintf("%v/%v/%v", s, added, tier), func(t *testing.T) {
					for _, right := range []*tensor.Tensor{k, ordered(k, 0, 2, 1)} {
						checkAttention(t, planOfAttention(t, tier, Attention{Scale: 0.5}), want, q, right, v, mask)
					}
					c := testCall()
					c.Tier, c.Args, c.Out = tier, vals(q, k, v, mask), []*tensor.Tensor{testTensor(tensor.Float, []int64{batches * heads, int64(rows), width})}
					var j attention
					if err := j.setup(c, &Attention{Scale: 0.5}); err != nil {
						t.Fatal(err)
					}
					most, height := 0, balanced(rows, attentionRows)
					for i := range batches * heads {
						for block := range j.blocks() {
							end := 0
							for row := block * height; row < min(rows, (block+1)*height); row++ {
								for s := range columns {
									if !math.IsInf(bias(i, row, s), -1) {
										end = max(end, s+1)
									}
								}
							}
							most = max(most, end)
							if got := j.seen(i, block); got < end || got >= end+j.cols {
								t.Errorf("head %d, block %d: %d columns, want %d", i, block, got, end)
							}
						}
					}
					if j.columns != most || j.k.cols != most || j.v.rows != most {
						t.Errorf("%d columns, %d of keys and %d of values, want %d", j.columns, j.k.cols, j.v.rows, most)
					}
				})
			}
		}
	}
}

// TestAttentionEndsNaN has numbers behind the columns that count which make NaN of what they are multiplied by.
func TestAttentionEndsNaN(t *testing.T) {
	const rows, depth, columns, width = 3, 4, 200, 16
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		scale  float32
		added  bool
		change func(q, k, v []float32)
		is     bool
	}{
		"finite":           {1, true, func(q, k, v []float32) {}, false},
		"value NaN":        {1, false, func(q, k, v []float32) { v[150*width+3] = nan }, true},
		"first value NaN":  {1, true, func(q, k, v []float32) { v[40*width+3] = nan }, true},
		"value infinite":   {1, true, func(q, k, v []float32) { v[199*width+3] = -inf }, true},
		"large value":      {1, true, func(q, k, v []float32) { v[199*width+3] = 3e38 }, false},
		"key NaN, bools":   {1, false, func(q, k, v []float32) { k[150] = nan }, false},
		"key NaN":          {1, true, func(q, k, v []float32) { k[150] = nan }, true},
		"query NaN":        {1, true, func(q, k, v []float32) { q[1] = nan }, true},
		"infinite":         {1, true, func(q, k, v []float32) { q[0], k[150] = 1e30, 1e30 }, true},
		"infinite, scaled": {10, true, func(q, k, v []float32) { q[0], k[150] = 1e19, 1e19 }, true},
		"product infinite": {1e-30, true, func(q, k, v []float32) { q[0], k[150] = 1e30, 1e30 }, true},
		"large, scaled":    {1e-30, true, func(q, k, v []float32) { q[0], k[150] = 1e19, 1e19 }, false},
	} {
		q, k, v := wave(1, rows, depth), wave(1, depth, columns), wave(1, columns, width)
		mask := testTensor(tensor.Bool, []int64{columns})
		if c.added {
			mask = testTensor(tensor.Float, []int64{columns})
		}
		for i := range columns {
			switch counts := i < 40; {
			case !c.added:
				mask.Data[i] = toBool(counts)
			case !counts:
				elems[float32](mask)[i] = -inf
			}
		}
		c.change(elems[float32](q), elems[float32](k), elems[float32](v))
		for _, tier := range kernel.Tiers()[1:] {
			for _, right := range []*tensor.Tensor{k, ordered(k, 0, 2, 1)} {
				out := testTensor(tensor.Float, []int64{1, rows, width})
				if err := planOfAttention(t, tier, Attention{Scale: c.scale}).Bind(vals(q, right, v, mask), []*tensor.Tensor{out}, &Env{Temp: new(Temp)}).Call(); err != nil {
					t.Fatal(err)
				}
				if x := elems[float32](out)[3]; (x != x) != c.is {
					t.Errorf("%s/%v: got %v", name, tier, x)
				}
			}
		}
	}
}

// BenchmarkAttention reads 70 of 2048 columns of a cache, all of them, by one row and more, and the half of a causal mask.
func BenchmarkAttention(b *testing.B) {
	for name, s := range map[string][3]int64{"cache": {1, 2048, 70}, "full": {1, 2048, 2048}, "few": {4, 2048, 2048}, "causal": {512, 512, 70}} {
		const heads, depth = 4, 64
		q, k, v := wave(heads, s[0], depth), wave(heads, s[1], depth), wave(heads, s[1], depth)
		mask := testTensor(tensor.Bool, []int64{s[0], s[1]})
		for i := range mask.Data {
			mask.Data[i] = toBool(i%int(s[1]) <= max(i/int(s[1]), int(s[2])-1))
		}
		b.Run(name, func(b *testing.B) {
			sig := ParseSignature(Bmm.Schema)
			first, err := Prepare(&BmmF32, &sig, nil, nil, Options{Tier: kernel.Best()})
			if err != nil {
				b.Fatal(err)
			}
			plan := PrepareAttention(first, Attention{Scale: 0.125, KeyRows: true})
			out := testTensor(tensor.Float, []int64{heads, s[0], depth})
			call := plan.Bind(vals(q, k, v, mask), []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
			for b.Loop() {
				if err := call.Call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
