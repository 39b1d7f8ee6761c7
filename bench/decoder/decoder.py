"""A decoder of ExecuTorch's examples with random weights, and its official program's time.

    decoder.py export FOLDER WEIGHTS    writes model.pt2 and official.pte, with custom_sdpa and its caches, as export_llama does; WEIGHTS
                                        are float32, or 8da4w: 4 bits in groups of 32 behind rows of 8 bits, and a table of 8 bits
    decoder.py time FOLDER ROWS THREADS    prints the median milliseconds of a token behind ROWS others
"""

import statistics
import sys
import time
import warnings

import torch

warnings.filterwarnings("ignore")
from executorch.extension.llm.custom_ops import custom_ops  # noqa: E402, F401, registers the operators
from executorch.extension.pybindings import portable_lib  # noqa: E402
from executorch.kernels import quantized  # noqa: E402, F401, registers the operators

ROOM = 2048


def quantize(model):
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.utils import unwrap_tensor_subclass

    quantize_(model, IntxWeightOnlyConfig(torch.int8, PerAxis(0)), lambda m, _: isinstance(m, torch.nn.Embedding))
    quantize_(model, Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32)))
    return unwrap_tensor_subclass(model)


def export(folder, weights):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    from executorch.examples.models.llama.source_transformation.custom_kv_cache import replace_kv_cache_with_custom_kv_cache
    from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes.quant_fusion_pass import quant_fusion_and_const_prop_pass
    from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass

    torch.manual_seed(0)
    args = ModelArgs(
        dim=512, n_layers=4, n_heads=8, n_kv_heads=4, vocab_size=1000, hidden_dim=1024, max_batch_size=1, max_seq_len=ROOM, max_context_len=ROOM,
        use_kv_cache=True, use_sdpa_with_kv_cache_op=True, enable_dynamic_shape=True, generate_full_logits=False,
    )
    model = construct_transformer(args).eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, 0, 0.08)
    model = replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model))
    partitioners = [XnnpackPartitioner()]
    if weights == "8da4w":
        model, partitioners = quantize(model), [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    inputs = (torch.tensor([[1, 2, 3]]), {"input_pos": torch.tensor([0])})
    sizes = ({1: torch.export.Dim("n", max=ROOM - 1)}, {"input_pos": {0: 1}})
    with torch.no_grad():
        program = torch.export.export(model, inputs, dynamic_shapes=sizes, strict=True)
    torch.export.save(program, folder + "/model.pt2")
    edge = to_edge_transform_and_lower(program, partitioner=partitioners)
    if weights == "8da4w":
        edge._edge_programs["forward"] = quant_fusion_and_const_prop_pass(edge.exported_program())
    config = ExecutorchBackendConfig(extract_delegate_segments=True, sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass())
    with open(folder + "/official.pte", "wb") as f:
        f.write(edge.to_executorch(config).buffer)


def measure(folder, rows, threads):
    portable_lib._unsafe_reset_threadpool(threads)
    program = portable_lib._load_for_executorch(folder + "/official.pte")
    prompt = torch.arange(rows).remainder(1000).reshape(1, rows)
    program.forward([prompt, torch.tensor([0])])
    inputs = [torch.tensor([[3]]), torch.tensor([rows])]
    took = []
    for _ in range(60):
        start = time.perf_counter()
        program.forward(inputs)
        took.append(time.perf_counter() - start)
    print(statistics.median(took[10:]) * 1e3)


if __name__ == "__main__":
    if sys.argv[1] == "export":
        export(sys.argv[2], sys.argv[3])
    else:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
