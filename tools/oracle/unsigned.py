"""Prints cases of operators with uint16, uint32 and uint64, as PyTorch computes them, one a line:

    python tools/oracle/unsigned.py > lowerer/internal/decomp/testdata/unsigned.jsonl
"""

import json

import torch

BINARY = ["eq.Tensor", "ne.Tensor", "mul.Tensor", "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"]
UNARY = {
    "eq.Scalar": {"other": 3}, "ne.Scalar": {"other": 3}, "mul.Scalar": {"other": 3}, "bitwise_and.Scalar": {"other": 6},
    "sum.dim_IntList": {"dim": [1]}, "prod.dim_int": {"dim": 1}, "cumsum": {"dim": 1}, "cumprod": {"dim": 1},
    "any": {}, "any.dim": {"dim": 1}, "ceil": {}, "floor": {}, "sort": {"dim": 1},
}
TYPES = {"uint16": 60000, "uint32": 4000000000, "uint64": 1 << 40}


def encode(x):
    if isinstance(x, torch.Tensor):
        return {"dtype": str(x.dtype).removeprefix("torch."), "sizes": list(x.shape), "data": x.flatten().tolist()}
    if isinstance(x, list):
        return {"list": [encode(v) for v in x]}
    return {"int": x}


def main():
    for name, large in TYPES.items():
        dtype = getattr(torch, name)
        x = torch.tensor([[1, 0, 3], [large, 2, 3]], dtype=dtype)
        y = torch.tensor([[3, 0, 1], [large, 7, 2]], dtype=dtype)
        calls = [(op, {"self": x, "other": y}) for op in BINARY] + [(op, {"self": x, **more}) for op, more in UNARY.items()]
        calls.append(("where.self", {"condition": torch.tensor([True, False, True]), "self": x, "other": y}))
        for op, args in calls:
            packet, _, overload = op.partition(".")
            outs = getattr(getattr(torch.ops.aten, packet), overload or "default")(**args)
            outs = list(outs) if isinstance(outs, tuple) else [outs]
            if any(n >= 1 << 53 for o in outs for n in o.flatten().tolist()):
                continue  # JSON has no such numbers
            if op == "sort" and dtype == torch.uint64:
                continue  # the order of int64 is another one
            case = {"op": "aten::" + op, "args": {k: encode(v) for k, v in args.items()}, "outs": [encode(o) for o in outs]}
            print(json.dumps(case, separators=(",", ":")))


main()
