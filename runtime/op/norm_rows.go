package op

// The rows of normalizations.
var (
	NativeLayerNorm = Def{
		Schema: "aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps, " +
			"*, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::native_layer_norm", Infer: inferLayerNorm, Tags: Core,
	}
	NativeGroupNorm = Def{
		Schema: "aten::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps, " +
			"*, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::native_group_norm", Infer: inferGroupNorm, Tags: Core,
	}
	NativeBatchNormLegitNoTraining = Def{
		Schema: "aten::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, " +
			"Tensor running_var, float momentum, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> " +
			"(Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::_native_batch_norm_legit_no_training", Infer: inferBatchNorm, Tags: Core | Ordered | Clamps,
	}
	NativeBatchNormLegitNoStats = Def{
		Schema: "aten::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, " +
			"float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
		Functional: "aten::_native_batch_norm_legit.no_stats", Infer: inferBatchNormNoStats, Tags: Core,
	}
)

// inferLayerNorm: out0 is like the input; out1 and out2 keep the leading sizes, with 1 for every normalized one.
func inferLayerNorm(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	lead := t.Rank() - len(c.Args[1].Ints)
	if lead < 0 {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	c.Out[0].DimOrder = c.Out[0].DimOrder[:0]
	for i := 1; i < 3; i++ {
		c.Set(i, t.DType, t.Sizes[:lead]...)
		for range c.Args[1].Ints {
			c.Out[i].Sizes = append(c.Out[i].Sizes, 1)
		}
	}
	return nil
}

func inferGroupNorm(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if c.Args[6].Int <= 0 || t.Rank() < 2 {
		return errDims
	}
	c.Set(0, t.DType, t.Sizes...)
	c.Set(1, t.DType, c.Args[3].Int, c.Args[6].Int)
	c.Set(2, t.DType, c.Args[3].Int, c.Args[6].Int)
	return nil
}

// inferBatchNorm: out1 and out2 are empty, as nothing is trained.
func inferBatchNorm(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if t.Rank() < 2 {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	c.Set(1, t.DType, 0)
	c.Set(2, t.DType, 0)
	return nil
}

func inferBatchNormNoStats(c *Infer) error {
	t, err := argTensor(c.Args, 0)
	if err != nil {
		return err
	}
	if t.Rank() < 2 {
		return errDims
	}
	setLike(&c.Out[0], &t.Meta, t.DType)
	stat := t.DType
	if w := c.Args[1].Tensor; w != nil {
		stat = w.DType
	}
	c.Set(1, stat, t.Sizes[1])
	c.Set(2, stat, t.Sizes[1])
	return nil
}
