"""Makes models of one operator each, for bench/kernels.

    python modules.py OUT

OUT becomes a set of models as the zoo has them, and OUT/rows.json what a call of each has to do: floating-point or integer
operations, and the bytes of inputs, results and weights as they are stored.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

ROWS = []


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def row(area, name, module, *inputs, **how):
    """A model: how has quantize, a function; bits of a weight; ops where torch does not count them; and a tolerance."""
    module = module if isinstance(module, nn.Module) else Call(module)
    ROWS.append({"area": area, "name": name, "module": module.eval(), "inputs": inputs, **how})


def image(*sizes):
    return torch.randn(1, *sizes).to(memory_format=torch.channels_last)


def static(module, inputs, dynamic=False):
    """int8 by PT2E with the quantizer for XNNPACK."""
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as q
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = q.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    quantizer = q.XNNPACKQuantizer()
    if dynamic:
        quantizer.set_operator_type(torch.ops.aten.linear.default, config)
    else:
        quantizer.set_global(config)
    graph = prepare_pt2e(torch.export.export(module, inputs, strict=False).module(), quantizer)
    graph(*inputs)
    return convert_pt2e(graph)


def dynamic(module, inputs):
    return static(module, inputs, dynamic=True)


def groups(module, inputs):
    """Weights of 4 bits in groups of 32, int8 activations."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
    from torchao.utils import unwrap_tensor_subclass

    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    module = nn.Sequential(module)
    quantize_(module, config)
    return unwrap_tensor_subclass(module)


def products():
    for m, k, n in (512, 512, 512), (128, 768, 768), (128, 768, 3072), (197, 192, 768), (49, 320, 1280), (784, 64, 256):
        row("product", f"gemm {m}x{k}x{n}", nn.Linear(k, n), torch.randn(m, k))
    for k, n in (1024, 1024), (768, 3072), (2048, 4096):
        row("product of a row", f"gemv {k}x{n}", nn.Linear(k, n), torch.randn(1, k))
    row("product", "bmm 12x128x64x128", torch.bmm, torch.randn(12, 128, 64), torch.randn(12, 64, 128))
    row("product", "bmm 12x128x128x64", torch.bmm, torch.randn(12, 128, 128), torch.randn(12, 128, 64))
    for name, m, how in ("static 128", 128, static), ("dynamic 128", 128, dynamic), ("dynamic 1", 1, dynamic):
        row("int8", f"int8 linear {name}x768x768", nn.Linear(768, 768), torch.randn(m, 768), quantize=how, bits=8)
    for m in 1, 128:
        row("int4", f"int4 linear {m}x1024x1024", nn.Linear(1024, 1024, bias=False), torch.randn(m, 1024), quantize=groups, bits=4)


