package op

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// bytesCase is a product of random rows with random weights of int8.
type bytesCase struct {
	Bytes
	m, k, n int
	args    []Value // as PrepareBytes wants them
	float   *Kernel // the product in Float, with scaled weights
	wide    []Value
}

func newBytesCase(m, k, n int, rows bool, scales int, bias bool) *bytesCase {
	r := rand.New(rand.NewSource(int64(m*1e6 + k*1e3 + n)))
	c := &bytesCase{Bytes: Bytes{Rows: rows}, m: m, k: k, n: n}
	for range scales {
		c.Scales = append(c.Scales, float32(r.Intn(7)+1)/4)
	}
	x := testTensor(tensor.Float, dims{int64(m), int64(k)}, listOf(m*k, func(int) float64 { return float64(r.Intn(17) - 8) })...)
	sizes, column := dims{int64(k), int64(n)}, func(i int) int { return i % n }
	if c.float = &MmF32; rows {
		c.float, sizes, column = &LinearF32, dims{int64(n), int64(k)}, func(i int) int { return i / k }
	}
	q := listOf(k*n, func(int) float64 { return float64(r.Intn(256) - 128) })
	w := slices.Clone(q)
	for i := range w {
		if scales > 0 {
			w[i] *= float64(c.Scales[min(column(i), scales-1)])
		}
	}
	c.args = vals(x, testTensor(tensor.Char, sizes, q...))
	c.wide = vals(x, testTensor(tensor.Float, sizes, w...))
	var b any
	if bias {
		b = testTensor(tensor.Float, dims{int64(n)}, listOf(n, func(int) float64 { return float64(r.Intn(9)) })...)
		c.args = append(c.args, val(b))
	}
	switch {
	case rows:
		c.wide = append(c.wide, val(b))
	case bias:
		c.float, c.wide = &AddmmF32, append(append(vals(b), c.wide...), vals(1, 1)...)
	}
	return c
}

func listOf(n int, f func(i int) float64) []float64 {
	o := make([]float64, n)
	for i := range o {
		o[i] = f(i)
	}
	return o
}

// out is a tensor for results.
func (c *bytesCase) out() *tensor.Tensor {
	return &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{int64(c.m), int64(c.n)}}, Data: AlignedBytes(4 * c.m * c.n)}
}

// bind is the call, between bounds; nil where the tier has no tiles for it.
func (c *bytesCase) bind(tier kernel.Tier, env *Env) (*Invoker, *tensor.Tensor) {
	p := PrepareBytes(&Plan{Kernel: &DequantizePerChannelI8, tier: tier}, c.Bytes, c.args, nil)
	if p == nil {
		return nil, nil
	}
	out := c.out()
	return p.Within(-4000, 9000).Bind(c.args, []*tensor.Tensor{out}, env), out
}

