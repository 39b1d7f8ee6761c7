package functionalize

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func init() {
	for _, name := range []string{"aten::batch_norm", "aten::instance_norm", "aten::native_batch_norm", "aten::_native_batch_norm_legit",
		"aten::_batch_norm_with_update"} {
		handlers[name] = normalized
	}
}

// normalized rewrites the normalizations that update running statistics: the statistics of the input, blended with what
// was there, are written to them. The result is computed by the operator's form without statistics.
func normalized(s *state, n *exir.Node) error {
	x := s.read(n.Args[0].Value)
	train := argOf(n, "training").Int != 0 || argOf(n, "use_input_stats").Int != 0 || n.Op.Base() == "_batch_norm_with_update"
	mean, variance := argOf(n, "running_mean"), argOf(n, "running_var")
	momentum, eps := argOf(n, "momentum"), argOf(n, "eps")
	args := []exir.Arg{value(x), s.arg(argOf(n, "weight")), s.arg(argOf(n, "bias"))}
	switch {
	case n.Op.Base() == "batch_norm" || n.Op.Base() == "instance_norm":
		rest := []exir.Arg{s.arg(mean), s.arg(variance)}
		args = append(append(args, rest...), n.Args[5:]...)
		s.emitFresh(n, n.Op.Name, args)
	case train:
		s.emitFresh(n, "aten::_native_batch_norm_legit.no_stats", append(args, exir.ToArg(true), momentum, eps))
	default:
		args = append(args, s.arg(mean), s.arg(variance), momentum, eps)
		s.emitFresh(n, "aten::_native_batch_norm_legit_no_training", args)
	}
	if len(n.Outs) > 3 && n.Outs[3] != nil { // what a backward pass would keep: nothing
		s.fresh(n.Outs[3])
		s.emitTo(n.Outs[3:], "aten::full", integers([]int64{0}), integer(0), exir.Arg{Kind: exir.ArgDType, Int: int64(tensor.Byte)})
	}
	if !train || mean.Kind != exir.ArgValue || variance.Kind != exir.ArgValue {
		return nil
	}
	return s.blendStatistics(x, mean.Value, variance.Value, momentum, n.Op.Base() == "instance_norm")
}

// emitFresh emits op for the results of n that it has.
func (s *state) emitFresh(n *exir.Node, op string, args []exir.Arg) {
	outs := n.Outs[:min(len(n.Outs), len(exir.MustSchema(op).Returns))]
	for _, v := range outs {
		if v != nil {
			s.fresh(v)
		}
	}
	s.emitTo(outs, op, args...)
}

// blendStatistics writes (1-momentum)·old + momentum·new to both running statistics. The new ones are those of x's channels
// (dimension 1), the variance without bias; for an instance norm they are the mean over the batch of each sample's.
func (s *state) blendStatistics(x, mean, variance *exir.Value, momentum exir.Arg, bySample bool) error {
	if x.Spec.Rank() < 2 {
		return fmt.Errorf("rewrite normalization: its input has %d dimensions, want 2 or more", x.Spec.Rank())
	}
	var dims []int64
	sizes := x.Spec.Sizes[1:2]
	if bySample {
		sizes = x.Spec.Sizes[:2]
	} else {
		dims = []int64{0}
	}
	for d := 2; d < x.Spec.Rank(); d++ {
		dims = append(dims, int64(d))
	}
	keep, none := exir.Arg{Kind: exir.ArgBool}, exir.Arg{}
	spec := tensor.Meta{DType: x.Spec.DType, Sizes: sizes}
	for _, stat := range []struct {
		running, now *exir.Value
	}{
		{mean, s.emit("aten::mean.dim", spec, value(x), integers(dims), keep, none)},
		{variance, s.emit("aten::var.correction", spec, value(x), integers(dims), integer(1), keep)},
	} {
		now := stat.now
		if bySample {
			now = s.emit("aten::mean.dim", tensor.Meta{DType: spec.DType, Sizes: sizes[1:]}, value(now), integers([]int64{0}), keep, none)
		}
		old := s.read(stat.running)
		blend := s.emit("aten::lerp.Scalar", old.Spec, value(old), value(s.cast(now, old.Spec.DType)), momentum)
		if err := s.write(stat.running, blend); err != nil {
			return err
		}
	}
	return nil
}
