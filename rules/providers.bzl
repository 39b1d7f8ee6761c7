"""What the public rules say to each other."""

PteBackendInfo = provider(
    doc = "A backend.",
    fields = {
        "aot": "GoInfo of the ahead-of-time half, or None",
        "label": "string: the target's label",
        "manifest": "File: JSON that names the backends in the Go packages",
        "rt": "GoInfo of the run-time half, or None",
    },
)

PteLowererInfo = provider(
    doc = "The command pte.",
    fields = {"backends": "list of PteBackendInfo: what it was built with"},
)

PteProgramInfo = provider(
    doc = "A lowered program.",
    fields = {
        "backends": "list of PteBackendInfo: what it may have been lowered for",
        "label": "string: the target's label",
        "manifest": "File: JSON that names the kernels and backends of the program",
        "name": "string: the name of the program's file without .pte",
        "program": "File: the .pte",
        "report": "File: JSON report of the lowering",
    },
)
