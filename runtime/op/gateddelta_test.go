package op

import (
	"fmt"
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// deltaRule64 is the recurrence by its definition, in float64: the results and the last states.
func deltaRule64(args []*tensor.Tensor) (out, states []float64) {
	number := func(t *tensor.Tensor, at ...int) float64 {
		i := 0
		for d, n := range at {
			i = i*int(t.Sizes[d]) + n
		}
		return float64(elems[float32](t)[i])
	}
	q, k, v, decay, beta, initial := args[0], args[1], args[2], args[3], args[4], args[5]
	batch, heads, tokens, depth := int(q.Sizes[0]), int(q.Sizes[1]), int(q.Sizes[2]), int(q.Sizes[3])
	shared, width := int(k.Sizes[1]), int(v.Sizes[3])
	out, states = make([]float64, batch*heads*tokens*width), make([]float64, initial.Numel())
	for b := range batch {
		for h := range shared {
			s := states[(b*shared+h)*depth*width:][:depth*width]
			for i := range s {
				s[i] = number(initial, b, h, i/width, i%width)
			}
			for t := range tokens {
				for i := range s {
					if decay.Rank() == 4 {
						s[i] *= number(decay, b, h, t, i/width)
					} else {
						s[i] *= number(decay, b, h, t)
					}
				}
				d := make([]float64, width)
				for c := range d {
					d[c] = number(v, b, h, t, c)
					for i := range depth {
						d[c] -= number(k, b, h, t, i) * s[i*width+c]
					}
					d[c] *= number(beta, b, h, t)
				}
				for i := range s {
					s[i] += number(k, b, h, t, i/width) * d[i%width]
				}
				for g := range heads / shared {
					o := out[((b*heads+h*heads/shared+g)*tokens+t)*width:][:width]
					for i := range s {
						o[i%width] += number(q, b, h*heads/shared+g, t, i/width) * s[i]
					}
				}
			}
		}
	}
	return out, states
}

// deltaArgs are arguments: decays are from ½ to 1, betas from 0 to 1.
func deltaArgs(batch, heads, shared, tokens, depth, width tensor.Dim, channels bool) []*tensor.Tensor {
	decay := wave(batch, shared, tokens)
	if channels {
		decay = wave(batch, shared, tokens, depth)
	}
	args := []*tensor.Tensor{wave(batch, heads, tokens, depth), wave(batch, shared, tokens, depth), wave(batch, shared, tokens, width), decay,
		wave(batch, shared, tokens), wave(batch, shared, depth, width)}
	for i, x := range elems[float32](decay) {
		elems[float32](decay)[i] = 0.75 + x/4
	}
	for i, x := range elems[float32](args[4]) {
		elems[float32](args[4])[i] = 0.5 + x/2
	}
	for i, x := range elems[float32](args[1]) {
		elems[float32](args[1])[i] = x / float32(depth) // so that states stay small
	}
	return args
}

// TestGatedDeltaRule holds both names, all tiers and divided work against float64.
func TestGatedDeltaRule(t *testing.T) {
	for _, s := range [][6]tensor.Dim{{1, 4, 4, 1, 16, 32}, {2, 4, 2, 5, 7, 9}, {1, 6, 2, 12, 33, 48}, {1, 2, 1, 3, 8, 1}, {1, 2, 2, 0, 4, 4}, {0, 2, 2, 3, 4, 4}, {1, 1, 1, 20, 64, 128}} {
		for _, channels := range []bool{false, true} {
			args := deltaArgs(s[0], s[1], s[2], s[3], s[4], s[5], channels)
			want, states := deltaRule64(args)
			list := make([]any, len(args))
			for i, a := range args {
				list[i] = a
			}
			for _, k := range []*Kernel{&GatedDeltaRuleF32, &ChannelwiseGatedDeltaRuleF32} {
				for _, tier := range kernel.Tiers() {
					for _, threads := range []int{1, 3} {
						got, err := deltaCall(k, tier, threads, list...)
						if err != nil {
							t.Fatal(err)
						}
						for i, w := range [][]float64{want, states} {
							if got[i].Numel() != len(w) {
								t.Fatalf("%v, result %d has %d elements, want %d", s, i, got[i].Numel(), len(w))
							}
							most := 1.0
							for _, y := range w {
								most = max(most, math.Abs(y))
							}
							for e, y := range w {
								if x := NumberAt(got[i], e); !(math.Abs(x-y) <= 1e-5*most) {
									t.Fatalf("%v, channels %v, %v, %d threads: element %d of result %d is %v, want %v", s, channels, tier, threads, e, i, x, y)
								}
							}
						}
					}
				}
			}
		}
	}
}

func deltaCall(k *Kernel, tier kernel.Tier, threads int, args ...any) ([]*tensor.Tensor, error) {
	infer := Infer{Args: vals(args...), Out: make([]tensor.Meta, 2)}
	if err := k.Def.Infer(&infer); err != nil {
		return nil, err
	}
	sig := ParseSignature(k.Def.Schema)
	plan, err := Prepare(k, &sig, infer.Args, infer.Out, Options{Tier: tier})
	if err != nil {
		return nil, err
	}
	outs := []*tensor.Tensor{testTensor(tensor.Float, infer.Out[0].Sizes), testTensor(tensor.Float, infer.Out[1].Sizes)}
	env := &Env{Temp: new(Temp), Threads: threads, Parallel: func(n, grain int, f func(lo, hi int)) {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(n, lo+grain))
		}
	}}
	return outs, plan.Bind(infer.Args, outs, env).Call()
}

