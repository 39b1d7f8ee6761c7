"""Writes what PyTorch computes for the operators that package decomp has rules and functions for.

    go test ./lowerer/internal/decomp -run TestRules -names NAMES
    python tools/oracle/rules.py NAMES >> lowerer/internal/decomp/testdata/rules.jsonl

The first line writes the operators that have no case yet, such as "aten::xlogy.Tensor", one a line. For each one it tries random arguments that fit the schema until PyTorch takes them; an operator that takes none is named on
stderr. A line of the output has the operator, its arguments by name, and its results.
"""

import json
import random
import sys
import zlib

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401, registers quantized_decomposed
import torch.nn.modules.linear_cross_entropy  # noqa: F401, registers torch_nn

DTYPES = {torch.float32: "float32", torch.int64: "int64", torch.int32: "int32", torch.int8: "int8", torch.uint8: "uint8",
          torch.bool: "bool", torch.float64: "float64"}
RANDOM = ("empty", "resize", "rand", "dropout", "bernoulli", "multinomial", "normal", "uniform", "exponential", "geometric", "cauchy")

# What an argument of this name may be; other arguments take values by their type.
BY_NAME = {
    "p": [2.0, 1.0], "dim": [0, 1, -1], "dim0": [0], "dim1": [1], "axis": [0], "correction": [1], "n": [2], "k": [0, 1], "num_classes": [7],
    "lambd": [0.5], "reduction": [0, 1, 2], "reduce": ["sum", "amax", "mean", "prod"], "rounding_mode": ["floor", "trunc"],
    "ord": [2.0], "ignore_index": [-100], "label_smoothing": [0.0, 0.1], "eps": [1e-5], "cudnn_enable": [False],
    "upscale_factor": [2], "downscale_factor": [2], "groups": [1, 2], "decimals": [1], "interpolation": ["linear", "nearest"],
    "q": [0.3], "equation": ["ij,jk->ik"], "mode": ["constant", "reflect"], "indexing": ["ij", "xy"], "quant_min": [-128],
    "quant_max": [127], "steps": [5], "base": [2.0], "end": [7, 3.5], "start": [1, 0.5], "step": [1, 2], "diagonal": [0, 1, -1],
    "offset": [0, 1], "margin": [0.5, 1.0], "train": [False], "training": [False], "is_causal": [False, True], "dropout_p": [0.0],
    "pin_memory": [None], "layout": [None], "device": [None], "generator": [None], "memory_format": [None], "names": [None],
    "dtype": [None, torch.float32, torch.int8], "implicit": [False], "half_to_float": [False], "out_dtype": [None],
    "axis_size": [2], "input_dtype": [torch.float32], "sorter": [None], "max_norm": [1.0], "output_size": [[2], [2, 2], [2, 2, 2]], "normalized_shape": [[4], [3]],
    "num_layers": [1], "has_biases": [True], "bidirectional": [False], "batch_first": [False], "low": [0], "high": [9],
    "norm_type": [2.0], "stride": [[1], [2], [1, 1], [2, 1], [1, 1, 1], 1], "dilation": [[1], [1, 1], [1, 1, 1], 1],
    "padding": [[0], [1], [1, 0], [1, 1], [0, 0], [1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1, 1, 1], "same", "valid"],
    "output_padding": [[0], [0, 0], [0, 0, 0]], "kernel_size": [[2], [2, 2], [2, 2, 2]], "pad": [[1, 1], [1, 0, 1, 1]],
    "dims": [[0, 1], [0], [1, 0]], "shifts": [[1], [1, 2]], "repeats": [2, [2, 1]], "split_sizes": [[2, 1], [1, 2]], "edge_order": [1],
    "weight_decay": [0.0], "ceil_mode": [False], "count_include_pad": [True], "window_length": [6], "size": [[3, 4], [12], [2, 2]],
    "scale_factors": [None, [2.0]], "block_size": [[1, 4]], "layouts": [None], "stable": [True], "unbiased": [True], "N": [3],
    "r": [2], "with_replacement": [False], "periodic": [True], "fill_value": [2, -1], "accumulate": [False, True], "swap": [False],
}
SHAPES = [[3, 4], [4, 3], [3, 3], [4], [3], [2, 4, 4], [2, 3, 4], [3, 4, 5], [2, 4, 4, 4], [1, 2, 4, 4, 4], [2, 4, 3, 3], [], [1], [8], [16, 4], [12]]


