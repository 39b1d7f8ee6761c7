package op

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// castSpecials are numbers at the ends of types, and between two numbers of half types.
var castSpecials = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, 127, 128, -129, 255, 256, 65504, 65519, 65520, 1 + 0x1p-11, 1 + 3*0x1p-11,
	1 + 0x1p-8, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-149, 0x1p31, -0x1p31, 0x1p32, 0x1p53 + 2, 0x1p63, -0x1p63, 0x1.8p63, 0x1p64, -0x1p64, 1e300, inf, -inf, nan}

// TestCasts holds conversions of lines against those of one number after the other.
func TestCasts(t *testing.T) {
	types := []tensor.ScalarType{tensor.Byte, tensor.Char, tensor.Short, tensor.Int, tensor.Long, tensor.Half, tensor.Float, tensor.Double, tensor.Bool, tensor.BFloat16}
	for _, st := range types {
		for _, n := range []int{0, 1, 7, 63, 64, 65, 300} {
			x := make([]float64, n)
			for i := range x {
				x[i] = castSpecials[i%len(castSpecials)] + float64(i/len(castSpecials))
			}
			src := make([]byte, n*st.Size())
			castBlocks(src, st, bytesOf(x), tensor.Double, n)
			for _, dt := range types {
				t.Run(fmt.Sprintf("%v to %v/%d", st, dt, n), func(t *testing.T) {
					got, want := AlignedBytes(n*dt.Size()), AlignedBytes(n*dt.Size())
					if dt == st {
						copy(want, src)
					} else {
						castBlocks(want, dt, src, st, n)
					}
					if CastBytes(got, dt, src, st, n); !bytes.Equal(got, want) {
						t.Errorf("from %x got %x, want %x", src, got, want)
					}
				})
			}
		}
	}
}

// TestCastThreads holds a kernel that computes in float32, whose image and result threads convert, against one thread.
func TestCastThreads(t *testing.T) {
	for _, c := range []struct {
		k     *Kernel
		dtype tensor.ScalarType
	}{{&ConvolutionF16, tensor.Half}, {&ConvolutionBF16, tensor.BFloat16}} {
		x, w := halfOf(wave(2, 24, 31, 29), c.dtype), halfOf(wave(24, 24, 1, 1), c.dtype)
		var want []byte
		for _, threads := range []int{1, 3} {
			env := &Env{Temp: new(Temp), Threads: threads}
			converted := map[int]int{}
			if threads > 1 {
				run := shuffled(threads)
				env.Parallel = func(n, grain int, f func(lo, hi int)) {
					run(n, grain, func(lo, hi int) {
						if n == x.Numel() {
							converted[lo]++
						}
						f(lo, hi)
					})
				}
			}
			v := invokerOf(t, c.k, env, vals(x, w, nil, dims{1}, dims{0}, dims{1}, false, dims{0}, 1), Options{Tier: kernel.Best()}, 0)
			image := *x
			v.Args[0].Tensor = &image // no constant
			if err := v.Call(); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = v.Outs[0].Data
			} else if !bytes.Equal(v.Outs[0].Data, want) {
				t.Errorf("%v: %d threads give other bits", c.dtype, threads)
			} else if len(converted) < 2 || converted[0] != 2 {
				t.Errorf("%v: the threads convert the pieces %v, want several of the image and of the result", c.dtype, converted)
			}
		}
	}
}
