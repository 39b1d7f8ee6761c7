package op

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// quantizedRows are random rows of int8 of these sizes, with zero points and scales.
func quantizedRows(r *rand.Rand, sizes ...tensor.Dim) [3]*tensor.Tensor {
	params := append(append([]tensor.Dim(nil), sizes[:3]...), 1)
	x, zeros, scales := testTensor(tensor.Char, sizes), testTensor(tensor.Char, params), testTensor(tensor.Float, params)
	for _, t := range []*tensor.Tensor{x, zeros} {
		for i := range t.Data {
			t.Data[i] = byte(r.Intn(256))
		}
	}
	for i := range elems[float32](scales) {
		elems[float32](scales)[i] = (0.2 + r.Float32()) / 60
	}
	return [3]*tensor.Tensor{x, zeros, scales}
}

// quantizedArgs are the arguments of CustomQuantizedSdpa.
func quantizedArgs(q, k, v [3]*tensor.Tensor, start int, mask any, causal bool, scale any, swapped bool) []any {
	return []any{q[0], k[0], v[0], start, mask, 0.0, causal, scale, q[1], q[2], k[1], k[2], v[1], v[2], swapped}
}

// rowAt is the number of row r of head h of batch b in a tensor whose rows are dimension 2 if swapped, else 1.
func rowAt(t *tensor.Tensor, swapped bool, b, h, r int) int {
	i, j, n := r, h, int(t.Sizes[2])
	if swapped {
		i, j = h, r
	}
	return (b*int(t.Sizes[1])+i)*n + j
}

// quantizedAttention64 is the row r of head h of batch b of an attention: products of integers, the rest in float64.
func quantizedAttention64(q, k, v [3]*tensor.Tensor, swapped bool, b, h, r, group, columns int, scale float64, bias func(c int) float64) []float64 {
	depth := int(q[0].Sizes[3])
	at := rowAt(q[0], swapped, b, h, r)
	x, top := make([]float64, columns), math.Inf(-1)
	for c := range x {
		to, sum := rowAt(k[0], swapped, b, h/group, c), 0
		for d := range depth {
			sum += (int(elems[int8](q[0])[at*depth+d]) - int(elems[int8](q[1])[at])) * (int(elems[int8](k[0])[to*depth+d]) - int(elems[int8](k[1])[to]))
		}
		x[c] = float64(sum)*float64(elems[float32](q[2])[at])*float64(elems[float32](k[2])[to])*scale + bias(c)
		top = max(top, x[c])
	}
	out, sum := make([]float64, depth), 0.0
	for c := range x {
		w, from := math.Exp(x[c]-top), rowAt(v[0], swapped, b, h/group, c)
		sum += w
		for d := range out {
			out[d] += w * float64(int(elems[int8](v[0])[from*depth+d])-int(elems[int8](v[1])[from])) * float64(elems[float32](v[2])[from])
		}
	}
	for d := range out {
		out[d] /= sum
	}
	return out
}

