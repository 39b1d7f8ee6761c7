"""pte_spec: a CUE package of compile specs that others import."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteSpecInfo")

_IMPORT = "%s=%s"

def imports_of(owner, deps):
    """What deps give to the packages that import them.

    Args:
      owner: label of the target that has the deps, for errors.
      deps: targets; those without PteSpecInfo are files that lie where CUE finds them.

    Returns:
      struct(args, files): a depset of arguments `importpath=file` and one of File.
    """
    specs = [d[PteSpecInfo] for d in deps if PteSpecInfo in d]
    for s in specs:
        if not s.importpath:
            fail("%s: deps: %s has no importpath, so that nothing can import it: give it one" % (owner, s.label))
    return struct(
        args = depset(transitive = [s.imports for s in specs]),
        files = depset(transitive = [d[DefaultInfo].files for d in deps if PteSpecInfo not in d] + [s.files for s in specs]),
    )

def _pte_spec_impl(ctx):
    if not ctx.files.srcs:
        fail("%s: srcs is empty, want the .cue files of one package" % ctx.label)
    below = imports_of(ctx.label, ctx.attr.deps)
    files = depset(ctx.files.srcs, transitive = [below.files])
    marker = ctx.actions.declare_file(ctx.label.name + ".vet")
    args = ctx.actions.args()
    args.add("--library")
    args.add("--marker", marker)
    args.add_all(ctx.files.srcs[1:], before_each = "--src")
    args.add_all(below.args, before_each = "--import")
    args.add(ctx.files.srcs[0])
    ctx.actions.run(
        executable = ctx.executable.lowerer,
        arguments = ["vet", args],
        inputs = files,
        outputs = [marker],
        mnemonic = "PteVet",
        progress_message = "PteVet %s" % ctx.label,
    )
    own = [_IMPORT % (ctx.attr.importpath, f.path) for f in ctx.files.srcs] if ctx.attr.importpath else []
    return [
        DefaultInfo(files = depset([marker])),
        OutputGroupInfo(_validation = depset([marker])),
        PteSpecInfo(
            deps = below,
            files = depset([marker], transitive = [files]),
            importpath = ctx.attr.importpath,
            imports = depset(own, transitive = [below.args]),
            label = str(ctx.label),
            srcs = ctx.files.srcs,
        ),
    ]

pte_spec = rule(
    implementation = _pte_spec_impl,
    doc = "A package of compile specs in CUE: values and definitions that other specs import, programs, or both. Its default " +
          "output says that all of it is valid, so that building it alone checks it, on every version of Bazel. A " +
          "`pte_program` takes a program of it by `spec` and `program`, or imports it by `deps`.",
    attrs = {
        "deps": attr.label_list(
            allow_files = True,
            doc = "What srcs import: pte_spec targets, by their `importpath`, or files that lie where CUE finds them: " +
                  "`cue.mod/module.cue` and those of its module.",
        ),
        "importpath": attr.string(
            doc = "The path under which others import the package, without version and package name. In a workspace with " +
                  "`cue.mod/module.cue` it is the module's path and the folder, so that CUE's own tools find the same files.",
        ),
        "lowerer": attr.label(
            default = Label("//lowerer/cmd/pte"),
            executable = True,
            cfg = TOOL_CFG,
            doc = "The tool that checks: `pte` with this project's backends, or a `pte_lowerer`.",
        ),
        "srcs": attr.label_list(allow_files = [".cue"], mandatory = True, doc = "The `.cue` files of the package."),
    },
)
