package op

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestDirect holds products with a right factor that changes, in both orders of it, against those with a constant one, which is packed.
func TestDirect(t *testing.T) {
	threads := &Env{Parallel: func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}, Threads: 3}
	for _, tier := range kernel.Tiers() {
		for _, m := range []tensor.Dim{1, 3, directRows, directRows + 1, 40} {
			for _, k := range []tensor.Dim{0, 1, 7, 16, 48, kernel.GemvDepth, kernel.GemvDepth + 16} {
				for _, n := range []tensor.Dim{1, 3, 16, 100, 160} {
					if k > 48 && m*n > 200 {
						continue // which would take long, and differs in nothing but its sums
					}
					a, b, bias := wave(m, k), wave(k, n), wave(n)
					weight := ordered(wave(n, k), 1, 0)
					for _, c := range []struct {
						kernel *Kernel
						args   []any
					}{
						{&MmF32, []any{a, b}}, {&MmF32, []any{a, ordered(b, 1, 0)}}, {&AddmmF32, []any{bias, a, b, 1, 1}}, {&AddmmF32, []any{bias, a, ordered(b, 1, 0), 1, 1}},
						{&LinearF32, []any{a, weight, bias}}, {&LinearF32, []any{a, ordered(weight, 0, 1), nil}},
					} {
						want := planned(t, c.kernel, tier, true, c.args...).Data
						for _, env := range []*Env{{}, threads} {
							if got := plannedIn(t, env, c.kernel, tier, false, c.args...).Data; !bytes.Equal(got, want) {
								t.Fatalf("%v: %s of %d x %d x %d differs from that with a constant factor", tier, c.kernel.Def.Schema, m, k, n)
							}
						}
					}
					many := wave(3, k, n)
					left := wave(3, m, k)
					var want []byte
					for i := range 3 {
						part := func(x *tensor.Tensor) *tensor.Tensor {
							size := len(x.Data) / 3
							return &tensor.Tensor{Meta: wave(x.Sizes[1], x.Sizes[2]).Meta, Data: x.Data[i*size : (i+1)*size]}
						}
						want = append(want, planned(t, &MmF32, tier, true, part(left), part(many)).Data...)
					}
					for _, right := range []*tensor.Tensor{many, ordered(many, 0, 2, 1), ordered(many, 2, 1, 0)} {
						for _, env := range []*Env{{}, threads} {
							if got := plannedIn(t, env, &BmmF32, tier, false, left, right).Data; !bytes.Equal(got, want) {
								t.Fatalf("%v: 3 products of %d x %d x %d, order %v, differ from single ones", tier, m, k, n, right.DimOrder)
							}
						}
					}
				}
			}
		}
	}
}

// TestDirectOf says which products read their right factor as it lies.
func TestDirectOf(t *testing.T) {
	of := func(m, k, n int, turned bool) bool {
		b := matrix[float32]{make([]float32, k*n), k, n, n, 1}
		if turned {
			b.rs, b.cs = 1, k
		}
		return directOf(kernel.Best(), m, b).on
	}
	lanes := kernel.GemvF32(kernel.Best()).Lanes
	for _, c := range []struct {
		m, k, n int
		turned  bool
		want    bool
	}{
		{1, 5, 4 * lanes, false, true}, {directRows, 5, lanes, false, true}, {directRows + 1, 5, lanes, false, false}, {1, 5, lanes + 1, false, false}, {1, 0, lanes, false, false},
		{1, lanes, 3, true, true}, {1, lanes - 1, 3, true, false}, {1, kernel.GemvDepth + lanes, 3, true, false}, {1, kernel.GemvDepth + lanes, lanes, false, true},
		{1000, lanes, 1, true, true}, {1000, lanes, 2, true, false},
	} {
		if got := of(c.m, c.k, c.n, c.turned); got != (c.want && kernel.Best() != kernel.Scalar) {
			t.Errorf("%d x %d x %d, turned: %v: read as it lies: %v", c.m, c.k, c.n, c.turned, got)
		}
	}
	if directOf(kernel.Best(), 1, matrix[int32]{make([]int32, 4*lanes), 4, lanes, lanes, 1}).on {
		t.Error("a product of int32 has no kernel")
	}
}

// BenchmarkDirect multiplies rows with factors that change, in both orders.
func BenchmarkDirect(b *testing.B) {
	for _, s := range [][3]tensor.Dim{{1, 64, 2048}, {1, 2048, 64}, {4, 256, 256}, {8, 512, 512}, {4, 2048, 2048}, {8, 2048, 2048}, {1024, 1024, 1}} {
		for _, order := range [][]uint8{{0, 1}, {1, 0}} {
			b.Run(fmt.Sprint(s, order), func(b *testing.B) {
				x, y := wave(s[0], s[1]), ordered(wave(s[1], s[2]), order...)
				var temp Temp
				c := &Call{Args: vals(x, y), Out: []*tensor.Tensor{wave(s[0], s[2])}, Tier: kernel.Best(), Alloc: temp.Alloc}
				for b.Loop() {
					temp.Reset()
					if err := MmF32.Run(c, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