class Source:
    """Random arguments of one try: tensors share the try's shape and element type unless it says otherwise."""

    def __init__(self, rng, attempt):
        self.rng = rng
        self.gen = torch.Generator().manual_seed(rng.randrange(1 << 30))
        self.same = rng.random() < 0.7
        self.shape = rng.choice(SHAPES[: 4 + attempt % len(SHAPES)])
        self.kind = rng.choice(["f", "f", "f", "unit", "int", "bool", "small"])

    def tensor(self, name):
        rng = self.rng
        shape = self.shape if self.same else rng.choice(SHAPES)
        kind = self.kind if self.same or rng.random() < 0.5 else rng.choice(["f", "unit", "int", "index", "bool", "small"])
        if name in ("index", "indices", "target", "sorter", "repeats") and rng.random() < 0.8:
            kind, shape = "index", rng.choice([shape, [3], [3], [2]])
        if name in ("mask", "condition"):
            kind = "bool"
        if kind == "f":
            return torch.randn(shape, generator=self.gen)
        if kind == "unit":
            return torch.rand(shape, generator=self.gen) * 0.9 + 0.05
        if kind == "bool":
            return torch.rand(shape, generator=self.gen) < 0.5
        if kind == "index":
            return torch.randint(0, 3, shape, generator=self.gen)
        if kind == "small":
            return torch.randint(-3, 4, shape, generator=self.gen).to(torch.int32)
        return torch.randint(-5, 6, shape, generator=self.gen)

    def value(self, arg):
        """A value for an argument of the schema; "default" to leave it out."""
        rng, typ = self.rng, str(arg.type)
        optional = typ.startswith("Optional[")
        typ = typ.removeprefix("Optional[").removesuffix("]") if optional else typ
        if arg.has_default_value() and rng.random() < 0.6 or optional and not arg.has_default_value() and rng.random() < 0.5:
            return "default" if arg.has_default_value() else None
        if arg.name in BY_NAME and typ != "Tensor":
            return rng.choice(BY_NAME[arg.name])
        if typ == "Tensor":
            return self.tensor(arg.name)
        if "Tensor" in typ:
            return [self.tensor(arg.name) for _ in range(rng.choice([1, 2, 2, 3]))]
        if typ in ("number", "Scalar"):
            return rng.choice([2, -1, 0.5, 1.5])
        if typ in ("int", "SymInt"):
            return rng.choice([0, 1, 2, 3])
        if typ == "float":
            return rng.choice([0.5, 1.5, 1.0])
        if typ == "bool":
            return rng.choice([False, True])
        if typ.startswith("List["):
            inner = [1.0, 0.5, 2.0] if "float" in typ else [True, False] if "bool" in typ else [0, 1, 2, 3]
            return [rng.choice(inner) for _ in range(rng.choice([1, 2, 3]))]
        return None


def encode(x):
    if isinstance(x, torch.Tensor):
        flat = x.detach().contiguous().flatten().tolist()
        if x.is_floating_point():
            flat = [float(f"{v:.9g}") if v == v and abs(v) != float("inf") else str(v) for v in flat]
        return {"dtype": DTYPES[x.dtype], "sizes": list(x.shape), "data": flat}
    if isinstance(x, torch.dtype):
        return {"type": DTYPES[x]}
    if isinstance(x, bool):
        return {"bool": x}
    if isinstance(x, int):
        return {"int": x}
    if isinstance(x, float):
        return {"float": x}
    if isinstance(x, str):
        return {"str": x}
    if isinstance(x, (list, tuple)):
        return {"list": [encode(v) for v in x]}
    return {}