def convolutions():
    for size, c, o in (56, 96, 24), (28, 192, 32), (112, 32, 16), (7, 320, 1280):
        row("convolution", f"conv 1x1 {size}x{size}x{c}x{o}", nn.Conv2d(c, o, 1), image(c, size, size))
    for size, c, o, kernel, stride in (56, 64, 64, 3, 1), (14, 256, 256, 3, 1), (224, 3, 32, 3, 2), (224, 3, 64, 7, 2):
        name = f"conv {kernel}x{kernel} {size}x{size}x{c}x{o} stride {stride}"
        row("convolution", name, nn.Conv2d(c, o, kernel, stride, kernel // 2), image(c, size, size))
    row("convolution", "conv 3x3 28x28x128 in 32 groups", nn.Conv2d(128, 128, 3, 1, 1, groups=32), image(128, 28, 28))
    row("convolution", "conv 3x3 28x28x128 dilation 2", nn.Conv2d(128, 128, 3, 1, 2, dilation=2), image(128, 28, 28))
    for c, taps, size, dilation, groups in (384, 3, 1500, 1, 1), (64, 7, 200, 1, 1), (32, 11, 4000, 5, 1), (768, 128, 50, 1, 16):
        name = f"conv {taps} taps {size}x{c}" + f" dilation {dilation}" * (dilation > 1) + f" in {groups} groups" * (groups > 1)
        net = nn.Conv1d(c, c, taps, padding=taps // 2 * dilation, dilation=dilation, groups=groups)
        row("convolution", name, net, torch.randn(1, c, size))
    row("convolution", "transposed 4x4 28x28x64 stride 2", nn.ConvTranspose2d(64, 64, 4, 2, 1), image(64, 28, 28))
    for size, c, kernel, stride in (112, 32, 3, 1), (56, 144, 3, 1), (112, 96, 3, 2), (28, 120, 5, 1), (56, 72, 5, 2):
        name = f"depthwise {kernel}x{kernel} {size}x{size}x{c} stride {stride}"
        row("depthwise", name, nn.Conv2d(c, c, kernel, stride, kernel // 2, groups=c), image(c, size, size))
    for name, net, x in (
        ("conv 1x1 56x56x96x24", nn.Conv2d(96, 24, 1), image(96, 56, 56)),
        ("conv 3x3 56x56x64x64", nn.Conv2d(64, 64, 3, 1, 1), image(64, 56, 56)),
        ("depthwise 3x3 56x56x144", nn.Conv2d(144, 144, 3, 1, 1, groups=144), image(144, 56, 56)),
    ):
        row("int8", "int8 " + name, net, x, quantize=static, bits=8)


def attention():
    sdpa = F.scaled_dot_product_attention
    heads = lambda n: [torch.randn(1, 12, n, 64) for _ in range(3)]
    row("attention", "sdpa 12x128x64", sdpa, *heads(128), ops=4 * 12 * 128 * 128 * 64)
    row("attention", "sdpa 12x384x64", sdpa, *heads(384), ops=4 * 12 * 384 * 384 * 64)
    causal = lambda q, k, v: sdpa(q, k, v, is_causal=True)
    row("attention", "sdpa causal 12x256x64", causal, *heads(256), ops=4 * 12 * 256 * 256 * 64)
    row("recurrent", "lstm 16x128x128", nn.LSTM(128, 128, batch_first=True), torch.randn(1, 16, 128), ops=16 * 2 * 4 * 128 * 256)


def rows_of_numbers():
    for sizes in (1024, 1024), (1536, 128):
        name = "x".join(map(str, sizes))
        row("normalization", "softmax " + name, lambda x: torch.softmax(x, -1), torch.randn(sizes))
        row("normalization", "layer_norm " + name, nn.LayerNorm(sizes[1]), torch.randn(sizes))
    row("normalization", "log_softmax 128x1000", lambda x: torch.log_softmax(x, -1), torch.randn(128, 1000))
    for name, f in (
        ("gelu", F.gelu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("exp", torch.exp), ("hardswish", F.hardswish),
    ):
        row("function", f"{name} 262144", f, torch.randn(1, 262144))
    # the official delegate gives the other gelu
    row("function", "gelu tanh 262144", lambda x: F.gelu(x, approximate="tanh"), torch.randn(1, 262144), tolerance=1e-4)
    for n in 16384, 1 << 20:
        row("arithmetic", f"add {n}", torch.add, torch.randn(1, n), torch.randn(1, n))
    row("arithmetic", "mul 64x56x56 by channel", torch.mul, torch.randn(1, 64, 56, 56), torch.randn(1, 64, 1, 1))
    row("arithmetic", "add 197x768 and 768", torch.add, torch.randn(197, 768), torch.randn(768))
    row("reduction", "argmax 128x1000", lambda x: torch.argmax(x, -1), torch.randn(128, 1000))
    row("reduction", "mean 197x768", lambda x: torch.mean(x, -1, keepdim=True), torch.randn(197, 768))
    row("reduction", "cumsum 128x1000", lambda x: torch.cumsum(x, -1), torch.randn(128, 1000))


def places():
    row("window", "max_pool 3x3 112x112x64 stride 2", nn.MaxPool2d(3, 2, 1), image(64, 112, 112))
    row("window", "avg_pool 2x2 56x56x64 stride 2", nn.AvgPool2d(2, 2), image(64, 56, 56))
    row("window", "mean 7x7x1280", lambda x: torch.mean(x, (2, 3), keepdim=True), image(1280, 7, 7))
    row("window", "bilinear 56x56x32 to 112x112", lambda x: F.interpolate(x, (112, 112), mode="bilinear"), image(32, 56, 56))
    row("place", "transpose 1024x1024", lambda x: x.t().contiguous(), torch.randn(1024, 1024))
    row("place", "heads 197x12x64", lambda x: x.permute(0, 2, 1, 3).contiguous(), torch.randn(1, 197, 12, 64))
    row("place", "channels last 64x56x56", lambda x: x.permute(0, 2, 3, 1).contiguous(), torch.randn(1, 64, 56, 56))
    row("place", "embedding 30000x384, 128 rows", nn.Embedding(30000, 384), torch.randint(30000, (1, 128)))


def bytes_of(r, outputs):
    """The bytes that a call reads and writes; of a table only the rows that it takes."""
    n = sum(t.nbytes for t in (*r["inputs"], *outputs))
    if isinstance(r["module"], nn.Embedding):
        return n + outputs[0].nbytes
    return n + sum(p.numel() * (r.get("bits", 32) if p.ndim > 1 else 32) // 8 for p in r["module"].parameters())


def operations(r):
    with FlopCounterMode(display=False) as counter:
        r["module"](*r["inputs"])
    return r.get("ops", counter.get_total_flops())


def save(folder, name, x):
    """Writes a tensor and gives the entry of a case file."""
    np.save(folder / f"{name}.npy", x.contiguous().numpy())
    entry = {"npy": f"{name}.npy"}
    if x.ndim == 4 and not x.is_contiguous():
        entry["dim_order"] = [0, 2, 3, 1]
    return entry


def write(r, out):
    folder = out / "".join(c if c.isalnum() else "_" for c in r["name"])
    folder.mkdir(parents=True)
    r["ops"], module = operations(r), r["module"]
    if "quantize" in r:
        module = r["quantize"](module, r["inputs"])
    torch.export.save(torch.export.export(module, r["inputs"], strict=False), folder / "model.pt2")
    result = module(*r["inputs"])
    outputs = torch.utils._pytree.tree_leaves(result)
    entries = []
    for i, y in enumerate(outputs):
        scale = y.abs().max().item() if y.is_floating_point() else 0
        entries.append({**save(folder, f"out_{i}", y), "atol": scale * r.get("tolerance", 1e-2 if "quantize" in r else 1e-6)})
    inputs = [save(folder, f"in_{i}", x) for i, x in enumerate(r["inputs"])]
    calls = [{"method": "forward", "inputs": inputs, "outputs": entries}]
    case = {"rtol": 1e-5, "methods": {"forward": {"file": "model.pt2"}}, "cases": [{"calls": calls}]}
    (folder / "case.json").write_text(json.dumps(case, indent=1))
    return {"name": r["name"], "folder": folder.name, "area": r["area"], "ops": math.ceil(r["ops"]), "bytes": bytes_of(r, outputs),
            "integers": "quantize" in r}


def main(out):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    out = Path(out)
    for part in products, convolutions, attention, rows_of_numbers, places:
        part()
    with torch.no_grad():
        rows = [write(r, out) for r in ROWS]
    (out / "rows.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