// TestCustomQuantizedSdpa holds attention with caches of int8 against products of integers and float64: rows before and behind heads, causal and
// not, with masks, sizes around those of blocks and groups, in all tiers and on several threads.
func TestCustomQuantizedSdpa(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	threads := &Env{Parallel: func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}, Threads: 3}
	for _, s := range []struct{ batch, rows, heads, shared, depth, most, start int }{
		{1, 1, 4, 2, 16, 8, 0}, {1, 1, 4, 2, 32, 300, 290}, {2, 3, 4, 4, 5, 20, 5}, {1, 30, 2, 1, 32, 160, 110}, {1, 1, 40, 1, 16, 140, 139}, {1, 33, 18, 1, 7, 130, 97},
		{2, 1, 8, 4, 64, 129, 128}, {1, 5, 3, 3, 1, 9, 4}, {1, 2, 6, 2, 48, 260, 254}, {1, 50, 3, 3, 24, 300, 0}, {1, 150, 2, 1, 8, 170, 3},
	} {
		for _, swapped := range []bool{false, true} {
			sizes := func(rows, heads int) []tensor.Dim {
				if swapped {
					rows, heads = heads, rows
				}
				return dims{tensor.Dim(s.batch), tensor.Dim(rows), tensor.Dim(heads), tensor.Dim(s.depth)}
			}
			q, k, v := quantizedRows(r, sizes(s.rows, s.heads)...), quantizedRows(r, sizes(s.most, s.shared)...), quantizedRows(r, sizes(s.most, s.shared)...)
			mask := testTensor(tensor.Float, dims{tensor.Dim(s.rows), tensor.Dim(s.most)})
			ends := testTensor(tensor.Float, mask.Sizes) // as of a cache that is not full
			for i := range elems[float32](mask) {
				x := r.Float32()
				elems[float32](mask)[i], elems[float32](ends)[i] = x, x
				if i%s.most > 0 && x < 0.4 {
					elems[float32](mask)[i] = float32(math.Inf(-1))
				}
				if i%s.most > s.start/2 {
					elems[float32](ends)[i] = float32(math.Inf(-1))
				}
			}
			none, last := func(_, _ int) float64 { return 0 }, s.start+s.rows
			causal := func(r, c int) float64 {
				if c > s.start+r {
					return math.Inf(-1)
				}
				return 0
			}
			masked := func(m *tensor.Tensor) func(r, c int) float64 {
				return func(r, c int) float64 { return float64(elems[float32](m)[r*s.most+c]) }
			}
			for _, c := range []struct {
				name    string
				mask    any
				causal  bool
				scale   any
				columns int
				bias    func(r, c int) float64
			}{
				{"no mask", nil, false, nil, last, none}, {"causal", nil, true, 0.03, last, causal}, {"upside down", nil, true, -0.03, last, causal},
				{"mask", mask, false, nil, s.most, masked(mask)}, {"mask with an end", ends, false, nil, s.most, masked(ends)},
			} {
				scale := 1 / math.Sqrt(float64(s.depth))
				if x, ok := c.scale.(float64); ok {
					scale = x
				}
				var want []float64
				for i := range s.batch * s.heads * s.rows {
					b, h, row := i/s.rows/s.heads, i/s.rows%s.heads, i%s.rows
					want = append(want, quantizedAttention64(q, k, v, swapped, b, h, row, s.heads/s.shared, c.columns, scale, func(col int) float64 { return c.bias(row, col) })...)
				}
				for _, tier := range kernel.Tiers() {
					for _, env := range []*Env{{}, threads} {
						got := plannedIn(t, env, &CustomQuantizedSdpaI8, tier, false, quantizedArgs(q, k, v, s.start, c.mask, c.causal, c.scale, swapped)...)
						for i, w := range want {
							row := i / s.depth
							b, h := row/s.rows/s.heads, row/s.rows%s.heads
							x := float64(elems[float32](got)[rowAt(got, swapped, b, h, row%s.rows)*s.depth+i%s.depth])
							if !(math.Abs(x-w) <= 2e-5*(1+math.Abs(w))) {
								t.Fatalf("%+v, swapped %v, %s, %v: row %d of head %d of batch %d: element %d is %v, want %v", s, swapped, c.name, tier, row%s.rows, h, b, i%s.depth, x, w)
							}
						}
					}
				}
			}
		}
	}
}

// TestCustomQuantizedSdpaNaN has a value that is NaN behind the last column that a mask shows: its weight is 0, and 0 times NaN is NaN.
func TestCustomQuantizedSdpaNaN(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	const most = 200
	mask := testTensor(tensor.Float, dims{1, most})
	for i := range most - 1 {
		elems[float32](mask)[1+i] = float32(math.Inf(-1))
	}
	for _, tier := range kernel.Tiers() {
		q, k, v := quantizedRows(r, 1, 1, 2, 16), quantizedRows(r, 1, most, 1, 16), quantizedRows(r, 1, most, 1, 16)
		elems[float32](v[2])[most-1] = float32(math.NaN())
		got := planned(t, &CustomQuantizedSdpaI8, tier, false, quantizedArgs(q, k, v, 0, mask, false, nil, false)...)
		for i, x := range elems[float32](got) {
			if x == x {
				t.Fatalf("%v: element %d is %v", tier, i, x)
			}
		}
	}
}