// bindFloat is the same in Float.
func (c *bytesCase) bindFloat(t testing.TB, tier kernel.Tier) (*Invoker, *tensor.Tensor) {
	t.Helper()
	sig, out := ParseSignature(c.float.Def.Schema), c.out()
	p, err := Prepare(c.float, &sig, c.wide, []tensor.Meta{out.Meta}, Options{Pack: packNew, Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	return p.Within(-4000, 9000).Bind(c.wide, []*tensor.Tensor{out}, &Env{Temp: new(Temp)}), out
}

// TestProductsOfBytes holds products with weights of int8 against those in Float, to the bit: all sums and multiples are exact.
func TestProductsOfBytes(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for _, s := range [][3]int{{1, 1, 1}, {1, 40, 33}, {1, 300, 130}, {3, 7, 5}, {13, 64, 96}, {31, 20, 64}, {32, 256, 33}, {40, 700, 70}, {70, 257, 128}, {2, 0, 3}, {0, 3, 4}} {
			for _, rows := range []bool{false, true} {
				for _, scales := range []int{0, 1, s[2]} {
					for _, bias := range []bool{false, true} {
						t.Run(fmt.Sprintf("%v/%v/%v/%d/%v", tier, s, rows, scales, bias), func(t *testing.T) {
							newBytesCase(s[0], s[1], s[2], rows, scales, bias).check(t, tier)
						})
					}
				}
			}
		}
	}
}

func (c *bytesCase) check(t *testing.T, tier kernel.Tier) {
	want, result := c.bindFloat(t, tier)
	if err := want.Call(); err != nil {
		t.Fatal(err)
	}
	for _, env := range []*Env{{Temp: new(Temp)}, {Temp: new(Temp), Threads: 3, Parallel: shuffled(3)}, {Temp: &Temp{Limit: 1}}} {
		got, out := c.bind(tier, env)
		if got == nil {
			if kernel.MixedOf(tier, kernel.StoredS8) != nil && c.k > 0 {
				t.Fatal("no plan")
			}
			return
		}
		if err := got.Call(); err != nil {
			t.Fatal(err)
		}
		for i, x := range elems[float32](out) {
			if y := elems[float32](result)[i]; math.Float32bits(x) != math.Float32bits(y) && x != y {
				t.Fatalf("row %d, column %d: got %v, want %v", i/c.n, i%c.n, x, y)
			}
		}
	}
}

// TestProductsOfBytesThreads holds results against those of one thread, to the bit, where pieces have few columns.
func TestProductsOfBytesThreads(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, tier := range kernel.Tiers() {
		for _, s := range [][3]int{{1, 4000, 291}, {5, 700, 147}, {9, 2000, 67}, {9, 4000, 35}, {40, 300, 293}} {
			c := newBytesCase(s[0], s[1], s[2], true, s[2], true)
			for _, list := range [][]float32{c.Scales, elems[float32](c.args[0].Tensor), elems[float32](c.args[2].Tensor)} {
				for i := range list {
					list[i] = float32(r.NormFloat64())
				}
			}
			var want *tensor.Tensor
			for _, threads := range []int{1, 2, 3, 8} {
				env := &Env{Temp: new(Temp)}
				if threads > 1 {
					env.Threads, env.Parallel = threads, shuffled(threads)
				}
				got, out := c.bind(tier, env)
				if got == nil {
					continue
				}
				if err := got.Call(); err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = out
				}
				if !bytes.Equal(out.Data, want.Data) {
					t.Errorf("%v, %v: %d threads give something else than one", tier, s, threads)
				}
			}
		}
	}
}

// TestNoProductsOfBytes has what stays in Float.
func TestNoProductsOfBytes(t *testing.T) {
	best := kernel.Best()
	for name, p := range map[string]*Plan{
		"the kernel has none":      PrepareBytes(&Plan{Kernel: &AddF32, tier: best}, Bytes{}, newBytesCase(2, 3, 4, false, 0, false).args, nil),
		"scales of something else": PrepareBytes(&Plan{Kernel: &DequantizePerChannelI8, tier: best}, Bytes{Dequantized: Dequantized{Scales: make([]float32, 3)}}, newBytesCase(2, 3, 4, false, 0, false).args, nil),
		"three dimensions": PrepareBytes(&Plan{Kernel: &DequantizePerChannelI8, tier: best}, Bytes{},
			vals(wave(2, 3), testTensor(tensor.Char, dims{1, 3, 4}, make([]float64, 12)...)), nil),
		"scalar": PrepareBytes(&Plan{Kernel: &DequantizePerChannelI8, tier: kernel.Scalar}, Bytes{}, newBytesCase(2, 3, 4, false, 0, false).args, nil),
	} {
		if p != nil {
			t.Errorf("%s: there is a plan", name)
		}
	}
}

// BenchmarkBytes multiplies rows with weights of 8 bits and, beside that, of Float.
func BenchmarkBytes(b *testing.B) {
	for _, m := range []int{1, 4, 8, 12, 16, 24, 32, 128} {
		c := newBytesCase(m, 1024, 1024, true, 1024, false)
		for name, bind := range map[string]func() (*Invoker, *tensor.Tensor){
			"8 bits": func() (*Invoker, *tensor.Tensor) { return c.bind(kernel.Best(), &Env{Temp: new(Temp)}) },
			"Float":  func() (*Invoker, *tensor.Tensor) { return c.bindFloat(b, kernel.Best()) },
		} {
			b.Run(fmt.Sprintf("%d/%s", m, name), func(b *testing.B) {
				v, _ := bind()
				for b.Loop() {
					if err := v.Call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
