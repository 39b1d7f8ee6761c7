"""What the workers in Python share: the lines of text that official/runner.cc describes."""

import os
import sys
import time

import numpy as np

TYPES = {0: np.uint8, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.int64, 5: np.float16, 6: np.float32, 7: np.float64, 11: np.bool_}
CODES = {np.dtype(t): n for n, t in TYPES.items()}


def memory(key):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def numbers(text):
    return [int(n) for n in text.split(",")] if text else []


def value(spec):
    kind, _, rest = spec.partition(":")
    if kind != "t":
        types = {"int": np.int64, "float": np.float64, "bool": np.bool_}
        return np.array(types[kind](float(rest)))
    code, sizes, order, file = rest.split(":", 3)
    sizes, order = numbers(sizes), numbers(order)
    stored = np.fromfile(file, TYPES[int(code)]).reshape([sizes[d] for d in order])
    return np.ascontiguousarray(stored.transpose(np.argsort(order)))


class Worker:
    """A runtime: load loads a program and sets self.call and self.results, what a call gives."""

    def measured(self, load, first):
        """The answer to load, whose two steps are functions."""
        base, times = memory("VmRSS"), []
        for step in (load, first):
            start = time.perf_counter_ns()
            step()
            times.append(time.perf_counter_ns() - start)
        return *times, base, memory("VmHWM")

    def run(self, samples, calls):
        call, times = self.call, []
        for _ in range(int(samples)):
            start = time.perf_counter_ns()
            for _ in range(int(calls)):
                call()
            times.append((time.perf_counter_ns() - start) / int(calls))
        return times

    def outputs(self, folder):
        results = self.results()
        for i, x in enumerate(results):
            x = np.ascontiguousarray(x)
            head = f"{CODES[x.dtype]}:{','.join(map(str, x.shape))}:{','.join(map(str, range(x.ndim)))}\n"
            with open(f"{folder}/{i}", "wb") as f:
                f.write(head.encode() + x.tobytes())
        return [len(results)]


def main(worker):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    for line in sys.stdin:
        name, *args = line.rstrip("\n").split("\t")
        try:
            words = ["ok", *map(str, getattr(worker, name)(*args))]
        except Exception as err:
            words = ["error", " ".join(f"{type(err).__name__}: {err}".split())[:300]]
        print("\t".join(words), file=out, flush=True)
