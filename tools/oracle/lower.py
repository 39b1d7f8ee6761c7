"""Lowers models with the official ExecuTorch, for bench/lowering to compare with.

    python tools/oracle/lower.py

Prints {"import_s", "import_mib"} once all is imported and warm. Then reads one job per line from standard input,
{"models": {METHOD: FILE}, "out": FILE}, and answers each with one line: {"parts": {"load", "edge", "executorch", "write"},
"cpu_s", "peak_mib"} in seconds and MiB, or {"error"}. Each job runs in a forked child, so that neither memory nor caches
of one reach another; the imports, which every child has, are part of its memory and not of its time.

"delegate": "xnnpack" in a job lowers with the official XNNPACK partitioner. Where that takes nodes of which the official
delegate cannot make a graph, the job fails; "delegate": "hollow" leaves all payloads empty, so that the program still
shows what is taken. Programs with torchao's operators are then lowered as ExecuTorch's own recipes for them do.
"""

import json
import os
import resource
import sys
import time

START = time.monotonic()
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from executorch.exir.backend.backend_details import PreprocessResult
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401 registers the llama operators
import executorch.kernels.quantized  # noqa: F401 registers the quantized_decomposed operators


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lower(models, out, delegate=""):
    """Lowers exported programs, {method: file}, to the file out; gives the seconds of each part."""
    if delegate == "hollow":
        XnnpackBackend.preprocess = staticmethod(lambda program, specs: PreprocessResult(processed_bytes=b""))
    parts, last = {}, time.monotonic()

    def mark(part):
        nonlocal last
        parts[part], last = time.monotonic() - last, time.monotonic()

    programs = {name: torch.export.load(file) for name, file in models.items()}
    mark("load")
    edge = to_edge_transform_and_lower(
        programs if list(programs) != ["forward"] else programs["forward"],
        partitioner=[XnnpackPartitioner()] if delegate else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    mark("edge")
    program = edge.to_executorch(ExecutorchBackendConfig(
        do_quant_fusion_and_const_prop=bool(delegate) and has_torchao(programs),
        passes=[InitializedMutableBufferPass([""])],
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=len(programs) > 1),
    ))
    mark("executorch")
    with open(out, "wb") as file:
        program.write_to_file(file)
    mark("write")
    return parts


def has_torchao(programs):
    """Whether a program has operators of torchao."""
    nodes = (n for p in programs.values() for n in p.graph.nodes)
    return any(str(n.target).startswith("torchao.") for n in nodes)


def warm_up():
    """Loads what ExecuTorch loads late, so that it is not counted as the first model's time."""
    exported = torch.export.export(torch.nn.Linear(1, 1), (torch.ones(1, 1),), strict=False)
    to_edge_transform_and_lower(exported).to_executorch()


def answer(job):
    """The answer to a job, in this process."""
    before = time.process_time()
    try:
        parts = lower(**job)
    except Exception as err:
        return {"error": " ".join(f"{type(err).__name__}: {err}".split())[:300]}
    return {"parts": parts, "cpu_s": time.process_time() - before, "peak_mib": peak_mib()}


def serve(job):
    """Runs a job in a child and gives its answer, also when the child dies."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        os.dup2(2, 1)  # what libraries print
        os.write(w, json.dumps(answer(job)).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return text or json.dumps({"error": f"died, status {status}"})


def main():
    warm_up()
    print(json.dumps({"import_s": time.monotonic() - START, "import_mib": peak_mib()}), flush=True)
    for line in sys.stdin:
        print(serve(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
