"""Makes the values that the tests of pooling, resampling, sampling and normalization in runtime/op expect.

    python tools/oracle/spatial.py runtime/op/testdata/spatial.json

A case is {"op", "args", "outs"}. A tensor argument is {"sizes", "scale", "offset", "order"}: element i, in row-major order, is
((37 i) mod 101) * scale + offset, in float32; order is its dimension order in memory.
"""

import json
import sys

import torch


def t(*sizes, scale=1 / 16, offset=-3.0, order=None):
    return {"sizes": list(sizes), "scale": scale, "offset": offset, "order": order}


def grid(*sizes):
    return t(*sizes, scale=1 / 40, offset=-1.25)


LAST, LAST3 = [0, 2, 3, 1], [0, 2, 3, 4, 1]
CASES = [
    *(("grid_sampler_2d", t(2, 3, 4, 5), grid(2, 3, 2, 2), mode, pad, align) for mode in (0, 1, 2) for pad in (0, 1, 2) for align in (False, True)),
    *(("grid_sampler_3d", t(1, 2, 3, 4, 5), grid(1, 2, 3, 2, 3), mode, pad, align) for mode in (0, 1) for pad in (0, 1, 2) for align in (False, True)),
    ("grid_sampler_2d", t(1, 3, 4, 5, order=LAST), grid(1, 3, 2, 2), 0, 0, False),
    ("upsample_bicubic2d", t(1, 2, 3, 4), [5, 3], False, None, None),
    ("upsample_bicubic2d", t(1, 2, 3, 4), [5, 7], True, None, None),
    ("upsample_bicubic2d", t(1, 2, 3, 4, order=LAST), [7, 10], False, 2.5, 2.5),
    ("_upsample_bilinear2d_aa", t(1, 2, 6, 7), [3, 4], False, None, None),
    ("_upsample_bilinear2d_aa", t(1, 2, 3, 4), [5, 2], True, None, None),
    ("_upsample_bilinear2d_aa", t(1, 1, 9, 9), [3, 4], False, 0.4, 0.45),
    ("_upsample_bicubic2d_aa", t(1, 2, 6, 7), [3, 4], False, None, None),
    ("_upsample_bicubic2d_aa", t(1, 1, 3, 4), [5, 9], False, None, None),
    ("upsample_trilinear3d", t(1, 2, 2, 3, 4), [3, 5, 2], False, None, None, None),
    ("upsample_trilinear3d", t(1, 1, 2, 3, 4), [3, 2, 5], True, None, None, None),
    ("upsample_trilinear3d", t(1, 2, 2, 3, 2, order=LAST3), [5, 7, 5], False, 2.5, 2.5, 2.5),
    ("upsample_nearest3d", t(1, 2, 2, 3, 4), [3, 5, 2], None, None, None),
    ("upsample_nearest3d", t(1, 1, 2, 3, 2), [5, 7, 5], 2.5, 2.5, 2.5),
    ("_upsample_nearest_exact1d", t(1, 2, 5), [8], None),
    ("_upsample_nearest_exact1d", t(1, 2, 5), [3], None),
    ("_upsample_nearest_exact2d", t(1, 2, 3, 4), [5, 3], None, None),
    ("_upsample_nearest_exact3d", t(1, 1, 2, 3, 4), [3, 5, 2], None, None, None),
    ("avg_pool3d", t(1, 2, 4, 5, 6), [2, 3, 2], [2, 2, 1], [1, 1, 0], False, True, None),
    ("avg_pool3d", t(1, 2, 4, 5, 6), [2, 3, 2], [3, 2, 2], [1, 1, 1], True, False, None),
    ("avg_pool3d", t(2, 4, 5, 6), [2, 2, 2], [2, 2, 2], [0, 0, 0], True, True, 3),
    ("avg_pool2d", t(1, 2, 5, 6), [3, 2], [2, 1], [1, 0], True, True, None),
    ("avg_pool2d", t(1, 2, 5, 6), [3, 2], [2, 2], [1, 1], True, False, 5),
    ("max_pool3d_with_indices", t(1, 2, 5, 5, 6), [2, 3, 2], [2, 2, 1], [1, 1, 1], [1, 1, 1], False),
    ("max_pool3d_with_indices", t(1, 2, 5, 5, 6), [2, 2, 2], [1, 2, 3], [0, 1, 1], [2, 2, 3], True),
    ("max_pool3d_with_indices", t(2, 4, 5, 6), [2], [2], [0], [1], True),
    ("max_pool2d_with_indices", t(1, 2, 7, 6), [3, 2], [2, 1], [1, 1], [2, 3], True),
    ("_adaptive_avg_pool3d", t(1, 2, 4, 5, 7), [3, 2, 4]),
    ("_adaptive_avg_pool2d", t(1, 2, 5, 7), [3, 4]),
    ("adaptive_max_pool2d", t(1, 2, 5, 7), [3, 4]),
    ("adaptive_max_pool3d", t(1, 2, 4, 5, 7), [3, 2, 4]),
    ("col2im", t(1, 12, 12), [5, 6], [2, 3], [1, 1], [0, 1], [1, 2]),
    ("col2im", t(8, 4), [4, 5], [2, 2], [2, 1], [1, 0], [3, 2]),
    ("native_layer_norm", t(2, 3, 4, 5, order=LAST), [5], t(5, offset=0.5), t(5, scale=0.5), 1e-5),
    ("native_layer_norm", t(2, 3, 4, 5, order=LAST), [3, 4, 5], t(3, 4, 5, order=[1, 2, 0]), None, 1e-5),
    ("native_group_norm", t(2, 6, 3, 2, order=LAST), t(6, offset=0.5), t(6, scale=0.5), 2, 6, 6, 3, 1e-5),
]


def made(a):
    if not isinstance(a, dict):
        return a
    n = torch.Size(a["sizes"]).numel()
    x = ((torch.arange(n) * 37 % 101).double() * a["scale"] + a["offset"]).float().reshape(a["sizes"])
    order = a["order"]
    if order is None:
        return x
    inverse = [order.index(i) for i in range(len(order))]
    return x.permute(order).contiguous().permute(inverse)


def case(name, *args):
    outs = getattr(torch.ops.aten, name).default(*map(made, args))
    outs = outs if isinstance(outs, tuple) else (outs,)
    return {
        "op": "aten::" + name,
        "args": args,
        "outs": [{"sizes": list(o.shape), "values": [float("%.7g" % v) for v in o.reshape(-1).tolist()]} for o in outs],
    }


def main():
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(case(*c), separators=(",", ":")) for c in CASES) + "\n]\n")


main()
