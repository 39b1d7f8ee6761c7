"""pte_data: the data files of programs in one file."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteProgramInfo")

MERGE_ATTRS = {
    "_merge": attr.label(default = Label("//lowerer/cmd/pte"), executable = True, cfg = TOOL_CFG),
}

def merge(ctx, programs, out):
    """Puts the data files of programs into one, each content once.

    Args:
      ctx: the context of a rule with MERGE_ATTRS.
      programs: a list of PteProgramInfo.
      out: the File to write.
    """
    files = [f for p in programs for f in p.data]
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(files)
    ctx.actions.run(
        executable = ctx.executable._merge,
        arguments = ["merge", args],
        inputs = files,
        outputs = [out],
        mnemonic = "PteMerge",
        progress_message = "PteMerge %s" % ctx.label,
    )

def _pte_data_impl(ctx):
    programs = [p[PteProgramInfo] for p in ctx.attr.programs]
    for p in programs:
        if not p.data:
            fail("%s: program %s has no data files: name them in its data_files" % (ctx.label, p.label))
    out = ctx.actions.declare_file(ctx.label.name + ".ptd")
    merge(ctx, programs, out)
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

pte_data = rule(
    implementation = _pte_data_impl,
    doc = "The data files of programs in one, `NAME.ptd`, with each content once, for programs that share weights. Weights of one " +
          "name that differ fail the build.",
    attrs = dict(
        MERGE_ATTRS,
        programs = attr.label_list(
            providers = [PteProgramInfo],
            mandatory = True,
            allow_empty = False,
            doc = "The `pte_program` targets; all have `data_files`.",
        ),
    ),
)