// TestStoredRowsMemory reads a cache ten times as long with the memory of the short one, which holds no cache in floats.
func TestStoredRowsMemory(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, rows := range []tensor.Dim{1, 30} {
		var held []int
		for _, most := range []tensor.Dim{512, 5120} {
			q, k, v := quantizedRows(r, 1, rows, 8, 64), quantizedRows(r, 1, most, 2, 64), quantizedRows(r, 1, most, 2, 64)
			half := func(rows, heads tensor.Dim) *tensor.Tensor {
				x, _ := halvesOf(wave(1, rows, heads, 64), tensor.BFloat16)
				return x
			}
			for _, c := range []struct {
				k    *Kernel
				args []any
			}{{&CustomQuantizedSdpaI8, quantizedArgs(q, k, v, int(most-rows), nil, true, nil, false)},
				{&CustomSdpaBF16, []any{half(rows, 8), half(most, 2), half(most, 2), int(most - rows), nil, 0.0, true, nil}}} {
				env := &Env{Temp: new(Temp), Threads: 1}
				call := invokerOf(t, c.k, env, vals(c.args...), Options{Tier: kernel.Best()}, 0)
				for range 2 {
					if err := call.Call(); err != nil {
						t.Fatal(err)
					}
				}
				if n := testing.AllocsPerRun(5, func() { _ = call.Call() }); n > 0 {
					t.Errorf("%v: %v allocations for a call", c.k.DType, n)
				}
				held = append(held, env.Temp.Held())
			}
		}
		if kernel.Best() != kernel.Scalar && !slices.Equal(held[:2], held[2:]) {
			t.Errorf("%d rows: %d bytes for short caches of int8 and bfloat16, %d for long ones", rows, held[:2], held[2:])
		}
	}
}

