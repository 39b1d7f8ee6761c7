"""Lets ExecuTorch's Inspector read a trace and prints the events that it finds as JSON.

    python tools/oracle/inspect_etdump.py TRACE.etdp DEBUG_BUFFER.bin [SIDECAR.debug.json METHOD | RECORD.etrecord]

With the file of `pte lower --debug`, events have the debug handles that Inspector resolves with its maps; with that of
`pte lower --etrecord`, also what it finds in the graph.
"""

import json
import sys

import torch
from executorch.devtools import Inspector


def plain(value):
    """The value as JSON has it."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def main(dump, buffer, sidecar=None, method=None):
    record = sidecar if sidecar and sidecar.endswith(".etrecord") else None
    inspector = Inspector(etdump_path=dump, debug_buffer_path=buffer, etrecord=record)
    out = []
    for block in inspector.event_blocks:
        if sidecar and not record and block.name == "Execute":
            with open(sidecar, encoding="utf-8") as f:
                maps = json.load(f)
            handles = {i: h for i, h in maps["debug_handle_map"][method].items()}
            block._gen_resolve_debug_handles(handles, maps["delegate_map"].get(method, {}))
        for e in block.events:
            out.append({"Name": e.name, "Step": e.delegate_debug_identifier, "Delegated": bool(e.is_delegated_op),
                        "Values": [plain(v) for v in e.debug_data], "Handles": plain(e.debug_handles),
                        "Backend": e.delegate_backend_name or "", "Ops": list(e.op_types or []), "Stacks": e.stack_traces or {},
                        "Modules": [list(m or {}) for m in (e.module_hierarchy or {}).values()]})
    inspector.print_data_tabular(file=sys.stderr)
    print(json.dumps(out))


main(*sys.argv[1:])
