"""Runs programs on the official runtime and compares what they give with goldens.

    python tools/oracle/official.py

Reads one job per line from standard input, {"pte": FILE, "folder": DIR}, where DIR/case.json is a case file of the zoo,
and answers each with one line, {"reason": ""} for a program that gives the goldens. Importing takes long and the
official runtime may abort, so all is imported once and each job runs in a forked child: a child that dies is an answer.

A job with "programs", files, and "results", folders with the outputs of another runtime under the names of the goldens,
is answered with {"reason": "", "equal": [], "steps": []}: for each of them, what share of the values is exactly that of
"pte", and how many steps apart the worst is. A step is what 8 bits resolve of the range of an output, or the distance of
its values where that is larger. Cases that "pte" cannot run are left out; a share of -1 is one of no values.
"""

import json
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from executorch.runtime import Runtime, Verification
import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401 registers the llama operators
import executorch.kernels.quantized  # noqa: F401 registers the quantized_decomposed operators

LIMIT = 90  # seconds for a job
TELLING = re.compile(r"not found|check failed|missing|mismatch|invalid|failed|attempted|expected", re.IGNORECASE)
PLACE = re.compile(r"^\S* ?\S* ?\d* ?\[[\w.]+:\d+\] ?")


class Wrong(Exception):
    """A program that ran, with another result than the golden."""


def value(entry, folder):
    """The value of an entry of the case file, as the runtime takes it."""
    if "npy" in entry:
        tensor = torch.from_numpy(np.load(folder / entry["npy"]))
        if "dim_order" in entry:
            order = entry["dim_order"]
            back = [order.index(d) for d in range(len(order))]
            tensor = tensor.permute(order).contiguous().permute(back)
        return tensor
    if "none" in entry:
        return None
    (only,) = entry.values()
    return only


def compare(what, got, entry, folder, rtol):
    """Raises Wrong unless got is the golden, within the tolerance."""
    want = value(entry, folder)
    if want is None or got is None:
        if got is not want:
            raise Wrong(f"{what} is {'none' if got is None else 'not none'}")
        return
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise Wrong(f"{what} has shape {list(got.shape)}, not {list(want.shape)}")
    if got.dtype != want.dtype and "npy" in entry and want.ndim:
        raise Wrong(f"{what} has dtype {got.dtype}, not {want.dtype}")
    if not within(got, want, entry.get("atol", 0), rtol):
        raise Wrong(f"{what} has other values")


def within(got, want, atol, rtol):
    """Whether got is want: exactly for integers, else within the tolerance, NaN equal to NaN."""
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    return np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)


def run_call(method, call, folder, rtol):
    """Runs a call. Changed arguments come back before the results, or only in place."""
    inputs = [value(e, folder) for e in call["inputs"]]
    got = list(method.execute(inputs))
    mutated = sorted(call.get("mutated", {}).items(), key=lambda kv: int(kv[0]))
    results = call["outputs"]
    if len(got) == len(results):
        changed = [inputs[int(k)] for k, _ in mutated]
    else:
        changed, got = got[: len(mutated)], got[len(mutated) :]
    if len(got) != len(results):
        raise Wrong(f"{len(got)} outputs, not {len(results)}")
    for g, (k, entry) in zip(changed, mutated):
        compare(f"argument {k}", g, entry, folder, rtol)
    for i, (g, entry) in enumerate(zip(got, results)):
        compare(f"output {i}", g, entry, folder, rtol)


def run_cases(pte, folder):
    """Runs every case on a program of its own."""
    cases = json.loads((folder / "case.json").read_text())
    for n, case in enumerate(cases["cases"]):
        program = Runtime.get().load_program(pte, verification=Verification.InternalConsistency)
        methods = {name: program.load_method(name) for name in cases["methods"]}  # loading resets shared buffers
        for k, call in enumerate(case["calls"]):
            try:
                run_call(methods[call["method"]], call, folder, cases["rtol"])
            except Exception as err:
                raise type(err)(f"case {n} call {k}: {err}") from err


def outputs(pte, folder):
    """The results of every call of every case, {(case, call): list}; cases that fail are left out."""
    cases = json.loads((folder / "case.json").read_text())
    found = {}
    for n, case in enumerate(cases["cases"]):
        program = Runtime.get().load_program(pte, verification=Verification.InternalConsistency)
        methods = {name: program.load_method(name) for name in cases["methods"]}
        try:
            for k, call in enumerate(case["calls"]):
                got = list(methods[call["method"]].execute([value(e, folder) for e in call["inputs"]]))
                found[n, k] = [np.array(g) for g in got[len(got) - len(call["outputs"]) :]]
        except RuntimeError:
            continue
    return found


def saved(results, folder):
    """The same from files."""
    cases = json.loads((folder / "case.json").read_text())["cases"]
    calls = ((n, k, call) for n, case in enumerate(cases) for k, call in enumerate(case["calls"]))
    files = {(n, k): [results / e["npy"] for e in call["outputs"]] for n, k, call in calls}
    return {at: [np.load(f) for f in list] for at, list in files.items() if all(f.exists() for f in list)}


def distance(got, want):
    """The share of equal values and the largest distance in steps."""
    equal = total = 0
    steps = 0.0
    for key in got.keys() & want.keys():
        for g, w in zip(got[key], want[key], strict=True):
            equal, total = equal + int((g == w).sum()), total + w.size
            steps = max(steps, apart(g, w))
    return (equal / total if total else -1), round(steps, 3)


def apart(got, want):
    """How many steps of want the two are apart."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    far = np.abs(got - want).max(initial=0)
    if far == 0:
        return 0.0
    grid = np.diff(np.unique(want))
    return float(far / max((want.max() - want.min()) / 255, grid.min(initial=np.inf) if grid.size else 0))


def compare_all(job):
    """The answer to a job with programs and results."""
    folder = Path(job["folder"])
    want = outputs(job["pte"], folder)
    found = [distance(outputs(p, folder), want) for p in job["programs"]]
    found += [distance(saved(Path(r), folder), want) for r in job["results"]]
    return {"reason": "", "equal": [e for e, _ in found], "steps": [s for _, s in found]}


def said(log):
    """The first line of the runtime's own log that tells of an error."""
    for line in log.splitlines():
        if "[cpuinfo_utils.cpp" in line:
            continue
        text = PLACE.sub("", line.strip())
        if TELLING.search(text):
            return text
    return ""


def child(job, log, answer):
    """Runs a job with the runtime's output going to log, and writes the reason."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.alarm(LIMIT)
    try:
        if "results" in job:
            os.write(answer, json.dumps(compare_all(job)).encode())
            return
        run_cases(job["pte"], Path(job["folder"]))
        reason = ""
    except Wrong as err:
        reason = str(err)
    except Exception as err:
        told = said(os.pread(log, 1 << 16, 0).decode(errors="replace"))
        reason = " ".join(str(err).split()) + (f" ({told})" if told else "")
    os.write(answer, json.dumps({"reason": reason}).encode())


def serve(job):
    """Runs a job in a child and gives its answer, also when the child dies."""
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as answer:
        pid = os.fork()
        if pid == 0:
            try:
                child(job, log.fileno(), answer.fileno())
            finally:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        text = os.pread(answer.fileno(), 1 << 16, 0).decode()
        if text:
            return text
        told = said(os.pread(log.fileno(), 1 << 16, 0).decode(errors="replace"))
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "no answer"
        return json.dumps({"reason": f"dies: {name}" + (f" ({told})" if told else "")})


def main():
    for line in sys.stdin:
        print(serve(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
