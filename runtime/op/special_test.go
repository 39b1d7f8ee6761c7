package op

import (
	"math"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func doubles(x ...float64) *tensor.Tensor {
	return mkTensor(tensor.Double, dims{tensor.Dim(len(x))}, x)
}

// TestSpecialFunctions holds special functions against torch 2.13 in float64.
func TestSpecialFunctions(t *testing.T) {
	for _, test := range []struct {
		name string
		k    *Kernel
		args []any
		want []float64
	}{
		{"Lgamma", &LgammaF64, []any{doubles(-1.5, 0.5, 30.0, -1e-30, -1e-9)}, []float64{0.860047015376481, 0.5723649429247001, 71.25703896716801, 69.07755278982137, 20.72326583752368}},
		{"Digamma", &DigammaF64, []any{doubles(-1.5, 0.25, 12.0)}, []float64{0.7031566406452433, -4.2274535333762655, 2.4426616799758123}},
		{"Erfinv", &ErfinvF64, []any{doubles(-0.9, 0.1)}, []float64{-1.1630871536766743, 0.08885599049425769}},
		{"I0", &I0F64, []any{doubles(-2.0, 0.5, 20.0)}, []float64{2.279585302336067, 1.0634833707413236, 43558282.559553534}},
		{"SpecialI0e", &SpecialI0eF64, []any{doubles(3.0)}, []float64{0.24300035416182536}},
		{"SpecialI1", &SpecialI1F64, []any{doubles(-2.0, 9.0)}, []float64{-1.5906368546373295, 1030.9147225169565}},
		{"SpecialI1e", &SpecialI1eF64, []any{doubles(0.5)}, []float64{0.15642080318487173}},
		{"SpecialModifiedBesselK0", &SpecialModifiedBesselK0F64, []any{doubles(0.5, 7.0)}, []float64{0.924419071227666, 0.0004247957418692318}},
		{"SpecialModifiedBesselK1", &SpecialModifiedBesselK1F64, []any{doubles(0.5, 7.0)}, []float64{1.6564411200033007, 0.00045418248688489695}},
		{"SpecialScaledModifiedBesselK0", &SpecialScaledModifiedBesselK0F64, []any{doubles(0.5, 7.0)}, []float64{1.5241093857739099, 0.46584509609301583}},
		{"SpecialScaledModifiedBesselK1", &SpecialScaledModifiedBesselK1F64, []any{doubles(0.5, 7.0)}, []float64{2.7310097082117855, 0.4980715750954765}},
		{"SpecialBesselJ1", &SpecialBesselJ1F64, []any{doubles(-1e-30, 0.5, -5.0)}, []float64{-5e-31, 0.2422684576748739, 0.3275791375914652}},
		{"SpecialBesselY1", &SpecialBesselY1F64, []any{doubles(0.5, 7.0)}, []float64{-1.4714723926702433, -0.3026672388243377}},
		{"SpecialSphericalBesselJ0", &SpecialSphericalBesselJ0F64, []any{doubles(0.1, 7.0)}, []float64{0.9983341664682815, 0.09385522838839844}},
		{"SpecialAiryAi", &SpecialAiryAiF64, []any{doubles(-5.0, 0.5, 4.0)}, []float64{0.35076100902415286, 0.23169360648083345, 0.0009515638512048024}},
		{"SpecialNdtri", &SpecialNdtriF64, []any{doubles(1e-20, 0.3, 0.99)}, []float64{-9.262340089798409, -0.5244005127080409, 2.3263478740408408}},
		{"SpecialLogNdtr", &SpecialLogNdtrF64, []any{doubles(-30.0, 0.5)}, []float64{-454.32124395634327, -0.36894641528865635}},
		{"SpecialErfcx", &SpecialErfcxF64, []any{doubles(-2.0, 1.0, 60.0)}, []float64{108.94090438997797, 0.427583576155807, 0.009401854275176388}},
		{"Igamma", &IgammaF64, []any{doubles(0.5, 3.0, 50.0, 200.0), doubles(0.2, 10.0, 45.0, 205.0)}, []float64{0.47291074313446185, 0.9972306042844884, 0.24680203419473098, 0.6458624560110782}},
		{"Igammac", &IgammacF64, []any{doubles(0.5, 3.0, 50.0, 200.0), doubles(0.2, 10.0, 45.0, 205.0)}, []float64{0.5270892568655381, 0.0027693957155115775, 0.753197965805269, 0.3541375439889216}},
		{"SpecialZeta", &SpecialZetaF64, []any{doubles(2.0, 3.5), doubles(1.0, 0.3)}, []float64{1.6449340668482266, 68.10265605243227}},
		{"SpecialChebyshevPolynomialT", &SpecialChebyshevPolynomialTF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, 1.0, 1.0, 362.0}},
		{"SpecialChebyshevPolynomialU", &SpecialChebyshevPolynomialUF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, 4.0, 5.0, 780.0}},
		{"SpecialChebyshevPolynomialV", &SpecialChebyshevPolynomialVF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, 1.0, 9.0, 571.0}},
		{"SpecialChebyshevPolynomialW", &SpecialChebyshevPolynomialWF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, 7.0, 1.0, 989.0}},
		{"SpecialHermitePolynomialH", &SpecialHermitePolynomialHF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, -4.0, -20.0, -16.0}},
		{"SpecialHermitePolynomialHe", &SpecialHermitePolynomialHeF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, -2.0, -2.0, -18.0}},
		{"SpecialLaguerrePolynomialL", &SpecialLaguerrePolynomialLF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, -0.6666666666666666, 8.708333333333334, 0.7333333333333334}},
		{"SpecialLegendrePolynomialP", &SpecialLegendrePolynomialPF64, []any{doubles(0.3, 1.0, -1.0, 2.0), doubles(-1.0, 3.0, 4.0, 5.0)}, []float64{0.0, 1.0, 1.0, 185.75}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, got := range elems[float64](mustCall(t, test.k, test.args...)) {
				if want := test.want[i]; !(math.Abs(got-want) <= 1e-8*math.Abs(want)) {
					t.Errorf("element %d: got %v, want %v", i, got, want)
				}
			}
		})
	}
}

