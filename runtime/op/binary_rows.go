package op

// Add is aten::add.out.
var Add = Def{
	Schema:     "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::add.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// AddScalar is aten::add.Scalar_out.
var AddScalar = Def{
	Schema:     "aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::add.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Sub is aten::sub.out.
var Sub = Def{
	Schema:     "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sub.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// SubScalar is aten::sub.Scalar_out.
var SubScalar = Def{
	Schema:     "aten::sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::sub.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Mul is aten::mul.out.
var Mul = Def{
	Schema:     "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::mul.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// MulScalar is aten::mul.Scalar_out.
var MulScalar = Def{
	Schema:     "aten::mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::mul.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// RsubScalar is aten::rsub.Scalar_out.
var RsubScalar = Def{
	Schema:     "aten::rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::rsub.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}

// Div is aten::div.out.
var Div = Def{
	Schema:     "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::div.Tensor",
	Infer:      inferBinaryFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// DivScalar is aten::div.Scalar_out.
var DivScalar = Def{
	Schema:     "aten::div.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::div.Scalar",
	Infer:      inferBinaryFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// DivMode is aten::div.out_mode.
var DivMode = Def{
	Schema:     "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::div.Tensor_mode",
	Infer:      inferDivMode,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// DivScalarMode is aten::div.Scalar_mode_out.
var DivScalarMode = Def{
	Schema:     "aten::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::div.Scalar_mode",
	Infer:      inferDivMode,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// FloorDivide is aten::floor_divide.out.
var FloorDivide = Def{
	Schema:     "aten::floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::floor_divide",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}

// Maximum is aten::maximum.out.
var Maximum = Def{
	Schema:     "aten::maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::maximum",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Minimum is aten::minimum.out.
var Minimum = Def{
	Schema:     "aten::minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::minimum",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Atan2 is aten::atan2.out.
var Atan2 = Def{
	Schema:     "aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::atan2",
	Infer:      inferBinaryFloat,
	Key:        KeyPromoteFloat,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Remainder is aten::remainder.Tensor_out.
var Remainder = Def{
	Schema:     "aten::remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::remainder.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// RemainderScalar is aten::remainder.Scalar_out.
var RemainderScalar = Def{
	Schema:     "aten::remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::remainder.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Fmod is aten::fmod.Tensor_out.
var Fmod = Def{
	Schema:     "aten::fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::fmod.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// FmodScalar is aten::fmod.Scalar_out.
var FmodScalar = Def{
	Schema:     "aten::fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::fmod.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// Pow is aten::pow.Tensor_Tensor_out.
var Pow = Def{
	Schema:     "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::pow.Tensor_Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// PowTensorScalar is aten::pow.Tensor_Scalar_out.
var PowTensorScalar = Def{
	Schema:     "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::pow.Tensor_Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// PowScalar is aten::pow.Scalar_out.
var PowScalar = Def{
	Schema:     "aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::pow.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseAnd is aten::bitwise_and.Tensor_out.
var BitwiseAnd = Def{
	Schema:     "aten::bitwise_and.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_and.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseAndScalar is aten::bitwise_and.Scalar_out.
var BitwiseAndScalar = Def{
	Schema:     "aten::bitwise_and.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_and.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseOr is aten::bitwise_or.Tensor_out.
var BitwiseOr = Def{
	Schema:     "aten::bitwise_or.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_or.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseOrScalar is aten::bitwise_or.Scalar_out.
var BitwiseOrScalar = Def{
	Schema:     "aten::bitwise_or.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_or.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseXor is aten::bitwise_xor.Tensor_out.
var BitwiseXor = Def{
	Schema:     "aten::bitwise_xor.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_xor.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseXorScalar is aten::bitwise_xor.Scalar_out.
var BitwiseXorScalar = Def{
	Schema:     "aten::bitwise_xor.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_xor.Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Core | Pointwise,
}

// BitwiseLeftShift is aten::bitwise_left_shift.Tensor_out.
var BitwiseLeftShift = Def{
	Schema:     "aten::bitwise_left_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_left_shift.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}

// BitwiseLeftShiftScalar is aten::bitwise_left_shift.Tensor_Scalar_out.
var BitwiseLeftShiftScalar = Def{
	Schema:     "aten::bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_left_shift.Tensor_Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}

// BitwiseRightShift is aten::bitwise_right_shift.Tensor_out.
var BitwiseRightShift = Def{
	Schema:     "aten::bitwise_right_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_right_shift.Tensor",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}

// BitwiseRightShiftScalar is aten::bitwise_right_shift.Tensor_Scalar_out.
var BitwiseRightShiftScalar = Def{
	Schema:     "aten::bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
	Functional: "aten::bitwise_right_shift.Tensor_Scalar",
	Infer:      inferBinary,
	Key:        KeyPromote,
	KeyArgs:    0b11,
	Tags:       Pointwise,
}