// TestCustomQuantizedSdpaErrors gives what does not fit.
func TestCustomQuantizedSdpaErrors(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	const scales = "check scales and zero points: query, key and value have one of each for a row, of float32 and int8"
	for _, c := range []struct {
		name   string
		change func(a []any)
		want   string
	}{
		{"fits", func([]any) {}, ""},
		{"behind the end", func(a []any) { a[3] = 5 }, errCacheStart.Error()},
		{"negative", func(a []any) { a[3] = -1 }, errCacheStart.Error()},
		{"both masks", func(a []any) { a[4] = wave(2, 6) }, errTwoMasks.Error()},
		{"long mask", func(a []any) { a[4], a[6] = wave(2, 7), false }, errSizes.Error()},
		{"mask of other rows", func(a []any) { a[4], a[6] = wave(4, 6), false }, errSizes.Error()},
		{"mask of integers", func(a []any) { a[4], a[6] = testTensor(tensor.Char, dims{2, 6}), false }, errSameType.Error()},
		{"heads before rows", func(a []any) { a[14] = true }, errCacheHeads.Error()},
		{"float query", func(a []any) { a[0] = wave(1, 2, 4, 5) }, errSameType.Error()},
		{"floats", func(a []any) { a[0], a[1], a[2] = wave(1, 2, 4, 5), wave(1, 6, 2, 5), wave(1, 6, 2, 5) }, errSameType.Error()},
		{"no scales of the query", func(a []any) { a[9] = nil }, scales},
		{"no zero points of keys", func(a []any) { a[10] = nil }, scales},
		{"no scales of values", func(a []any) { a[13] = nil }, scales},
		{"scales of int8", func(a []any) { a[9] = testTensor(tensor.Char, dims{1, 2, 4, 1}) }, scales},
		{"zero points of floats", func(a []any) { a[12] = wave(1, 6, 2, 1) }, scales},
		{"scales of other rows", func(a []any) { a[11] = wave(1, 5, 2, 1) }, scales},
		{"scales of other heads", func(a []any) { a[11] = wave(1, 6, 4, 1) }, scales},
		{"a scale for each element", func(a []any) { a[11] = wave(1, 6, 2, 5) }, scales},
		{"scales without a last size", func(a []any) { a[11] = wave(1, 6, 2) }, scales},
		{"rank", func(a []any) { a[1] = testTensor(tensor.Char, dims{6, 2, 5}) }, errDims.Error()},
		{"depth", func(a []any) { a[2] = testTensor(tensor.Char, dims{1, 6, 2, 4}) }, errSizes.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := quantizedArgs(quantizedRows(r, 1, 2, 4, 5), quantizedRows(r, 1, 6, 2, 5), quantizedRows(r, 1, 6, 2, 5), 1, nil, true, nil, false)
			c.change(a)
			_, err := cachedCall(&CustomQuantizedSdpaI8, kernel.Best(), a...)
			if got := fmt.Sprint(err); err != nil && got != c.want || err == nil && c.want != "" {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// halvesOf is x in a type of 16 bits, and that in float32.
func halvesOf(x *tensor.Tensor, dt tensor.ScalarType) (half, same *tensor.Tensor) {
	half, same = testTensor(dt, x.Sizes), testTensor(tensor.Float, x.Sizes)
	CastBytes(half.Data, dt, x.Data, tensor.Float, x.Numel())
	CastBytes(same.Data, tensor.Float, half.Data, dt, x.Numel())
	return half, same
}

// TestCustomSdpaHalves holds attention with caches of 16 bits against that with the same numbers in float32.
func TestCustomSdpaHalves(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		k   *Kernel
		ulp float64
	}{{&CustomSdpaF16, 0x1p-10}, {&CustomSdpaBF16, 0x1p-7}} {
		for _, s := range []struct{ batch, rows, heads, shared, depth, most, start int }{
			{1, 1, 4, 2, 16, 8, 7}, {2, 3, 4, 4, 5, 20, 5}, {1, 30, 2, 1, 32, 200, 150}, {1, 1, 6, 1, 64, 300, 290}, {1, 2, 2, 2, castBlock + 3, 40, 3}, {1, 40, 18, 1, 4, 140, 0}, {1, 1, 1, 1, 1, 70, 69},
		} {
			dim := func(n int) tensor.Dim { return tensor.Dim(n) }
			q, sameQ := halvesOf(wave(dim(s.batch), dim(s.rows), dim(s.heads), dim(s.depth)), c.k.DType)
			k, sameK := halvesOf(wave(dim(s.batch), dim(s.most), dim(s.shared), dim(s.depth)), c.k.DType)
			v, sameV := halvesOf(wave(dim(s.batch), dim(s.most), dim(s.shared), dim(s.depth)), c.k.DType)
			mask := wave(dim(s.rows), dim(s.most))
			for i := range elems[float32](mask) {
				if i%s.most > s.start || i%5 == 3 {
					elems[float32](mask)[i] = inf
				}
			}
			for name, rest := range map[string][]any{"no mask": {nil, 0.0, false, nil}, "causal": {nil, 0.0, true, 0.03}, "upside down": {nil, 0.0, true, -0.03}, "mask": {mask, 0.0, false, nil}} {
				for _, tier := range kernel.Tiers() {
					for _, threads := range []int{1, 3} {
						env := &Env{Threads: threads, Parallel: func(n, grain int, f func(lo, hi int)) {
							for lo := 0; lo < n; lo += grain {
								f(lo, min(n, lo+grain))
							}
						}}
						got := plannedIn(t, env, c.k, tier, false, append([]any{q, k, v, s.start}, rest...)...)
						want := planned(t, &CustomSdpaF32, tier, false, append([]any{sameQ, sameK, sameV, s.start}, rest...)...)
						for i := range want.Numel() {
							if x, y := NumberAt(got, i), NumberAt(want, i); !(math.Abs(x-y) <= c.ulp*(1e-3+math.Abs(y))) {
								t.Fatalf("%v, %+v, %s, %v: element %d is %v, want %v", c.k.DType, s, name, tier, i, x, y)
							}
						}
					}
				}
			}
		}
	}
}

// TestCustomSdpaHalvesNaN has a value that is NaN, or a key that is infinite, behind the only column that a mask shows.
func TestCustomSdpaHalvesNaN(t *testing.T) {
	const most = 200
	mask := testTensor(tensor.Float, dims{1, most})
	for i := range most - 1 {
		elems[float32](mask)[1+i] = float32(math.Inf(-1))
	}
	for _, k := range []*Kernel{&CustomSdpaF16, &CustomSdpaBF16} {
		for at := 1; at < 3; at++ {
			for _, row := range []int{1, 15, 16, 17, 31, 32, 33, 64, 127, 128, 129, most - 1} {
				args := []any{nil, nil, nil, 0, mask, 0.0, false, nil}
				for i, rows := range []tensor.Dim{1, most, most} {
					x := wave(1, rows, 1, 16)
					if i == at {
						elems[float32](x)[16*row] = float32(map[int]float64{1: math.Inf(1), 2: math.NaN()}[at])
					}
					args[i], _ = halvesOf(x, k.DType)
				}
				for _, tier := range kernel.Tiers() {
					if got := planned(t, k, tier, false, args...); !math.IsNaN(NumberAt(got, 0)) {
						t.Errorf("%v, %v, operand %d, row %d: element 0 is %v", k.DType, tier, at, row, NumberAt(got, 0))
					}
				}
			}
		}
	}
}

// BenchmarkCachedAttention reads caches of 2048 rows, for 8 heads over 4 of 64.
func BenchmarkCachedAttention(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	for _, rows := range []tensor.Dim{1, 32} {
		start := int(2048 - rows)
		q, k, v := quantizedRows(r, 1, rows, 8, 64), quantizedRows(r, 1, 2048, 4, 64), quantizedRows(r, 1, 2048, 4, 64)
		swap := func(x [3]*tensor.Tensor) [3]*tensor.Tensor {
			for i, t := range x {
				y := &tensor.Tensor{Meta: t.Clone(), Data: t.Data}
				y.Sizes[1], y.Sizes[2] = y.Sizes[2], y.Sizes[1]
				x[i] = y
			}
			return x
		}
		halves := func(dt tensor.ScalarType) []any {
			args := []any{nil, nil, nil, start, nil, 0.0, true, nil}
			for i, x := range []*tensor.Tensor{wave(1, rows, 8, 64), wave(1, 2048, 4, 64), wave(1, 2048, 4, 64)} {
				args[i], _ = halvesOf(x, dt)
			}
			return args
		}
		for _, c := range []struct {
			name string
			k    *Kernel
			args []any
		}{
			{"float32", &CustomSdpaF32, []any{wave(1, rows, 8, 64), wave(1, 2048, 4, 64), wave(1, 2048, 4, 64), start, nil, 0.0, true, nil}},
			{"float16", &CustomSdpaF16, halves(tensor.Half)}, {"bfloat16", &CustomSdpaBF16, halves(tensor.BFloat16)},
			{"int8", &CustomQuantizedSdpaI8, quantizedArgs(q, k, v, start, nil, true, nil, false)},
			{"int8 by heads", &CustomQuantizedSdpaI8, quantizedArgs(swap(q), swap(k), swap(v), start, nil, true, nil, true)},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, rows), func(b *testing.B) {
				v := invokerOf(b, c.k, &Env{Temp: &Temp{}, Threads: 1}, vals(c.args...), Options{Tier: kernel.Best()}, 0)
				for b.Loop() {
					if err := v.Call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
