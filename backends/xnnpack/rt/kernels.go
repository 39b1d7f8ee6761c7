package rt

import "github.com/rules-pte/rules_pte/runtime/op"

// kernels are the portable kernels that steps call. Those that only move elements run in the types of their sizes.
var kernels = []*op.Kernel{
	&op.AbsF32, &op.AddF32, &op.BmmF32, &op.CatF16, &op.CatF32, &op.CatI8, &op.CeilF32, &op.ClampF32,
	&op.CloneF16, &op.CloneF32, &op.CloneI8, &op.ConstantPadNdF16, &op.ConstantPadNdF32, &op.ConstantPadNdI8,
	&op.ConvolutionF32, &op.CosF32, &op.DivF32, &op.EluF32, &op.ExpF32, &op.FloorF32, &op.GeluF32, &op.LeakyReluF32,
	&op.LinearF32, &op.LogF32, &op.MaximumF32, &op.MinimumF32, &op.MulF32,
	&op.NegF32, &op.PermuteCopyF16, &op.PermuteCopyF32, &op.PermuteCopyI8, &op.RsqrtF32, &op.SigmoidF32, &op.SinF32,
	&op.SliceCopyF16, &op.SliceCopyF32, &op.SliceCopyI8, &op.SoftmaxF32, &op.SqrtF32, &op.SubF32, &op.TanhF32,
	&op.UpsampleBilinear2dF32, &op.ViewCopyF16, &op.ViewCopyF32, &op.ViewCopyI8,
}
