"""pte_runtime: a binary with what its programs need, and nothing else."""

load("//rules:providers.bzl", "PteProgramInfo")
load("//rules/go:action.bzl", "GO_ATTRS", "collect", "go_action", "src_path")
load("//rules/go:providers.bzl", "GoCacheInfo", "GoInfo", "GoTargetInfo")

# The folder of the generated package in the module.
_PACKAGE = "pteprogram"

# The folder of the command in the module.
_MAIN = "ptemain"

def _generate(ctx, programs):
    """Writes pteprogram.go, which follows from the manifests alone."""
    out = ctx.actions.declare_file(ctx.label.name + ".pteprogram.go")
    args = ctx.actions.args()
    args.add("-out", out)
    args.add_all([p.manifest for p in programs], before_each = "-manifest")
    if ctx.attr.embed:
        for p in programs:
            args.add("-program", "%s=%s.pte" % (p.name, p.name))
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = ["runtime", args],
        inputs = [p.manifest for p in programs],
        outputs = [out],
        mnemonic = "PteRuntime",
        progress_message = "PteRuntime %s" % ctx.label,
    )
    return out

def _sources(ctx, programs, generated):
    """Where the command's own files and the generated package lie in the module."""
    srcs = [struct(path = _PACKAGE + "/pteprogram.go", file = generated)]
    if ctx.attr.embed:
        srcs += [struct(path = "%s/%s.pte" % (_PACKAGE, p.name), file = p.program) for p in programs]
    for f in ctx.files.srcs:
        srcs.append(struct(path = _MAIN + "/" + src_path(ctx.label.package, f), file = f))
    for f in ctx.files.default_srcs:
        srcs.append(struct(path = _MAIN + "/" + f.basename, file = f))
    return srcs

def _pte_runtime_impl(ctx):
    programs = [p[PteProgramInfo] for p in ctx.attr.programs]
    srcs = _sources(ctx, programs, _generate(ctx, programs))
    below = collect(ctx.attr.deps + ctx.attr._deps)
    goos = ctx.attr._target[GoTargetInfo].goos
    out = ctx.actions.declare_file(ctx.label.name + (".exe" if goos == "windows" else ""))
    go_action(
        ctx,
        "link",
        ([] if ctx.attr.embed else ["-tags=ptefile"]) + ["./" + _MAIN],
        depset(srcs, transitive = below.srcs),
        depset([s.file for s in srcs], transitive = below.files),
        depset(transitive = below.layers),
        out = out,
    )
    data = ctx.files.data + ([] if ctx.attr.embed else [p.program for p in programs])
    return [
        DefaultInfo(files = depset([out]), executable = out, runfiles = ctx.runfiles(data)),
        OutputGroupInfo(source = depset([srcs[0].file])),
    ]

pte_runtime = rule(
    implementation = _pte_runtime_impl,
    attrs = dict(
        GO_ATTRS,
        data = attr.label_list(allow_files = True),
        default_srcs = attr.label_list(allow_files = [".go"]),
        deps = attr.label_list(providers = [GoInfo]),
        embed = attr.bool(default = True),
        programs = attr.label_list(providers = [PteProgramInfo], mandatory = True),
        srcs = attr.label_list(allow_files = True),
        _deps = attr.label_list(
            default = [
                Label("//runtime/backend"),
                Label("//runtime/executor"),
                Label("//runtime/op"),
                Label("//:go_std"),
            ],
            providers = [[GoInfo], [GoCacheInfo]],
        ),
    ),
    executable = True,
)
