package op

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Numbers of TestIntegers. Scales are powers of two, so that Float has every product and sum exactly.
const (
	scaleIn, scaleWeight, scaleOut = 1.0 / 8, 1.0 / 32, 1.0 / 4
	zeroIn, zeroOut                = -7, 5
	lowOut, highOut                = -100, 90
)

// integersOf are n numbers of int8.
func integersOf(r *rand.Rand, sizes dims) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: slices.Clone(sizes)}}
	t.Data = make([]byte, t.Numel())
	r.Read(t.Data)
	return t
}

// floatsOf are the numbers that t stands for.
func floatsOf(t *tensor.Tensor, scale float32, zero int8) *tensor.Tensor {
	f := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: t.Sizes}, Data: make([]byte, 4*t.Numel())}
	for i, q := range elems[int8](t) {
		elems[float32](f)[i] = float32(int(q)-int(zero)) * scale
	}
	return f
}

// rowScale is the scale of the weights of row i.
func rowScale(i int) float32 { return scaleWeight / float32(int(1)<<(i%3)) }

// integersCase is a call of a convolution or a linear operator whose input and weights are quantized.
type integersCase struct {
	x, w  *tensor.Tensor
	bias  []float32
	plain []Value // arguments in Float
	args  []Value
	conv  bool
}

func newIntegersCase(x, w dims, conv *convCase) *integersCase {
	r := rand.New(rand.NewSource(int64(w[0])))
	c := &integersCase{x: integersOf(r, x), w: integersOf(r, w), conv: conv != nil, bias: make([]float32, w[0])}
	for i := range c.bias {
		c.bias[i] = float32(r.Intn(400)-200) * scaleIn * rowScale(i)
	}
	weights := floatsOf(c.w, 1, 0)
	for i := range elems[float32](weights) {
		elems[float32](weights)[i] *= rowScale(i / (c.w.Numel() / len(c.bias)))
	}
	more := []any{}
	if c.conv {
		more = conv.args(nil, nil, nil)[3:]
	}
	bias := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: w[:1]}, Data: bytesOf(c.bias)}
	c.plain = vals(append([]any{floatsOf(c.x, scaleIn, zeroIn), weights, bias}, more...)...)
	c.args = vals(append([]any{c.x, c.w, bias}, more...)...)
	return c
}

// quantized is what stands around the operator.
func (c *integersCase) quantized() Quantized {
	q := Quantized{Static: true, Convolution: c.conv, Quantization: Quantization{In: scaleIn, ZeroIn: zeroIn, Out: scaleOut, ZeroOut: zeroOut, Low: lowOut, High: highOut}}
	for i := range c.bias {
		q.Scales = append(q.Scales, rowScale(i))
	}
	return q
}

// check holds the integers of a tier against Float and the definition of quantization.
func (c *integersCase) check(t *testing.T, tier kernel.Tier) {
	k, def := &ConvolutionF32, &Convolution
	if !c.conv {
		k, def = &LinearF32, &Linear
	}
	infer := Infer{Args: c.plain, Out: make([]tensor.Meta, 1)}
	if err := def.Infer(&infer); err != nil {
		t.Fatal(err)
	}
	want := &tensor.Tensor{Meta: infer.Out[0].Clone()}
	want.Data = make([]byte, want.Nbytes())
	sig := ParseSignature(def.Schema)
	plan, err := Prepare(k, &sig, c.plain, []tensor.Meta{want.Meta}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Bind(c.plain, []*tensor.Tensor{want}, &Env{Temp: new(Temp)}).Call(); err != nil {
		t.Fatal(err)
	}
	got := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Char, Sizes: want.Sizes}, Data: make([]byte, want.Numel())}
	p := PrepareIntegers(&Plan{Kernel: &DequantizePerTensorI8, tier: tier}, c.quantized(), c.args, nil)
	if p == nil {
		t.Fatal("there is no plan")
	}
	v := p.Bind(c.args, []*tensor.Tensor{got}, &Env{Temp: new(Temp)})
	v.Fixed = true
	for range 2 { // the second call knows the sizes
		clear(got.Data)
		if err := v.Call(); err != nil {
			t.Fatal(err)
		}
		for i, x := range elems[float32](want) {
			q := min(max(math.RoundToEven(float64(x)/scaleOut)+zeroOut, lowOut), highOut)
			if int8(q) != elems[int8](got)[i] {
				t.Fatalf("%v: element %d: got %d, want %v", tier, i, elems[int8](got)[i], q)
			}
		}
	}
}

// checkDynamic is check of an input whose parameters are tensors, with results in Float.
func (c *integersCase) checkDynamic(t *testing.T, tier kernel.Tier) {
	sig := ParseSignature(Linear.Schema)
	want := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: append(slices.Clone(c.x.Sizes[:c.x.Rank()-1]), c.w.Sizes[0])}}
	want.Data = make([]byte, want.Nbytes())
	plan, err := Prepare(&LinearF32, &sig, c.plain, []tensor.Meta{want.Meta}, Options{Bounds: &[2]float32{-3, 9}})
	if err == nil {
		err = plan.Bind(c.plain, []*tensor.Tensor{want}, &Env{Temp: new(Temp)}).Call()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := &tensor.Tensor{Meta: want.Meta.Clone(), Data: make([]byte, want.Nbytes())}
	q := c.quantized()
	q.Static = false
	args := append(slices.Clone(c.args), val(testTensor(tensor.Double, []int64{1}, scaleIn)), val(i64(zeroIn)))
	p := PrepareIntegers(&Plan{Kernel: &DequantizePerTensorTensorI8, tier: tier}, q, args, nil).Within(-3, 9)
	if err := p.Bind(args, []*tensor.Tensor{got}, &Env{Temp: new(Temp)}).Call(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(elems[float32](got), elems[float32](want)) {
		t.Errorf("%v: got %v, want %v", tier, elems[float32](got), elems[float32](want))
	}
}

// TestIntegers computes convolutions and linear operators in integers, whose results are what Float gives.
func TestIntegers(t *testing.T) {
	for i := range convCases {
		cc := &convCases[i]
		if cc.transposed || len(cc.stride) > 2 || slices.Contains(cc.in, 0) {
			continue
		}
		t.Run(cc.name, func(t *testing.T) {
			for _, tier := range kernel.Tiers() {
				newIntegersCase(cc.in, cc.weight, cc).check(t, tier)
			}
		})
	}
	for _, s := range [][2]dims{{{1, 8}, {3, 8}}, {{33, 70}, {40, 70}}, {{2, 3, 129}, {17, 129}}} {
		for _, tier := range kernel.Tiers() {
			newIntegersCase(s[0], s[1], nil).check(t, tier)
			newIntegersCase(s[0], s[1], nil).checkDynamic(t, tier)
		}
	}
}
