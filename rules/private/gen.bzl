"""pte_gen: writes the BUILD files of the workspace."""

load("//rules:compat.bzl", "TOOL_CFG")

_RUN = """#!/bin/sh
exec "$0.runfiles/{workspace}/{tool}" gen {what} "$@"
"""

def _pte_gen_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, _RUN.format(
        workspace = ctx.workspace_name,
        tool = ctx.executable.lowerer.short_path,
        what = ctx.attr.what,
    ), is_executable = True)
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles([ctx.executable.lowerer]))]

pte_gen = rule(
    implementation = _pte_gen_impl,
    doc = "`bazel run` of it writes targets for every `*.pte.cue` of the workspace: `pte_program`, `pte_runtime`, `pte_test` where there " +
          "are cases, and `pte_spec` for the CUE packages that they import. Comments stay, and so do targets, attributes and elements with " +
          "the comment `# keep`, and those that list comprehensions make. With `-- --mode=diff` it writes nothing, and fails if something would change.",
    attrs = {
        "lowerer": attr.label(
            default = Label("//lowerer/cmd/pte"),
            executable = True,
            cfg = TOOL_CFG,
            doc = "The tool that writes: `pte` with this project's backends, or a `pte_lowerer`.",
        ),
        "what": attr.string(
            default = "build",
            values = ["build", "packages"],
            doc = "`build` for BUILD files; `packages` for `go_packages.txt`, the list that `pte_dependencies` takes.",
        ),
    },
    executable = True,
)
