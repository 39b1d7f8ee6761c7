"""Makes the other sides' programs of a model, for bench/models.

    python export.py FOLDER KIND OUT [KIND OUT]...

KIND is portable or xnnpack, for a program of the official ExecuTorch, or onnx. FOLDER is a model of the zoo. Why one could
not be made goes to OUT.failed.
"""

import json
import os
import sys
from pathlib import Path

import torch


def programs(folder):
    methods = json.loads((folder / "case.json").read_text())["methods"]
    import executorch.exir  # noqa: F401 registers the quantized_decomposed operators
    import executorch.kernels.quantized  # noqa: F401 and those that write to a given place

    return {name: torch.export.load(folder / m["file"]) for name, m in methods.items()}


def official(kind, methods, out):
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


def onnx(methods, out):
    (program,) = methods.values()
    torch.onnx.export(program, dynamo=True, optimize=True).save(out)


def main(folder, *jobs):
    for kind, out in zip(jobs[::2], jobs[1::2], strict=True):
        part = out + ".part"
        try:
            methods = programs(Path(folder))
            if kind == "onnx":
                onnx(methods, part)
            else:
                official(kind, methods, part)
            os.rename(part, out)
        except Exception as err:
            Path(out + ".failed").write_text(" ".join(f"{type(err).__name__}: {err}".split())[:300])


if __name__ == "__main__":
    main(*sys.argv[1:])
