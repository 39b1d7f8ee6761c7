package op

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// newBlocksCase is a product with weights of so many bits that have scales, and zero points, for each of so many blocks of a row; as a matrix
// of blocks if there is more than one.
func newBlocksCase(m, k, n, blocks, bits int, zeros, bias bool) *bytesCase {
	c := newBytesCase(m, k, n, true, n, bias)
	r := rand.New(rand.NewSource(int64(m*1e6 + k*1e3 + n*10 + blocks)))
	c.Scales = c.Scales[:0]
	for range n * blocks {
		c.Scales = append(c.Scales, float32(r.Intn(7)+1)/4)
		if zeros {
			c.Zeros = append(c.Zeros, float32(r.Intn(9)-3))
		}
	}
	q := listOf(k*n, func(int) float64 { return float64(r.Intn(1<<bits) - 1<<(bits-1)) })
	w := slices.Clone(q)
	for i := range w {
		b := i/k*blocks + i%k*blocks/k
		if zeros {
			w[i] -= float64(c.Zeros[b])
		}
		w[i] *= float64(c.Scales[b])
	}
	sizes := dims{int64(n), int64(k)}
	c.wide[1] = val(testTensor(tensor.Float, sizes, w...))
	if blocks > 1 {
		c.WeightRows, sizes = n, dims{int64(n * blocks), int64(k / blocks)}
	}
	c.args[1] = val(testTensor(tensor.Char, sizes, q...))
	return c
}

// TestProductsInBlocks holds products with weights in blocks against those in Float, to the bit: all sums and multiples are exact.
func TestProductsInBlocks(t *testing.T) {
	for _, tier := range kernel.Tiers() {
		for _, s := range [][4]int{{1, 9, 1, 1}, {1, 64, 33, 2}, {2, 300, 130, 3}, {3, 72, 5, 9}, {13, 64, 96, 2}, {31, 80, 64, 10}, {32, 256, 33, 8}, {40, 768, 70, 2},
			{70, 514, 128, 1}, {5, 515, 31, 1}, {41, 515, 64, 5}, {0, 16, 4, 2}} {
			for _, bits := range []int{4, 8} {
				for _, zeros := range []bool{false, true} {
					for _, bias := range []bool{false, true} {
						if s[3] == 1 && !zeros {
							continue // as newBytesCase has them
						}
						t.Run(fmt.Sprintf("%v/%v/%d/%v/%v", tier, s, bits, zeros, bias), func(t *testing.T) {
							newBlocksCase(s[0], s[1], s[2], s[3], bits, zeros, bias).check(t, tier)
						})
					}
				}
			}
		}
	}
}

// TestBlocksRounding holds products with any scales, and zero points that are integers or not, against those in Float, to the bit: weights are rounded as an operator that
// dequantizes them does it, and sums one product after another.
func TestBlocksRounding(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, k := range [][2]int{{4, 0}, {8, 0}, {4, 1}, {8, 1}} {
		for _, m := range []int{1, 5, 40} {
			bits, broken := k[0], k[1] > 0
			c := newBlocksCase(m, 128, 96, 4, bits, true, true)
			w := elems[float32](c.wide[1].Tensor)
			for i := range c.Scales {
				if c.Scales[i] = float32(r.NormFloat64()); broken {
					c.Zeros[i] = float32(r.NormFloat64())
				}
			}
			for i, q := range elems[int8](c.args[1].Tensor) {
				w[i] = (float32(q) - c.Zeros[i/32]) * c.Scales[i/32]
			}
			for _, list := range [][]float32{elems[float32](c.args[0].Tensor), elems[float32](c.args[2].Tensor)} {
				for i := range list {
					list[i] = float32(r.NormFloat64())
				}
			}
			c.check(t, kernel.Best())
		}
	}
}

// TestNoBlocks has what stays in Float.
func TestNoBlocks(t *testing.T) {
	best := kernel.Best()
	none := func(name string, change func(c *bytesCase)) {
		c := newBlocksCase(2, 32, 6, 2, 8, true, false)
		change(c)
		if PrepareBytes(&Plan{Kernel: &DequantizePerChannelI8, tier: best}, c.Bytes, c.args, nil) != nil {
			t.Errorf("%s: there is a plan", name)
		}
	}
	none("short blocks", func(c *bytesCase) { *c = *newBlocksCase(2, 14, 6, 2, 8, true, false) })
	none("blocks do not divide the depth", func(c *bytesCase) {
		c.Scales = append(c.Scales, c.Scales[:6]...)
		c.Zeros = append(c.Zeros, c.Zeros[:6]...)
	})
	none("scales for half a column", func(c *bytesCase) { c.Scales = c.Scales[:9]; c.Zeros = c.Zeros[:9] })
	none("too few zero points", func(c *bytesCase) { c.Zeros = c.Zeros[:6] })
	none("columns that are not rows", func(c *bytesCase) { c.Rows = false })
	none("rows that do not divide the weights", func(c *bytesCase) { c.WeightRows = 5 })
	none("one scale for the blocks of a row", func(c *bytesCase) { c.Scales, c.Zeros = c.Scales[:6], nil })
	none("other order", func(c *bytesCase) { c.args[1].Tensor.DimOrder = []uint8{1, 0} })
}

// BenchmarkBlocks multiplies rows with weights of 4 and 8 bits in blocks of 32 and, beside that, of Float.
func BenchmarkBlocks(b *testing.B) {
	for _, m := range []int{1, 4, 8, 12, 16, 24, 32, 128} {
		four, eight := newBlocksCase(m, 1024, 1024, 32, 4, false, false), newBlocksCase(m, 1024, 1024, 32, 8, true, false)
		for name, bind := range map[string]func() (*Invoker, *tensor.Tensor){
			"4 bits": func() (*Invoker, *tensor.Tensor) { return four.bind(kernel.Best(), &Env{Temp: new(Temp)}) },
			"8 bits": func() (*Invoker, *tensor.Tensor) { return eight.bind(kernel.Best(), &Env{Temp: new(Temp)}) },
			"Float":  func() (*Invoker, *tensor.Tensor) { return four.bindFloat(b, kernel.Best()) },
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
