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

// groupsCase is a call of a linear operator whose rows are quantized one by one, and whose weights are in blocks with a scale each.
type groupsCase struct {
	m, rows, depth, blocks int
	args                   []Value
	q                      Quantized
	want, size             []float64 // results, and the sums of the magnitudes of what they are the sums of
}

// newGroupsCase has weights from -most to most.
func newGroupsCase(m, rows, depth, blocks, most int) *groupsCase {
	r := rand.New(rand.NewSource(int64(m*rows + depth)))
	c := &groupsCase{m: m, rows: rows, depth: depth, blocks: blocks, q: Quantized{Dequantized: Dequantized{WeightRows: rows, Scales: make([]float32, rows*blocks)}}}
	for i := range c.q.Scales {
		c.q.Scales[i] = float32(r.NormFloat64())
	}
	x, w := integersOf(r, dims{int64(m), int64(depth)}), integersOf(r, dims{int64(rows * blocks), int64(depth / blocks)})
	for i := range elems[int8](w) {
		elems[int8](w)[i] = int8(r.Intn(2*most+1) - most)
	}
	bias, scales, zeros := make([]float64, rows), make([]float64, m), make([]float64, m)
	for i := range bias {
		bias[i] = float64(float32(r.NormFloat64()))
	}
	for i := range m {
		scales[i], zeros[i] = float64(float32(r.Float64())), float64(r.Intn(256)-128)
	}
	for i := range m * rows {
		row, col := i/rows, i%rows
		sum, size := bias[col], math.Abs(bias[col])
		for k := range depth {
			f := float64(elems[int8](w)[col*depth+k]) * float64(c.q.Scales[col*blocks+k/(depth/blocks)]) * scales[row]
			sum += (float64(elems[int8](x)[row*depth+k]) - zeros[row]) * f
			size += 512 * math.Abs(f)
		}
		c.want, c.size = append(c.want, sum), append(c.size, size)
	}
	c.args = vals(x, w, testTensor(tensor.Float, []int64{int64(rows)}, bias...), testTensor(tensor.Double, []int64{int64(m), 1}, scales...),
		testTensor(tensor.Long, []int64{int64(m), 1}, zeros...))
	return c
}

// bind is the call on a tier, and its results.
func (c *groupsCase) bind(tier kernel.Tier) (*Invoker, []float32) {
	p := PrepareIntegers(&Plan{Kernel: &DequantizePerTokenI8, tier: tier}, c.q, c.args, nil)
	if p == nil {
		return nil, nil
	}
	out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{int64(c.m), int64(c.rows)}}, Data: AlignedBytes(4 * c.m * c.rows)}
	return p.Bind(c.args, []*tensor.Tensor{out}, &Env{Temp: new(Temp)}), elems[float32](out)
}

// TestIntegerGroups holds products with weights in blocks against the definition, with weights of 4 bits and of 8.
func TestIntegerGroups(t *testing.T) {
	for _, s := range [][4]int{{1, 1, 32, 1}, {1, 70, 128, 4}, {33, 65, 64, 2}, {3, 31, 512, 1}, {5, 64, 512, 16}, {2, 9, 48, 3}, {7, 40, 512, 4}} {
		for _, most := range []int{7, 127} {
			c := newGroupsCase(s[0], s[1], s[2], s[3], most)
			for _, tier := range kernel.Tiers() {
				v, got := c.bind(tier)
				nibbles, long := most == 7 && kernel.NibblesOf(tier) != nil, s[3] == 1 || s[2]/s[3] >= leastBlock
				if (v != nil) != (nibbles || long) {
					t.Fatalf("%v: %v, weights up to %d: there is a plan: %t", tier, s, most, v != nil)
				}
				if v == nil {
					continue
				}
				if got := v.plan.state.(*integers).Nibbles != nil; got != nibbles {
					t.Errorf("%v: %v, weights up to %d: 4 bits is %t", tier, s, most, got)
				}
				for range 2 {
					if err := v.Call(); err != nil {
						t.Fatal(err)
					}
				}
				for i, want := range c.want {
					if !(math.Abs(float64(got[i])-want) <= 1e-6*c.size[i]) {
						t.Fatalf("%v: %v, weights up to %d: element %d is %v, want %v", tier, s, most, i, got[i], want)
					}
				}
			}
		}
	}
}

// TestIntegerRows gives scales that do not go along the rows.
func TestIntegerRows(t *testing.T) {
	c := newGroupsCase(4, 8, 512, 2, 7)
	for name, change := range map[string]func(args []Value){
		"three scales for four rows": func(args []Value) {
			args[3], args[4] = val(testTensor(tensor.Double, []int64{3}, 1, 1, 1)), val(i64(0, 0, 0))
		},
		"fewer zero points than scales": func(args []Value) { args[4] = val(i64(0, 0)) },
		"no scales":                     func(args []Value) { args[3], args[4] = val(testTensor(tensor.Double, []int64{0})), val(i64()) },
	} {
		o := *c
		o.args = slices.Clone(c.args)
		change(o.args)
		v, _ := o.bind(kernel.Best())
		if err := v.Call(); err != errParams {
			t.Errorf("%s: error %v, want %v", name, err, errParams)
		}
	}
}

// BenchmarkIntegerGroups multiplies rows with weights in blocks, in 4 bits and in 8, and in Float.
func BenchmarkIntegerGroups(b *testing.B) {
	const rows, depth = 512, 512
	for _, m := range []int{1, 32} {
		for name, most := range map[string]int{"4 bits": 7, "8 bits": 127} {
			b.Run(fmt.Sprintf("%d/%s", m, name), func(b *testing.B) {
				v, _ := newGroupsCase(m, rows, depth, depth/leastBlock, most).bind(kernel.Best())
				for b.Loop() {
					if err := v.Call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("%d/Float", m), func(b *testing.B) {
			of := func(rows int64) *tensor.Tensor {
				return &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{rows, depth}}, Data: AlignedBytes(4 * int(rows) * depth)}
			}
			args := vals(of(int64(m)), of(rows), nil)
			sig := ParseSignature(Linear.Schema)
			out := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: dims{int64(m), rows}}, Data: AlignedBytes(4 * m * rows)}
			p, err := Prepare(&LinearF32, &sig, args, []tensor.Meta{out.Meta}, Options{Pack: packNew, Tier: kernel.Best()})
			if err != nil {
				b.Fatal(err)
			}
			v := p.Bind(args, []*tensor.Tensor{out}, &Env{Temp: new(Temp)})
			for b.Loop() {
				if err := v.Call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
