"""Runs dynamic programs at the ends of their ranges, and writes a pack with what PyTorch gives.

    python tools/oracle/sizes.py OUT.zip SOURCE...

A source is a pack of the operator conformance set, of which all programs are taken, or a folder of the model zoo. The
pack OUT.zip has the set's form. A program's runs have each size at its least, its largest, one over that, 0 and 1, the
others at their least; then all of them at once. A run that the exported program refuses has "refused" in the place of
outputs: it must end with an error. Where an empty result is as good as PyTorch's refusal, there is no run.

A size without a bound is tried at 67. A 2 as least size of a range stands for "0 and 1 are not told apart", as in
torch.export, so 0 and 1 are tried there too; where the exported program fails with them, the run is refused.
"""

import io
import json
import logging
import math
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch.testing._comparison import default_tolerances
from torch.utils._pytree import tree_leaves, tree_unflatten

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

UNBOUNDED = 67
# What PyTorch says of inputs that it refuses though an empty result is right as well, and of numbers, not sizes, beyond their range.
UNTESTED = "optional 0 dim batch size", "Non-empty", "sizes should be greater than 0", " >= ", "Guard failed: args_1 <= "
LARGEST = 8_000  # elements of a run's inputs: the pack has to stay small


def programs(source):
    """Of each program of a source: name, model.pt2, and the inputs of its first run."""
    path = Path(source)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as z:
            for c in json.loads(z.read("cases.json")):
                rows = c["runs"][0]["inputs"]
                yield f"{path.stem} {c['id']}", z.read(c["dir"] + "/model.pt2"), [
                    torch.from_numpy(np.load(io.BytesIO(z.read(f"{c['dir']}/{r['file']}")))) for r in rows
                ]
        return
    case = json.loads((path / "case.json").read_text())
    rows = case["cases"][0]["calls"][0]["inputs"]
    yield f"zoo {path.name}", (path / "model.pt2").read_bytes(), [
        torch.from_numpy(np.load(path / r["npy"])) if "npy" in r else next(iter(r.values())) for r in rows
    ]


def placeholders(ep):
    """The shapes of the user inputs, or their values."""
    found = {n.name: n.meta["val"] for n in ep.graph.nodes if n.op == "placeholder"}
    values = [found[name] for name in ep.graph_signature.user_inputs]
    return [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in values]


def symbols(shapes):
    """The symbols of the inputs' sizes, in order."""
    found = []
    for x in tree_leaves(shapes):
        if isinstance(x, torch.SymInt):
            found += [s for s in sorted(x.node.expr.free_symbols, key=str) if s not in found]
    return found


def ranges(ep, names):
    """The least and the largest size of each symbol; the latter is None where there is no bound."""
    out = {}
    for s in names:
        r = ep.range_constraints[s]
        out[s] = int(r.lower), None if r.upper > 10**9 else int(r.upper)
    return out


def trials(bounds):
    """Sizes to try: dicts from symbol to size."""
    least = {s: lo for s, (lo, _) in bounds.items()}
    most = {s: UNBOUNDED if hi is None else hi for s, (_, hi) in bounds.items()}
    yield least
    for s, (_, hi) in bounds.items():
        for n in (most[s], 0, 1, *([] if hi is None else [hi + 1])):
            yield least | {s: n}
    yield from (most, dict.fromkeys(bounds, 0), dict.fromkeys(bounds, 1))


def evaluate(size, at):
    return int(size.node.expr.subs(at)) if isinstance(size, torch.SymInt) else size


def example(shape, like, at, generator):
    """An input like the given one at other sizes. Floats differ from each other, and have few digits: they compress."""
    if not isinstance(like, torch.Tensor):
        return evaluate(shape, at)
    sizes = [evaluate(n, at) for n in shape]
    if like.is_floating_point():
        n = math.prod(sizes)
        return ((torch.randperm(n, generator=generator) - n // 2) * 4 / 2 ** n.bit_length()).reshape(sizes).to(like.dtype)
    return torch.randint(0, int(like.max()) + 1, sizes, generator=generator).to(like.dtype)


def row(z, file, value):
    """Writes a tensor and gives its row; a number has a row alone."""
    if not isinstance(value, torch.Tensor):
        return {"scalar": type(value).__name__, "value": repr(value)}
    data = io.BytesIO()
    np.save(data, value.detach().contiguous().numpy())
    write(z, file, data.getvalue())
    rtol, atol = default_tolerances(value.dtype)
    if value.is_floating_point() and value.numel():
        atol = max(atol, 16 * torch.finfo(value.dtype).eps * float(value.abs().nan_to_num(0, 0, 0).max()))
    return {"file": file.split("/")[1], "dtype": str(value.dtype)[6:], "shape": list(value.shape), "rtol": rtol, "atol": atol}


def write(z, file, data):
    z.writestr(zipfile.ZipInfo(file, (2025, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)


def call(ep, module, inputs):
    """The outputs. A guard "size != 1" is no restriction: it says that strides were not told apart there."""
    args, kwargs = tree_unflatten(inputs, ep.call_spec.in_spec)
    with torch.no_grad():
        try:
            outs = module(*args, **kwargs)
        except AssertionError as err:
            if not str(err).endswith("!= 1"):
                raise
            outs = ep.module(check_guards=False)(*args, **kwargs)
    return [o for o in tree_leaves(outs) if o is not None]


def runs(z, dir, ep, first):
    """Writes the files of all runs of a program and gives their rows."""
    shapes, module, generator = placeholders(ep), ep.module(), torch.Generator().manual_seed(0)
    seen = []
    for at in trials(ranges(ep, symbols(shapes))):
        if at in seen:
            continue
        seen.append(at)
        inputs = [example(s, x, at, generator) for s, x in zip(shapes, first)]
        if sum(x.numel() for x in inputs if isinstance(x, torch.Tensor)) > LARGEST:
            continue
        name = f"r{len(seen) - 1}_"
        rows = {"inputs": [row(z, f"{dir}/{name}in_{i}.npy", x) for i, x in enumerate(inputs)]}
        try:
            outs = call(ep, module, inputs)
        except Exception as err:
            if any(text in str(err) for text in UNTESTED):
                continue
            yield rows | {"outputs": [], "refused": f"{type(err).__name__}: {err}".splitlines()[0][:200]}
            continue
        yield rows | {"outputs": [row(z, f"{dir}/{name}out_{i}.npy", o) for i, o in enumerate(outs)]}


def main(out, *sources):
    cases = []
    with zipfile.ZipFile(out, "w") as z:
        for source in sources:
            for name, model, first in programs(source):
                dir, ep = str(len(cases)), torch.export.load(io.BytesIO(model))
                write(z, dir + "/model.pt2", model)
                cases.append({"dir": dir, "id": name, "dtype": "float32", "class": "dynamic", "runs": list(runs(z, dir, ep, first))})
        write(z, "cases.json", json.dumps(cases).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
