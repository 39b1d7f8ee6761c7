package audio

import "math"

// lobes is how many zero crossings of the sinc function the filter has on each side.
const lobes = 16

// resample converts from rate to Rate with a Hann-windowed sinc, cut off at the lower of both Nyquist frequencies.
func resample(in []float32, rate int) []float32 {
	if rate == Rate {
		return in
	}
	g := gcd(rate, Rate)
	up, down := Rate/g, rate/g
	f := newFilter(up, down)
	out := make([]float32, (len(in)*up+down-1)/down)
	for i := range out {
		pos := i * down
		out[i] = f.at(in, pos/up, pos%up)
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// filter has the taps for each position between two samples.
type filter struct {
	half int
	taps [][]float32 // by phase
}

func newFilter(up, down int) *filter {
	cutoff := min(1, float64(up)/float64(down))
	f := &filter{half: int(math.Ceil(lobes / cutoff)), taps: make([][]float32, up)}
	for phase := range f.taps {
		taps := make([]float32, 2*f.half)
		for k := range taps {
			taps[k] = float32(cutoff * kernel(cutoff*(float64(k-f.half+1)-float64(phase)/float64(up))))
		}
		f.taps[phase] = taps
	}
	return f
}

// kernel is the windowed sinc; x counts zero crossings.
func kernel(x float64) float64 {
	if math.Abs(x) >= lobes {
		return 0
	}
	if x == 0 {
		return 1
	}
	window := 0.5 + 0.5*math.Cos(math.Pi*x/lobes)
	return window * math.Sin(math.Pi*x) / (math.Pi * x)
}

// at is the signal at base + phase/up; it is 0 outside of in.
func (f *filter) at(in []float32, base, phase int) float32 {
	var sum float32
	for k, tap := range f.taps[phase] {
		if i := base + k - f.half + 1; i >= 0 && i < len(in) {
			sum += tap * in[i]
		}
	}
	return sum
}
