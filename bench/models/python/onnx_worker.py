"""A worker of bench/models: ONNX Runtime behind the lines of text that official/runner.cc describes.

Inputs and outputs are bound once, so a call is run_with_iobinding alone.
"""

import os
import sys
import time

import numpy as np
import onnxruntime as ort

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
    def load(self, file, method, threads, *inputs):
        base, start = memory("VmRSS"), time.perf_counter_ns()
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        load = time.perf_counter_ns() - start
        start = time.perf_counter_ns()
        self.bind([value(spec) for spec in inputs])
        self.call()
        return load, time.perf_counter_ns() - start, base, memory("VmHWM")

    def bind(self, inputs):
        self.binding = self.session.io_binding()
        self.inputs = [ort.OrtValue.ortvalue_from_numpy(x) for x in inputs]
        for node, x in zip(self.session.get_inputs(), self.inputs, strict=True):
            self.binding.bind_ortvalue_input(node.name, x)
        for node in self.session.get_outputs():
            self.binding.bind_output(node.name, "cpu")
        self.call()
        self.results = self.binding.get_outputs()
        for node, x in zip(self.session.get_outputs(), self.results, strict=True):
            self.binding.bind_ortvalue_output(node.name, x)

    def call(self):
        self.session._sess.run_with_iobinding(self.binding._iobinding, None)

    def run(self, samples, calls):
        run, binding, times = self.session._sess.run_with_iobinding, self.binding._iobinding, []
        for _ in range(int(samples)):
            start = time.perf_counter_ns()
            for _ in range(int(calls)):
                run(binding, None)
            times.append((time.perf_counter_ns() - start) / int(calls))
        return times

    def outputs(self, folder):
        for i, x in enumerate(self.results):
            x = np.ascontiguousarray(x.numpy())
            head = f"{CODES[x.dtype]}:{','.join(map(str, x.shape))}:{','.join(map(str, range(x.ndim)))}\n"
            with open(f"{folder}/{i}", "wb") as f:
                f.write(head.encode() + x.tobytes())
        return [len(self.results)]


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    worker = Worker()
    for line in sys.stdin:
        name, *args = line.rstrip("\n").split("\t")
        try:
            words = ["ok", *map(str, getattr(worker, name)(*args))]
        except Exception as err:
            words = ["error", " ".join(f"{type(err).__name__}: {err}".split())[:300]]
        print("\t".join(words), file=out, flush=True)


if __name__ == "__main__":
    main()
