package functionalize

import (
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Operators of a torch.autocast region on the CPU by what it converts their floating-point arguments to, float64 aside
// (ATen's autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP and its like for CPU). Those without an entry take what they get.
var (
	// castLower are converted to the region's type.
	castLower = []string{
		"conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "_convolution",
		"bmm", "mm", "linalg_vecdot", "baddbmm", "addmm", "addbmm", "linear", "matmul", "prelu", "scaled_dot_product_attention",
		"_native_multi_head_attention",
	}
	// castFloat are converted to float32.
	castFloat = []string{
		"avg_pool3d", "binary_cross_entropy", "grid_sampler", "prod", "quantile", "nanquantile", "cdist", "trace", "mse_loss",
		"cosine_embedding_loss", "nll_loss", "nll_loss2d", "nll_loss_nd", "hinge_embedding_loss", "poisson_nll_loss",
		"smooth_l1_loss", "cross_entropy_loss", "l1_loss", "huber_loss", "margin_ranking_loss", "soft_margin_loss",
		"triplet_margin_loss", "multi_margin_loss", "ctc_loss", "kl_div", "multilabel_margin_loss",
		"binary_cross_entropy_with_logits", "replication_pad1d", "replication_pad2d", "replication_pad3d",
	}
	// castWidest are converted to the widest type among them.
	castWidest = []string{"stack", "cat", "index_copy"}
)

// autocast converts the arguments of n as the region around it asks.
func (s *state) autocast(n *exir.Node) {
	if s.region == tensor.Undefined {
		return
	}
	to, base := tensor.Undefined, n.Op.Base()
	switch {
	case slices.Contains(castLower, base):
		to = s.region
	case slices.Contains(castFloat, base):
		to = tensor.Float
	case slices.Contains(castWidest, base):
		to = widest(n.Args, s.region)
	default:
		return
	}
	for i, a := range n.Args {
		n.Args[i] = s.converted(a, to)
	}
}

// widest is float32 if there is a tensor of it among args, else t.
func widest(args []exir.Arg, t tensor.ScalarType) tensor.ScalarType {
	for _, a := range args {
		if a.Kind == exir.ArgValue && a.Value.Kind == exir.TensorValue && a.Value.Spec.DType == tensor.Float {
			return tensor.Float
		}
		t = widest(a.List, t)
	}
	return t
}

// converted is a with its floating-point tensors in type t.
func (s *state) converted(a exir.Arg, t tensor.ScalarType) exir.Arg {
	switch {
	case a.Kind == exir.ArgList:
		list := make([]exir.Arg, len(a.List))
		for i := range list {
			list[i] = s.converted(a.List[i], t)
		}
		a.List = list
	case a.Kind == exir.ArgValue && a.Value.Kind == exir.TensorValue && lowered(a.Value.Spec.DType):
		a.Value = s.cast(s.read(a.Value), t)
	}
	return a
}

// lowered are the types that autocast converts.
func lowered(t tensor.ScalarType) bool {
	return t == tensor.Float || t == tensor.Half || t == tensor.BFloat16
}