// TestSpecialEnds checks functions where they have no finite value.
func TestSpecialEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"lgamma(-inf)", lgamma(-inf), inf},
		{"digamma(-0)", digamma(math.Copysign(0, -1)), inf},
		{"digamma(-2)", digamma(-2), nan},
		{"zeta(1, 2)", zeta(1, 2), inf},
		{"zeta(2, -1)", zeta(2, -1), inf},
		{"gammaP(0, 0)", gammaP(0, 0), nan},
		{"gammaP(2, inf)", gammaP(2, inf), 1},
		{"gammaQ(inf, 2)", gammaQ(inf, 2), 1},
		{"ndtri(2)", ndtri(2), nan},
		{"ndtri(0)", ndtri(0), -inf},
		{"k0(0)", besselK0(0), inf},
		{"k1(-1)", besselK1(-1), nan},
		{"airy(200)", airyAi(200), 0},
	} {
		if test.got != test.want && !(test.got != test.got && test.want != test.want) {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
}

func TestUnique(t *testing.T) {
	outs, err := call(&UniqueDimI64, 3, true, mi64(dims{3, 2}, 5, 1, 2, 2, 5, 1), 0, true, true, true)
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, outs[0], dims{2, 2}, int64(2), 2, 5, 1)
	wantOut(t, outs[1], dims{3}, int64(1), 0, 1)
	wantOut(t, outs[2], dims{2}, int64(1), 2)
	outs, err = call(&UniqueConsecutiveI64, 3, true, mi64(dims{5}, 1, 1, 2, 1, 1), false, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, outs[0], dims{3}, int64(1), 2, 1)
	wantOut(t, outs[2], dims{3}, int64(2), 1, 2)
	wantOut(t, mustCall(t, &BincountI64, mi64(dims{4}, 0, 3, 3, 1), nil, 2), dims{4}, int64(1), 1, 0, 2)
	wantOut(t, mustCall(t, &GcdI32, mkTensor(tensor.Int, dims{2}, []int32{-12, 0}), mkTensor(tensor.Int, dims{2}, []int32{18, -5})), dims{2}, int32(6), 5)
}

// TestSpecialLimits holds special functions at infinities and NaN against torch 2.13.
func TestSpecialLimits(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name string
		k    *Kernel
		args []any
		want []float64
	}{
		{"bessel J0", &SpecialBesselJ0F64, []any{doubles(inf, -inf, 0)}, []float64{nan, nan, 1}},
		{"bessel Y1", &SpecialBesselY1F64, []any{doubles(inf, 0)}, []float64{nan, -inf}},
		{"zeta", &SpecialZetaF64, []any{doubles(nan, nan, 2), doubles(0, 1, nan)}, []float64{inf, nan, nan}},
		{"igamma", &IgammaF64, []any{doubles(inf, nan, nan, inf, 2), doubles(nan, 0, 1, inf, inf)}, []float64{0, 0, nan, nan, 1}},
		{"igammac", &IgammacF64, []any{doubles(inf, nan, nan), doubles(nan, 0, 1)}, []float64{1, 1, nan}},
	} {
		for i, got := range elems[float64](mustCall(t, test.k, test.args...)) {
			if want := test.want[i]; got != want && (got == got || want == want) {
				t.Errorf("%s: element %d: got %v, want %v", test.name, i, got, want)
			}
		}
	}
}
