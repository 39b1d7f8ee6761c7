"""A worker of bench/side: LiteRT with its XNNPACK delegate. Inputs are set once, so a call is Invoke alone."""

import re
from functools import partial

from ai_edge_litert.interpreter import Interpreter
from worker import Worker, main, value


def ordered(details):
    """The tensors as the exported program has them: the converter names them ..._args_N and ..._output_N."""
    return sorted(details, key=lambda d: int(re.search(r"(?:args|output)_(\d+)", d["name"])[1]))


class LiteRT(Worker):
    def load(self, file, method, threads, *inputs):
        values = [value(spec) for spec in inputs]
        return self.measured(partial(self.open, file, int(threads)), partial(self.first, values))

    def open(self, file, threads):
        self.interpreter = Interpreter(file, num_threads=threads)
        self.interpreter.allocate_tensors()
        self.call = self.interpreter._interpreter.Invoke

    def first(self, inputs):
        for d, x in zip(ordered(self.interpreter.get_input_details()), inputs, strict=True):
            self.interpreter.set_tensor(d["index"], x.astype(d["dtype"], copy=False))  # its integers have 32 bits
        self.call()

    def results(self):
        return [self.interpreter.get_tensor(d["index"]) for d in ordered(self.interpreter.get_output_details())]


main(LiteRT())