// TestGatedDeltaRuleErrors gives what does not fit.
func TestGatedDeltaRuleErrors(t *testing.T) {
	const sizes = "check sizes: those of query, key, value, decay, beta and initial_state do not agree"
	for _, c := range []struct {
		name   string
		change func(a []any)
		want   string
	}{
		{"fits", func([]any) {}, "<nil>"},
		{"a batch more of queries", func(a []any) { a[0] = wave(2, 4, 3, 5) }, sizes},
		{"a token more of queries", func(a []any) { a[0] = wave(1, 4, 4, 5) }, sizes},
		{"deeper queries", func(a []any) { a[0] = wave(1, 4, 3, 6) }, sizes},
		{"a head more of values", func(a []any) { a[2] = wave(1, 3, 3, 6) }, sizes},
		{"a token more of values", func(a []any) { a[2] = wave(1, 2, 4, 6) }, sizes},
		{"other decays", func(a []any) { a[3] = wave(1, 2, 4) }, sizes},
		{"decays of other channels", func(a []any) { a[3] = wave(1, 2, 3, 4) }, sizes},
		{"other betas", func(a []any) { a[4] = wave(1, 2, 2) }, sizes},
		{"states of other heads", func(a []any) { a[5] = wave(1, 4, 5, 6) }, sizes},
		{"states of other keys", func(a []any) { a[5] = wave(1, 2, 6, 6) }, sizes},
		{"states of other values", func(a []any) { a[5] = wave(1, 2, 5, 5) }, sizes},
		{"heads", func(a []any) { a[0] = wave(1, 3, 3, 5) }, errCacheHeads.Error()},
		{"rank of queries", func(a []any) { a[0] = wave(4, 3, 5) }, errDims.Error()},
		{"rank of decays", func(a []any) { a[3] = wave(1, 2) }, errDims.Error()},
		{"rank of betas", func(a []any) { a[4] = wave(1, 2, 3, 1) }, errDims.Error()},
		{"type", func(a []any) { a[4] = mi64(dims{1, 2, 3}, make([]int64, 6)...) }, errSameType.Error()},
		{"no state", func(a []any) { a[5] = nil }, errNoTensor.Error()},
	} {
		a := []any{wave(1, 4, 3, 5), wave(1, 2, 3, 5), wave(1, 2, 3, 6), wave(1, 2, 3), wave(1, 2, 3), wave(1, 2, 5, 6)}
		c.change(a)
		if _, err := deltaCall(&GatedDeltaRuleF32, kernel.Best(), 1, a...); fmt.Sprint(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// BenchmarkGatedDeltaRule computes tokens of 16 heads with states of 128x128.
func BenchmarkGatedDeltaRule(b *testing.B) {
	for _, tokens := range []tensor.Dim{1, 32} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			args := make([]any, 6)
			for i, a := range deltaArgs(1, 16, 16, tokens, 128, 128, false) {
				args[i] = a
			}
			v := invokerOf(b, &GatedDeltaRuleF32, &Env{Temp: &Temp{}, Threads: 1}, vals(args...), Options{Tier: kernel.Best()}, 0)
			for b.Loop() {
				if err := v.Call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
