"""A tool that is there already."""

def _tool_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".exe")
    ctx.actions.symlink(output = out, target_file = ctx.file.file, is_executable = True)
    return [DefaultInfo(files = depset([out]), executable = out)]

tool = rule(
    implementation = _tool_impl,
    attrs = {"file": attr.label(allow_single_file = True)},
    executable = True,
)
