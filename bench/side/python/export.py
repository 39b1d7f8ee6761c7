"""Makes the other sides' programs of models, for bench/side.

    python export.py FOLDER KIND OUT [FOLDER KIND OUT]...

KIND is portable or xnnpack, for a program of the official ExecuTorch, onnx or litert. FOLDER is a model as the zoo has
them. Why one could not be made goes to OUT.failed.
"""

import json
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch


def programs(folder, kind):
    methods = json.loads((folder / "case.json").read_text()).get("methods") or {"forward": {"file": "model.pt2"}}
    if kind != "litert":
        import executorch.exir  # noqa: F401 registers the quantized_decomposed operators
        import executorch.kernels.quantized  # noqa: F401 and those that write to a given place

    return {name: torch.export.load(folder / m["file"]) for name, m in methods.items()}


def official(kind, folder, methods, out):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    edge = to_edge_transform_and_lower(
        methods if list(methods) != ["forward"] else methods["forward"],
        partitioner=[XnnpackPartitioner()] if kind == "xnnpack" else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    program = edge.to_executorch(ExecutorchBackendConfig(
        passes=[InitializedMutableBufferPass([""])],
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=len(methods) > 1),
    ))
    Path(out).write_bytes(program.buffer)


def onnx(folder, methods, out):
    (program,) = methods.values()
    torch.onnx.export(program, dynamo=True, optimize=True).save(out)


def litert(folder, methods, out):
    import litert_torch

    (program,) = methods.values()
    # the sizes are those of the first call, since the delegate does not take others for some
    call = json.loads((folder / "case.json").read_text())["cases"][0]["calls"][0]
    inputs = tuple(torch.from_numpy(np.load(folder / v["npy"])) for v in call["inputs"])
    litert_torch.convert(program.module(), inputs).export(out)


MAKERS = {"onnx": onnx, "litert": litert}


def main(*jobs):
    for folder, kind, out in zip(jobs[::3], jobs[1::3], jobs[2::3], strict=True):
        part = out + ".part"
        try:
            methods = programs(Path(folder), kind)
            MAKERS.get(kind, partial(official, kind))(Path(folder), methods, part)
            os.rename(part, out)
        except Exception as err:
            Path(out + ".failed").write_text(" ".join(f"{type(err).__name__}: {err}".split())[:300])


if __name__ == "__main__":
    main(*sys.argv[1:])
