"""A worker of bench/side: ONNX Runtime. Inputs and outputs are bound once, so a call is run_with_iobinding alone."""

from functools import partial

import onnxruntime as ort
from worker import Worker, main, value


class ONNX(Worker):
    def load(self, file, method, threads, *inputs):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
        options.log_severity_level = 3
        return self.measured(partial(self.open, file, options), partial(self.bind, [value(spec) for spec in inputs]))

    def open(self, file, options):
        self.session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def bind(self, inputs):
        binding = self.session.io_binding()
        self.call = partial(self.session._sess.run_with_iobinding, binding._iobinding, None)
        self.inputs = [ort.OrtValue.ortvalue_from_numpy(x) for x in inputs]
        for node, x in zip(self.session.get_inputs(), self.inputs, strict=True):
            binding.bind_ortvalue_input(node.name, x)
        for node in self.session.get_outputs():
            binding.bind_output(node.name, "cpu")
        self.call()
        self.bound = binding.get_outputs()
        for node, x in zip(self.session.get_outputs(), self.bound, strict=True):
            binding.bind_ortvalue_output(node.name, x)
        self.call()

    def results(self):
        return [x.numpy() for x in self.bound]


main(ONNX())
