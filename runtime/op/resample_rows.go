package op

import "github.com/rules-pte/rules_pte/runtime/tensor"

// The rows of resampling [N, C, ...] to other sizes of the dimensions behind C. The scales, if there are any, count
// instead of the ratio of the sizes.
var (
	UpsampleNearest3d = Def{
		Schema: "aten::upsample_nearest3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, " +
			"float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::upsample_nearest3d", Infer: inferResample, Tags: Extension,
	}
	UpsampleNearestExact1d = Def{
		Schema:     "aten::_upsample_nearest_exact1d.out(Tensor self, SymInt[1] output_size, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_upsample_nearest_exact1d", Infer: inferResample, Tags: Extension,
	}
	UpsampleNearestExact2d = Def{
		Schema: "aten::_upsample_nearest_exact2d.out(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None, " +
			"*, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_upsample_nearest_exact2d", Infer: inferResample, Tags: Extension,
	}
	UpsampleNearestExact3d = Def{
		Schema: "aten::_upsample_nearest_exact3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, " +
			"float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_upsample_nearest_exact3d", Infer: inferResample, Tags: Extension,
	}
	UpsampleTrilinear3d = Def{
		Schema: "aten::upsample_trilinear3d.out(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, " +
			"float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::upsample_trilinear3d", Infer: inferResample, Tags: Extension,
	}
	UpsampleBicubic2d = Def{
		Schema: "aten::upsample_bicubic2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, " +
			"float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::upsample_bicubic2d", Infer: inferResample, Tags: Extension,
	}
	UpsampleBilinear2dAa = Def{
		Schema: "aten::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, " +
			"float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_upsample_bilinear2d_aa", Infer: inferResample,
	}
	UpsampleBicubic2dAa = Def{
		Schema: "aten::_upsample_bicubic2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, " +
			"float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::_upsample_bicubic2d_aa", Infer: inferResample, Tags: Extension,
	}
	GridSampler2d = Def{
		Schema: "aten::grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, " +
			"*, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::grid_sampler_2d", Infer: inferGridSampler, Tags: Core,
	}
	GridSampler3d = Def{
		Schema: "aten::grid_sampler_3d.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, " +
			"*, Tensor(a!) out) -> Tensor(a!)",
		Functional: "aten::grid_sampler_3d", Infer: inferGridSampler, Tags: Extension,
	}
)

// inferResample sets out 0 to argument 0 with the sizes of argument 1 behind dimension 1.
func inferResample(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	sizes := c.Args[1].Ints
	if t.Rank() != len(sizes)+2 {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	for i, n := range sizes {
		if c.Shapes.Less(n, 1) == tensor.Yes || c.Shapes.Less(t.Sizes[2+i], 1) == tensor.Yes {
			return errSizes
		}
		c.Out[0].Sizes[2+i] = n
	}
	return nil
}

// inferGridSampler: input [N, C, in...] at the points of grid [N, out..., dims] is [N, C, out...].
func inferGridSampler(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	grid, err := argTensor(c.Args, 1)
	if err != nil {
		return err
	}
	rank := t.Rank()
	if rank < 4 || rank > 5 || grid.Rank() != rank {
		return errDims
	}
	s := c.Shapes
	if s.Equal(t.Sizes[0], grid.Sizes[0]) == tensor.No || s.Equal(grid.Sizes[rank-1], int64(rank-2)) == tensor.No {
		return errSizes
	}
	if mode := c.Args[2].Int; mode < gridLinear || mode > gridCubic || mode == gridCubic && rank == 5 {
		return errGridMode
	}
	if padding := c.Args[3].Int; padding < padZeros || padding > padReflection {
		return errGridMode
	}
	c.Set(0, t.DType, t.Sizes[:2]...)
	c.Out[0].Sizes = append(c.Out[0].Sizes, grid.Sizes[1:rank-1]...)
	return nil
}
