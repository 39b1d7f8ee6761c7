"""What the public rules say to each other."""

PteProgramInfo = provider(
    doc = "A lowered program.",
    fields = {
        "manifest": "File: JSON that names the kernels and backends of the program",
        "name": "string: the name of the program's file without .pte",
        "program": "File: the .pte",
        "report": "File: JSON report of the lowering",
    },
)