def overload(name):
    space, rest = name.split("::")
    base, _, over = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), base), over or "default")


def randn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def recurrent(gates):
    """Arguments of a layer with 3 inputs and 2 hidden units, over 4 steps and a batch of 2."""
    hx = randn(1, 2, 2)
    return {"input": randn(4, 2, 3), "hx": [hx, hx * 0.5] if gates == "lstm" else hx, "params": [randn(w, 3), randn(w, 2), randn(w), randn(w)]
            if (w := {"lstm": 8, "gru": 6}.get(gates, 2)) else None, "has_biases": True, "num_layers": 1, "dropout": 0.0, "train": False,
            "bidirectional": False, "batch_first": False}


def cell(gates):
    w = {"lstm": 8, "gru": 6}[gates]
    hx = randn(2, 2)
    return {"input": randn(2, 3), "hx": [hx, hx * 0.5] if gates == "lstm" else hx, "w_ih": randn(w, 3), "w_hh": randn(w, 2),
            "b_ih": randn(w), "b_hh": randn(w)}


# Arguments of operators that random ones hardly fit, or that are not defined for all that PyTorch takes.
GIVEN = {
    "aten::addbmm": {"self": randn(2, 4), "batch1": randn(2, 2, 3), "batch2": randn(2, 3, 4), "beta": 0.5, "alpha": 2},
    "aten::addmv": {"self": randn(2), "mat": randn(2, 3), "vec": randn(3), "beta": 0.5, "alpha": 2},
    "aten::batch_norm": {"input": randn(2, 3, 4), "weight": randn(3), "bias": randn(3), "running_mean": randn(3),
                         "running_var": randn(3).abs() + 1, "training": False, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False},
    "aten::conv3d": {"input": randn(1, 2, 3, 3, 3), "weight": randn(2, 2, 2, 2, 1), "bias": randn(2)},
    "aten::conv3d.padding": {"input": randn(1, 1, 2, 3, 3), "weight": randn(2, 1, 1, 3, 3), "padding": "same"},
    "aten::conv_transpose1d": {"input": randn(1, 2, 4), "weight": randn(2, 3, 2), "bias": randn(3), "stride": [2]},
    "aten::conv_transpose2d.input": {"input": randn(1, 2, 3, 3), "weight": randn(2, 1, 2, 2), "stride": [2, 1], "padding": [1, 0]},
    "aten::conv_transpose3d.input": {"input": randn(1, 1, 2, 2, 2), "weight": randn(1, 1, 2, 2, 2)},
    "aten::count_nonzero.dim_IntList": {"self": torch.tensor([[0, 1, 2], [3, 0, 0]]), "dim": [1]},
    "aten::divide.Tensor_mode": {"self": randn(3, 4), "other": randn(4), "rounding_mode": "floor"},
    "aten::gradient.array": {"self": randn(3, 4), "dim": [0, 1]},
    "aten::gradient.scalararray": {"self": randn(3, 4), "spacing": 0.5, "dim": [0, 1]},
    "aten::gradient.scalarrayarray": {"self": randn(3, 4), "spacing": [0.5, 2.0], "dim": [0, 1]},
    "aten::gradient.tensorarray": {"self": randn(3, 4), "spacing": [torch.tensor([0.0, 1.0, 3.0])], "dim": [0]},
    "torch_nn::_linear_cross_entropy_batch_chunked": {
        "input": randn(5, 3), "linear_weight": randn(4, 3), "target": torch.tensor([0, 3, 1, 1, 2]), "linear_bias": randn(4),
        "weight": torch.tensor([0.5, 1.0, 2.0, 1.5]), "reduction": "mean", "ignore_index": 3, "label_smoothing": 0.0,
        "batch_chunk_size": 2, "acc_policy": "accurate", "acc_dtype": torch.float32, "allow_retain_graph": True,
        "compute_input_grad": False, "compute_linear_weight_grad": False, "compute_linear_bias_grad": False},
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction": {
        "input": randn(5, 3), "linear_weight": randn(4, 3), "target": torch.tensor([0, 3, 1, 1, 2]), "linear_bias": None,
        "weight": None, "ignore_index": -100, "batch_chunk_size": 2, "acc_policy": "accurate", "acc_dtype": torch.float32},
    "aten::gru.input": recurrent("gru"), "aten::lstm.input": recurrent("lstm"),
    "aten::rnn_relu.input": recurrent("relu"), "aten::rnn_tanh.input": recurrent("tanh"),
    "aten::gru_cell": cell("gru"), "aten::lstm_cell": cell("lstm"),
    "aten::grid_sampler": {"input": randn(1, 2, 3, 3), "grid": randn(1, 2, 2, 2).clamp(-1, 1), "interpolation_mode": 0,
                           "padding_mode": 0, "align_corners": False},
    "aten::_int_mm": {"self": torch.arange(68, dtype=torch.int8).reshape(17, 4) - 20, "mat2": torch.arange(12, dtype=torch.int8).reshape(4, 3) - 5},
    "aten::_weight_norm": {"v": randn(3, 2, 2), "g": randn(1, 2, 1), "dim": 1},
    "aten::affine_grid_generator": {"theta": randn(2, 2, 3), "size": [2, 1, 3, 4], "align_corners": False},
    "aten::conv_tbc": {"self": randn(5, 2, 3), "weight": randn(3, 3, 2), "bias": randn(2), "pad": 1},
    "aten::fake_quantize_per_channel_affine": {"self": randn(3, 4), "scale": torch.tensor([0.01, 0.1, 0.3]), "axis": 0,
                                               "zero_point": torch.tensor([3, 0, -100], dtype=torch.int32), "quant_min": -128, "quant_max": 127},
    "aten::linalg_matrix_norm": {"self": randn(2, 3, 4), "ord": -1},
    "aten::linalg_norm": {"self": randn(3, 4), "ord": 1},
    "aten::linalg_norm.ord_str": {"self": randn(3, 4), "ord": "fro"},
    "aten::im2col": {"self": randn(1, 2, 3, 3), "kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]},
    "aten::logspace.Tensor_Tensor": {"start": torch.tensor(0.5), "end": torch.tensor(2.0), "steps": 4, "base": 2.0},
    "aten::max_pool2d_with_indices_backward": {"grad_output": randn(1, 1, 2, 2), "self": randn(1, 1, 4, 4), "kernel_size": [2, 2],
                                               "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "ceil_mode": False,
                                               "indices": torch.tensor([[[[0, 3], [8, 15]]]])},
    "aten::nll_loss2d": {"self": randn(1, 3, 2, 2), "target": torch.tensor([[[0, 2], [1, 1]]]), "weight": randn(3).abs()},
    "aten::nll_loss2d_forward": {"self": randn(1, 3, 2, 2), "target": torch.tensor([[[0, 2], [1, 1]]]), "weight": None, "reduction": 1,
                                 "ignore_index": -100},
    "aten::nll_loss_forward": {"self": randn(3, 4), "target": torch.tensor([0, 3, 1]), "weight": randn(4).abs(), "reduction": 1,
                               "ignore_index": 3},
    "aten::feature_alpha_dropout": {"input": randn(3, 4), "p": 0.5, "train": False},
    "aten::random.from": {"self": randn(3, 4), "from": 2, "to": 5},
    "aten::instance_norm": {"input": randn(2, 3, 4), "weight": randn(3), "bias": randn(3), "running_mean": None, "running_var": None,
                            "use_input_stats": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False},
    "aten::_embedding_bag": {"weight": randn(5, 3), "indices": torch.tensor([0, 4, 1, 1]), "offsets": torch.tensor([0, 2]), "mode": 1},
    "aten::_embedding_bag_forward_only": {"weight": randn(5, 3), "indices": torch.tensor([0, 4, 1, 1]), "offsets": torch.tensor([0, 2])},
    "aten::embedding_bag": {"weight": randn(5, 3), "indices": torch.tensor([0, 4, 1, 1]), "offsets": torch.tensor([0, 2]), "mode": 1},
    "aten::embedding_bag.padding_idx": {"weight": randn(5, 3), "indices": torch.tensor([0, 4, 1, 1]), "offsets": torch.tensor([0, 2]),
                                        "scale_grad_by_freq": False, "mode": 0, "sparse": False, "per_sample_weights": None,
                                        "include_last_offset": False, "padding_idx": 1},
    "aten::upsample_bilinear2d": {"self": randn(1, 1, 3, 3), "output_size": [4, 5], "align_corners": False},
    "aten::upsample_linear1d": {"self": randn(1, 2, 3), "output_size": [5], "align_corners": True},
    "aten::upsample_nearest1d": {"self": randn(1, 2, 3), "output_size": [5]},
    "aten::upsample_nearest2d": {"self": randn(1, 1, 3, 3), "output_size": [4, 5]},
    "aten::histc": {"self": randn(12), "bins": 4},
    "aten::segment_reduce": {"data": randn(4, 2), "reduce": "sum", "lengths": torch.tensor([1, 3]), "axis": 0, "unsafe": True},
    "aten::upsample_linear1d.vec": {"input": randn(1, 2, 3), "output_size": [5], "align_corners": False, "scale_factors": None},
    "aten::_upsample_nearest_exact1d.vec": {"input": randn(1, 2, 3), "output_size": [5], "scale_factors": None},
    "aten::upsample_bilinear2d.vec": {"input": randn(1, 1, 3, 3), "output_size": [4, 5], "align_corners": False, "scale_factors": None},
    "aten::upsample_bicubic2d.vec": {"input": randn(1, 1, 3, 3), "output_size": [4, 5], "align_corners": False, "scale_factors": None},
    "aten::_upsample_bilinear2d_aa.vec": {"input": randn(1, 1, 3, 3), "output_size": [4, 5], "align_corners": False, "scale_factors": None},
    "aten::_upsample_bicubic2d_aa.vec": {"input": randn(1, 1, 3, 3), "output_size": [4, 5], "align_corners": False, "scale_factors": None},
    "aten::_upsample_nearest_exact2d.vec": {"input": randn(1, 1, 3, 3), "output_size": [4, 5], "scale_factors": None},
    "aten::upsample_trilinear3d.vec": {"input": randn(1, 1, 2, 2, 3), "output_size": [3, 2, 4], "align_corners": False, "scale_factors": None},
    "aten::_upsample_nearest_exact3d.vec": {"input": randn(1, 1, 2, 2, 3), "output_size": [3, 2, 4], "scale_factors": None},
    "aten::upsample_nearest3d.vec": {"input": randn(1, 1, 2, 2, 3), "output_size": [3, 2, 4], "scale_factors": None},
    "aten::histogram.bins_tensor": {"self": randn(12), "bins": torch.tensor([-2.0, -0.5, 0.0, 1.0, 3.0])},
    "aten::histogramdd.TensorList_bins": {"self": randn(6, 2), "bins": [torch.tensor([-2.0, 0.0, 3.0]), torch.tensor([-3.0, 1.0, 4.0])]},
    "aten::mvlgamma": {"self": randn(3, 4).abs() + 2, "p": 2},
    "aten::special_multigammaln": {"self": randn(3, 4).abs() + 2, "p": 2},
    "aten::pixel_shuffle": {"self": randn(1, 4, 2, 3), "upscale_factor": 2},
    "aten::reflection_pad3d": {"self": randn(1, 2, 2, 3), "padding": [1, 0, 1, 0, 0, 1]},
    "aten::replication_pad3d": {"self": randn(1, 2, 2, 3), "padding": [1, 0, 2, 0, 0, 1]},
    "aten::scatter.reduce": {"self": randn(3, 4), "dim": 1, "index": torch.tensor([[0, 1], [3, 2]]), "src": randn(3, 4), "reduce": "add"},
    "aten::scatter.value_reduce": {"self": randn(3, 4), "dim": 1, "index": torch.tensor([[0, 1], [3, 2]]), "value": 2.0, "reduce": "multiply"},
    "aten::tile": {"self": randn(2, 3), "dims": [2, 1, 2]},
    "aten::adaptive_avg_pool3d": {"self": randn(1, 2, 2, 4), "output_size": [1, 2, 2]},
    "aten::adaptive_max_pool2d": {"self": randn(1, 4, 6), "output_size": [2, 3]},
    "quantized_decomposed::dequantize_per_channel": {"input": torch.tensor([[-3, 5], [7, 100]], dtype=torch.int8), "axis": 0, "quant_min": -128,
                                                     "scales": torch.tensor([0.5, 0.25]), "zero_points": torch.tensor([1, -2]),
                                                     "quant_max": 127, "dtype": torch.int8},
    "quantized_decomposed::dequantize_per_tensor": {"input": torch.tensor([[-3, 5]], dtype=torch.int8), "scale": 0.5, "zero_point": 3,
                                                    "quant_min": -128, "quant_max": 127, "dtype": torch.int8},
    "quantized_decomposed::dequantize_per_tensor.tensor": {"input": torch.tensor([[-3, 5]], dtype=torch.int8), "quant_min": -128,
                                                           "scale": torch.tensor(0.5), "zero_point": torch.tensor(3), "quant_max": 127,
                                                           "dtype": torch.int8},
    "quantized_decomposed::dequantize_per_channel_group": {"input": torch.tensor([[-3, 5, 7, 1], [0, -8, 2, 4]], dtype=torch.int8),
                                                           "scales": torch.tensor([[0.5, 0.25], [1.5, 0.1]]), "quant_min": -8,
                                                           "zero_points": torch.tensor([[1, 0], [-2, 3]]), "quant_max": 7,
                                                           "dtype": torch.int8, "group_size": 2, "output_dtype": torch.float32},
}

