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

PteLibraryInfo = provider(
    doc = "A library with the C interface pte.h.",
    fields = {
        "headers": "list of File: pte.h and pte.hpp, in one folder",
        "library": "File: the archive or shared library",
        "linkmode": "string: c-archive or c-shared",
    },
)

PteLowererInfo = provider(
    doc = "The command pte.",
    fields = {"backends": "list of PteBackendInfo: what it was built with"},
)

PteProgramInfo = provider(
    doc = "A lowered program.",
    fields = {
        "again": "struct(tool, args, data, files) that makes the program again, in one step: the files to run, a list of strings for " +
                 "`pte lower` without -o, the names of the data files that it writes beside the program, and a depset of File",
        "backends": "list of PteBackendInfo: what it may have been lowered for",
        "data": "list of File: the program's data files (.ptd)",
        "label": "string: the target's label",
        "lowerer": "File: the pte_lowerer that made it, or None if another tool did",
        "manifest": "File: JSON that names the kernels and backends of the program",
        "name": "string: the name of the program's file without .pte",
        "program": "File: the .pte",
        "report": "File: JSON report of the lowering",
    },
)

PteRuntimeInfo = provider(
    doc = "A runtime with its programs: of a pte_runtime, pte_library or pte_web.",
    fields = {
        "binary": "File: the command, the library or the WebAssembly module",
        "declared": "bool: whether `backends` says what is linked",
        "label": "string: the target's label",
        "programs": "list of PteProgramInfo",
    },
)

PteSpecInfo = provider(
    doc = "A package of compile specs.",
    fields = {
        "deps": "struct(args, files): what the package imports, as pte's flag --import and as depset of File",
        "files": "depset of File: srcs, all that they import, and the marker that says they are valid",
        "importpath": "string: the path under which others import the package, or empty",
        "imports": "depset of string: `importpath=file` of the package and of all below it",
        "label": "string: the target's label",
        "srcs": "list of File: the package's own files",
    },
)
