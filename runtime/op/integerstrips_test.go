package op

import (
	"math"
	"math/rand"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/kernel/quant"
)

// TestIntegerProducts holds random convolutions of int8, whose left factors are strips or unfolded, against the definition: of several
// images and threads, and with a zero point for each image.
func TestIntegerProducts(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for range 40 {
		c := quant.Conv{Height: 1 + r.Intn(8), Width: 10 + r.Intn(50), KernelHeight: 1 + r.Intn(3), KernelWidth: 1 + r.Intn(4),
			StrideHeight: 1 + r.Intn(2), StrideWidth: 1 + r.Intn(4), DilationHeight: 1 + r.Intn(2), DilationWidth: 1 + r.Intn(5)/4,
			Top: r.Intn(5), Left: r.Intn(8), Groups: 1 + r.Intn(5)/4, GroupInputs: 2 + r.Intn(20), GroupOutputs: 1 + r.Intn(300)}
		c.Channels = c.Groups * c.GroupInputs
		high, wide := c.Height+2*c.Top-(c.KernelHeight-1)*c.DilationHeight-1, c.Width+2*c.Left-(c.KernelWidth-1)*c.DilationWidth-1
		if high < 0 || wide < 0 {
			continue
		}
		c.OutHeight, c.OutWidth = high/c.StrideHeight+1, wide/c.StrideWidth+1
		p := newIntegerCase(r, c, r.Intn(3))
		for _, tier := range kernel.Tiers() {
			p.check(t, tier, true)
			p.check(t, tier, false)
		}
	}
}

// integerCase is a convolution of images with a zero point each; of static ones, that of the first.
type integerCase struct {
	quant.Conv
	images  int
	x, w    []int8
	scales  []float32
	params  []float32 // of dynamic inputs
	samples []int     // which results are looked at
}

func newIntegerCase(r *rand.Rand, c quant.Conv, images int) *integerCase {
	rows := c.Groups * c.GroupOutputs
	k := &integerCase{Conv: c, images: images, x: make([]int8, images*c.Height*c.Width*c.Channels), w: make([]int8, rows*c.Depth()), scales: make([]float32, rows)}
	for _, list := range [][]int8{k.x, k.w} {
		for i := range list {
			list[i] = int8(r.Intn(256))
		}
	}
	for i := range k.scales {
		k.scales[i] = 1e-3 * float32(1+i%5)
	}
	for i := range images {
		k.params = append(k.params, float32(i+1), float32(r.Intn(256)-128))
	}
	for n := images * c.OutHeight * c.OutWidth * rows; n > 0 && len(k.samples) < 200; {
		k.samples = append(k.samples, r.Intn(n))
	}
	return k
}

func (k *integerCase) check(t *testing.T, tier kernel.Tier, static bool) {
	if !static && k.images == 0 {
		return // rows have no parameters
	}
	rows, depth := k.Groups*k.GroupOutputs, k.Depth()
	f := quant.Factors{Tier: tier, Count: k.Groups, Rows: k.GroupOutputs, Depth: depth, Segments: k.Segments()}
	packed := make([]byte, f.Bytes())
	f.Pack(packed, func(i int) []int8 { return k.w[i*f.Rows*depth : (i+1)*f.Rows*depth] })
	p := &IntegerProduct{Tier: tier, Blocks: 1, Rows: rows, Depth: depth, Weights: f.Weights(packed), Bias: make([]float32, rows)}
	c := &IntegerCall{X: k.x, Geometry: k.Conv, Threads: 1 + len(k.samples)%4, Params: k.params, Low: float32(math.Inf(-1)), High: float32(math.Inf(1)),
		Parallel: func(n, grain int, f func(lo, hi int)) {
			var all sync.WaitGroup
			for lo := 0; lo < n; lo += grain {
				all.Go(func() { f(lo, min(n, lo+grain)) })
			}
			all.Wait()
		},
		Alloc: func(n int) ([]byte, error) {
			b := AlignedBytes(n)
			for i := range b {
				b[i] = 0xaa
			}
			return b, nil
		}}
	n := k.images * k.OutHeight * k.OutWidth * rows
	if static {
		q := Quantization{In: 1, Out: 1, ZeroOut: 2, Low: -127, High: 127}
		if k.images > 0 {
			q.ZeroIn = int32(k.params[1])
		}
		p.SetStatic(&q, k.scales, make([]int32, rows))
		c.Int8 = make([]int8, n)
	} else {
		p.SetDynamic(k.scales)
		c.Float = make([]float32, n)
	}
	if err := p.Run(c, k.images); err != nil {
		t.Fatal(err)
	}
	for _, i := range k.samples {
		image, row := i/rows/(k.OutHeight*k.OutWidth), i%rows
		if static {
			if want := int8(quant.Round(float32(k.sum(i, int32(k.params[1])))*k.scales[row], 2, -127, 127)); c.Int8[i] != want {
				t.Fatalf("%v: %+v, %d images: result %d: got %d, want %d", tier, k.Conv, k.images, i, c.Int8[i], want)
			}
			continue
		}
		want := float32(k.sum(i, int32(k.params[2*image+1]))) * k.scales[row] * k.params[2*image]
		if math.Abs(float64(c.Float[i]-want)) > 1e-5*math.Abs(float64(want)) {
			t.Fatalf("%v: %+v, %d images: result %d: got %v, want %v", tier, k.Conv, k.images, i, c.Float[i], want)
		}
	}
}

// sum is the sum of result i, of an image with this zero point.
func (k *integerCase) sum(i int, zero int32) (sum int32) {
	rows := k.Groups * k.GroupOutputs
	row, pos := i%rows, i/rows%(k.OutHeight*k.OutWidth)
	image := k.x[i/rows/(k.OutHeight*k.OutWidth)*k.Height*k.Width*k.Channels:]
	for tap := range k.KernelHeight * k.KernelWidth {
		y := pos/k.OutWidth*k.StrideHeight - k.Top + tap/k.KernelWidth*k.DilationHeight
		x := pos%k.OutWidth*k.StrideWidth - k.Left + tap%k.KernelWidth*k.DilationWidth
		if y < 0 || y >= k.Height || x < 0 || x >= k.Width {
			continue
		}
		for ch := range k.GroupInputs {
			in := image[(y*k.Width+x)*k.Channels+row/k.GroupOutputs*k.GroupInputs+ch]
			sum += (int32(in) - zero) * int32(k.w[row*k.Depth()+tap*k.GroupInputs+ch])
		}
	}
	return sum
}
