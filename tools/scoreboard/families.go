package main

import (
	"regexp"
	"strings"
)

// families are groups of operators by expressions for their names in the set; the first one that matches counts, and what none
// matches is pointwise.
var families = []struct {
	name string
	is   *regexp.Regexp
}{
	{"attention, cells", whole(`.*attention.*|lstm|gru|encoder_layer|multi_head.*`)},
	{"convolution", whole(`conv\d?d?.*|conv_transpose.*|fold|unfold`)},
	{"pooling", whole(`.*pool.*`)},
	{"resampling", whole(`interpolate.*|upsample.*|grid_sampl.*|pixel_.*`)},
	{"padding", whole(`pad.*|constant_pad_nd`)},
	{"loss", whole(`.*loss.*|.*cross_entropy.*|kl_div|cosine_similarity|pairwise_distance|p?dist|cdist`)},
	{"softmax, norms", whole(`(masked_|torch_ops_aten__safe_|log_)?softm.*|.*(batch|group|layer|instance|rms|response)_norm.*|normalize|masked_normalize|renorm`)},
	{"products", whole(`(add|b|badd|addb)?mm.*|addmv|mv|matmul.*|linear|bilinear|einsum|inner|outer|addr|v?dot|tensordot|kron|cross|linalg_(cross|vecdot|vander)`)},
	{"linear algebra", whole(`linalg.*|cholesky.*|lu.*|svd.*|pca.*|geqrf|ormqr|triangular_solve|logdet|matrix_exp`)},
	{"FFT", whole(`fft.*|i?stft`)},
	{"reduction", whole(`(masked_|nan)?(sum|mean|prod|amax|amin|argmax|argmin|var|std|norm|median|logsumexp|quantile)(_.*)?|(max|min)(_reduction.*)?|` +
		`all|any|aminmax|count_nonzero|trace|hash_tensor|trap.*|sum_to_size|mode`)},
	{"scan", whole(`(masked_)?cum.*|logcumsumexp|diff|gradient`)},
	{"sorting, search", whole(`m?sort|argsort|topk|kthvalue|unique|searchsorted|bucketize|histc|histogram.*|bincount|isin`)},
	{"index, scatter", whole(`.*index.*|.*scatter.*|gather|take.*|put|embedding.*|masked_(fill|select|scatter)|getitem|nonzero.*|argwhere|one_hot|where|segment_.*|unravel.*`)},
	{"creation, random", whole(`(new_)?(empty|full|zeros|ones).*|(full|zeros|ones|empty)_like|fill|zero|arange|linspace.*|logspace.*|rand.*|normal.*|uniform|exponential|geometric|` +
		`cauchy|bernoulli|multinomial|signal_.*|tri[lu].*|scalar_tensor|.*dropout.*|meshgrid.*|cartesian_prod|combinations`)},
	{"shape, copy", whole(`[THt]|mH|t_copy|(broadcast|expand|view|reshape|permute|transpose|squeeze|unsqueeze|flatten|unflatten|ravel|atleast|as_strided|alias|narrow|diag|movedim|` +
		`chunk|split|unsafe_(chunk|split)|tensor_split|[hvd]split|unbind|cat|stack|[hvd]stack|column_stack|block_diag|repeat|tile|roll|rot90|flip|slice|select|resize|contiguous|clone|to|item).*`)},
	{"special function", whole(`special.*|polygamma.*|mvlgamma.*|i?gamma.*|lgamma|digamma|erf.*|i0|sinc|zeta`)},
	{"conversion", whole(`bool|byte|char|short|int|long|half|float|double|bfloat16|cast|cdouble|cfloat`)},
}

func whole(expr string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + expr + `)$`) }

// familyOf is the family of an operator of the set.
func familyOf(op string) string {
	for _, prefix := range []string{"edge_", "dyn_", "nn_functional_"} {
		op = strings.TrimPrefix(op, prefix)
	}
	for _, f := range families {
		if f.is.MatchString(op) {
			return f.name
		}
	}
	return "pointwise"
}
