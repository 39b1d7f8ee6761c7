"""pte_lowerer: the command pte with backends."""

load("//rules:providers.bzl", "PteBackendInfo", "PteLowererInfo")
load("//rules/go:action.bzl", "GO_ATTRS", "collect_infos", "go_action", "go_target")
load("//rules/go:providers.bzl", "GoCacheInfo", "GoInfo")
load(":backend.bzl", "add_backends")

_MAIN = "ptelowerer"

def _step(ctx, step, backends, out, inputs = [], more = []):
    """Runs a step of the builder on the manifests of the backends."""
    args = ctx.actions.args()
    args.add("-target=" + str(ctx.label))
    args.add("-out", out)
    args.add_all(more)
    add_backends(args, backends)
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [step, args],
        inputs = [b.manifest for b in backends] + inputs,
        outputs = [out],
        mnemonic = "PteLowerer",
        progress_message = "PteLowerer %s %s" % (step, ctx.label),
    )

def _pte_lowerer_impl(ctx):
    backends = [b[PteBackendInfo] for b in ctx.attr.backends]
    main = ctx.actions.declare_file(ctx.label.name + ".main.go")
    _step(ctx, "lowerer", backends, main)
    halves = [h for b in backends for h in [b.aot, b.rt] if h]
    below = collect_infos(
        halves + [d[GoInfo] for d in ctx.attr._deps if GoInfo in d],
        [d[GoCacheInfo] for d in ctx.attr._deps if GoCacheInfo in d],
    )
    tool = ctx.actions.declare_file(ctx.label.name + ".unchecked")
    go_action(
        ctx,
        "link",
        ["./" + _MAIN],
        depset([struct(path = _MAIN + "/main.go", file = main)], transitive = below.srcs),
        depset([main], transitive = below.files),
        depset(transitive = below.layers),
        out = tool,
    )
    out = ctx.actions.declare_file(ctx.label.name)
    target = go_target(ctx)
    _step(ctx, "agree", backends, out, [tool], ["-tool", tool.path, "-goos=" + target.goos, "-goarch=" + target.goarch])
    return [
        DefaultInfo(files = depset([out]), executable = out, runfiles = ctx.runfiles([out])),
        PteLowererInfo(backends = backends),
    ]

pte_lowerer = rule(
    implementation = _pte_lowerer_impl,
    doc = "The command pte with backends, for the attribute `lowerer` of pte_program. Their `#CompileSpecs` are part of what " +
          "`vet` checks. A manifest that disagrees with the Go packages fails the build.",
    attrs = dict(
        GO_ATTRS,
        backends = attr.label_list(providers = [PteBackendInfo], mandatory = True, doc = "The pte_backend targets."),
        _deps = attr.label_list(
            default = [
                Label("//lowerer/pte"),
                Label("//lowerer/backend"),
                Label("//runtime/backend"),
                Label("//:go_modules"),
            ],
            providers = [[GoInfo], [GoCacheInfo]],
        ),
    ),
    executable = True,
)
