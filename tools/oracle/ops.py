"""Times programs on the official runtime, for bench/ops to compare with.

    python tools/oracle/ops.py

Reads one job per line from standard input and answers each with one line. {"program": FILE, "inputs": [{"file", "dtype",
"sizes"}]} loads a program; it stays loaded for the jobs that follow. {"seconds": S} runs it for as long.
The answer is {"ns"}, the shortest run, or {"error"}. Only Method::execute is timed: neither the inputs nor Python count.
One thread runs the kernels.
"""

import json
import os
import sys
import time
from pathlib import Path

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print

import torch
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime, Verification
import executorch.kernels.quantized  # noqa: F401 registers the quantized_decomposed operators


def tensor(entry):
    """The input that an entry describes."""
    data = bytearray(Path(entry["file"]).read_bytes())
    return torch.frombuffer(data, dtype=getattr(torch, entry["dtype"])).reshape(entry["sizes"] or [])


def load(job):
    """What runs the program once."""
    program = Runtime.get().load_program(job["program"], verification=Verification.Minimal)
    method = program.load_method("forward")
    inputs = [tensor(e) for e in job.get("inputs", [])]
    method._method.set_inputs(inputs)
    return method._method.execute, (program, method, inputs)


def shortest(run, seconds):
    """The nanoseconds of the shortest of the runs, of which there are 4 at least."""
    times, end = [], time.perf_counter_ns() + seconds * 1e9
    while len(times) < 4 or time.perf_counter_ns() < end:
        begin = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - begin)
    return min(times)


def main():
    portable_lib._unsafe_reset_threadpool(1)
    run, kept = None, None
    for line in sys.stdin:
        job = json.loads(line)
        try:
            if "program" in job:
                run, kept = load(job)  # kept: the runtime does not own the memory of inputs
            answer = {"ns": shortest(run, job["seconds"])}
        except Exception as err:
            answer = {"error": " ".join(str(err).split())[:200]}
        print(json.dumps(answer), file=ANSWERS, flush=True)


main()