# Operators whose results cannot be compared: the size depends on values, or eager mode gives another one than export.
SKIPPED = ("aten::repeat_interleave.self_Tensor", "aten::log_sigmoid_forward")


def attempt(name, op, rng, n):
    given = dict(GIVEN.get(name, {}))
    if not given:
        source = Source(rng, n)
        for arg in op._schema.arguments:
            v = source.value(arg)
            if not isinstance(v, str) or v != "default":
                given[arg.name] = v
    text = {k: encode(v) for k, v in given.items()}
    out = op(**{k: (v.clone() if isinstance(v, torch.Tensor) else v) for k, v in given.items()})
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    flat = [o for x in outs for o in (x if isinstance(x, (list, tuple)) else [x])]
    if not all(isinstance(o, torch.Tensor) for o in flat):
        raise ValueError("a result is no tensor")
    total = sum(o.numel() for o in flat if isinstance(o, torch.Tensor)) + sum(not isinstance(o, torch.Tensor) for o in flat)
    if not 0 < total <= 64 or any(isinstance(v, torch.Tensor) and v.numel() > 96 for v in given.values()):
        raise ValueError("nothing, or too much")
    finite = [o for o in flat if isinstance(o, torch.Tensor) and o.is_floating_point() and o.numel() and bool(o.isnan().all())]
    if finite:
        raise ValueError("only NaN")
    return {"op": None, "args": text, "outs": [encode(o) for o in flat]}


def main():
    missing = []
    for name in open(sys.argv[1]).read().split():
        rng = random.Random(zlib.crc32(name.encode()))
        try:
            op = overload(name)
        except AttributeError:
            missing.append(name)
            continue
        lines = []
        for n in range(0 if name in SKIPPED else 1500):
            try:
                case = attempt(name, op, rng, n)
            except Exception:  # noqa: BLE001, most random arguments are refused
                continue
            case["op"] = name
            if any(r in name for r in RANDOM):
                case["random"] = True
            lines.append(json.dumps(case, separators=(",", ":")))
            if lines:
                break
        if not lines:
            missing.append(name)
        print("\n".join(lines) if lines else "", end="\n" if lines else "")
    print("no case for", *missing, file=sys.stderr)


main()
