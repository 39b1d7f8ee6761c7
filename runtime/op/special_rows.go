package op

// The rows of special functions. The official runtime has no kernel for any.
var (
	Lgamma = Def{
		Schema:     "aten::lgamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::lgamma", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	Digamma = Def{
		Schema:     "aten::digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::digamma", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	Erfinv = Def{
		Schema:     "aten::erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::erfinv", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	I0 = Def{
		Schema:     "aten::i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::i0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialI0e = Def{
		Schema:     "aten::special_i0e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_i0e", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialI1 = Def{
		Schema:     "aten::special_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_i1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialI1e = Def{
		Schema:     "aten::special_i1e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_i1e", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialModifiedBesselI0 = Def{
		Schema:     "aten::special_modified_bessel_i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_modified_bessel_i0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialModifiedBesselI1 = Def{
		Schema:     "aten::special_modified_bessel_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_modified_bessel_i1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialModifiedBesselK0 = Def{
		Schema:     "aten::special_modified_bessel_k0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_modified_bessel_k0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialModifiedBesselK1 = Def{
		Schema:     "aten::special_modified_bessel_k1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_modified_bessel_k1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialScaledModifiedBesselK0 = Def{
		Schema:     "aten::special_scaled_modified_bessel_k0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_scaled_modified_bessel_k0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialScaledModifiedBesselK1 = Def{
		Schema:     "aten::special_scaled_modified_bessel_k1.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_scaled_modified_bessel_k1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialBesselJ0 = Def{
		Schema:     "aten::special_bessel_j0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_bessel_j0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialBesselJ1 = Def{
		Schema:     "aten::special_bessel_j1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_bessel_j1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialBesselY0 = Def{
		Schema:     "aten::special_bessel_y0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_bessel_y0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialBesselY1 = Def{
		Schema:     "aten::special_bessel_y1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_bessel_y1", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialSphericalBesselJ0 = Def{
		Schema:     "aten::special_spherical_bessel_j0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_spherical_bessel_j0", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialAiryAi = Def{
		Schema:     "aten::special_airy_ai.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_airy_ai", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialNdtri = Def{
		Schema:     "aten::special_ndtri.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_ndtri", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialLogNdtr = Def{
		Schema:     "aten::special_log_ndtr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_log_ndtr", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	SpecialErfcx = Def{
		Schema:     "aten::special_erfcx.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_erfcx", Infer: inferLikeFloat, Key: KeyPromoteFloat, KeyArgs: 0b1, Tags: Pointwise | Extension,
	}
	Igamma = Def{
		Schema:     "aten::igamma.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::igamma", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	Igammac = Def{
		Schema:     "aten::igammac.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::igammac", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialZeta = Def{
		Schema:     "aten::special_zeta.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_zeta", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialChebyshevPolynomialT = Def{
		Schema:     "aten::special_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_chebyshev_polynomial_t", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialChebyshevPolynomialU = Def{
		Schema:     "aten::special_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_chebyshev_polynomial_u", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialChebyshevPolynomialV = Def{
		Schema:     "aten::special_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_chebyshev_polynomial_v", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialChebyshevPolynomialW = Def{
		Schema:     "aten::special_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_chebyshev_polynomial_w", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialHermitePolynomialH = Def{
		Schema:     "aten::special_hermite_polynomial_h.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_hermite_polynomial_h", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialHermitePolynomialHe = Def{
		Schema:     "aten::special_hermite_polynomial_he.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_hermite_polynomial_he", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialLaguerrePolynomialL = Def{
		Schema:     "aten::special_laguerre_polynomial_l.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_laguerre_polynomial_l", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
	SpecialLegendrePolynomialP = Def{
		Schema:     "aten::special_legendre_polynomial_p.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::special_legendre_polynomial_p", Infer: inferBinaryFloat, Key: KeyPromoteFloat, Tags: Pointwise | Extension,
	}
)
