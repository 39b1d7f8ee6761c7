"""pte_test: runs a program's cases and compares with what is expected."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteProgramInfo")

_RUN = """#!/bin/sh
# Runs every case, also after one that failed.
cd "$TEST_SRCDIR/{workspace}" || exit 1
status=0
for case in {cases}; do
    "./{runner}" run "{program}"{data} --case "$case" --check || status=1
done
exit $status
"""

def _pte_test_impl(ctx):
    info = ctx.attr.program[PteProgramInfo]
    program, data = info.program, info.data

    # Only a pte_lowerer has the backends that it lowers for.
    runner = info.lowerer or ctx.executable._pte
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, _RUN.format(
        workspace = ctx.workspace_name,
        cases = " ".join(["'%s'" % f.short_path for f in ctx.files.cases]),
        runner = runner.short_path,
        data = "".join([" --data '%s'" % f.short_path for f in data]),
        program = program.short_path,
    ), is_executable = True)
    files = [program] + data + [runner] + ctx.files.cases + ctx.files.data
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files))]

pte_test = rule(
    implementation = _pte_test_impl,
    attrs = {
        "cases": attr.label_list(allow_files = [".json"], mandatory = True),
        "data": attr.label_list(allow_files = True),
        "program": attr.label(providers = [PteProgramInfo], mandatory = True),
        "_pte": attr.label(default = Label("//lowerer/cmd/pte"), executable = True, cfg = TOOL_CFG),
    },
    test = True,
)

def case_data(cases):
    """The arrays that lie beside case files of this package.

    Args:
      cases: list of labels.

    Returns:
      list of files.
    """
    folders = {c.rpartition("/")[0]: True for c in cases if ":" not in c and not c.startswith("@")}
    return native.glob([(f + "/" if f else "") + "**/*.npy" for f in folders], allow_empty = True)
