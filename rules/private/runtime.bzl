"""pte_runtime: a binary with what its programs need, and nothing else."""

load("//rules:providers.bzl", "PteBackendInfo", "PteProgramInfo", "PteRuntimeInfo")
load("//rules/go:action.bzl", "GO_ATTRS", "collect", "collect_infos", "go_action", "go_target", "src_path")
load("//rules/go:providers.bzl", "GoCacheInfo", "GoInfo", "GoTargetInfo")
load(":backend.bzl", "add_backends", "unique")
load(":data.bzl", "MERGE_ATTRS", "merge")
load(":platform.bzl", "runtime_platform")

# The folder of the generated package in the module.
_PACKAGE = "pteprogram"

# The data file of all programs in it.
DATA = "data.ptd"

# The folder of the command in the module.
_MAIN = "ptemain"

def programs_of(ctx):
    """The programs, which must have different names.

    Args:
      ctx: the context of a rule with the attribute `programs`.

    Returns:
      a list of PteProgramInfo.
    """
    programs = [p[PteProgramInfo] for p in ctx.attr.programs]
    labels = {}
    for p in programs:
        if p.name in labels:
            fail("%s: programs %s and %s are both called %r: set `out` of one" % (ctx.label, labels[p.name], p.label, p.name))
        labels[p.name] = p.label
    return programs

def offers_of(ctx, programs):
    """The backends that may be linked, and whether `backends` names them: then they are all linked.

    Args:
      ctx: the context of a rule with the attribute `backends`.
      programs: a list of PteProgramInfo.

    Returns:
      a list of PteBackendInfo, and a bool.
    """
    if ctx.attr.backends:
        return [b[PteBackendInfo] for b in ctx.attr.backends], True
    return unique([b for p in programs for b in p.backends]), False

def merged_data(ctx, programs, name):
    """One data file for all programs.

    Args:
      ctx: the context of a rule with MERGE_ATTRS.
      programs: a list of PteProgramInfo.
      name: the file's name.

    Returns:
      the File, or None where no program has data files.
    """
    if not [f for p in programs for f in p.data]:
        return None
    out = ctx.actions.declare_file(name)
    merge(ctx, programs, out)
    return out

def generate(ctx, out, offers, declared, more = []):
    """Writes pteprogram.go and the list of the packages of its backends; both follow from the manifests alone.

    Args:
      ctx: the context of a rule with the attributes `programs` and `embed`.
      out: the File to write.
      offers: the backends that may be linked.
      declared: whether all of them are.
      more: further arguments for the builder.

    Returns:
      the File that lists the packages.
    """
    programs = programs_of(ctx)
    selected = ctx.actions.declare_file(ctx.label.name + ".backends")
    args = ctx.actions.args()
    args.add("-target=" + str(ctx.label))
    args.add("-out", out)
    args.add("-selected", selected)
    args.add_all(more)
    args.add_all(["%s|%s" % (p.label, p.manifest.path) for p in programs], format_each = "-manifest=%s")
    add_backends(args, offers)
    if declared:
        args.add("-declared")
    if ctx.attr.embed:
        for p in programs:
            args.add("-program", "%s=%s.pte" % (p.name, p.name))
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = ["runtime", args],
        inputs = [p.manifest for p in programs] + [o.manifest for o in offers],
        outputs = [out, selected],
        mnemonic = "PteRuntime",
        progress_message = "PteRuntime %s" % ctx.label,
    )
    return selected

def _optional(offers, selected):
    """The sources of backends of which only the manifests say whether they are linked.

    Their layers of the build cache are not among them: those would be compiled even where they are not linked.
    """
    halves = [o.rt for o in offers if o.rt]
    return struct(
        selected = selected,
        srcs = [(h.importpath, h.srcs) for h in halves],
        files = depset(transitive = [h.files for h in halves]),
    )

def _sources(ctx, programs, generated, data):
    """Where the command's own files and the generated package lie in the module."""
    srcs = [struct(path = _PACKAGE + "/pteprogram.go", file = generated)]
    if ctx.attr.embed:
        srcs += [struct(path = "%s/%s.pte" % (_PACKAGE, p.name), file = p.program) for p in programs]
        if data:
            srcs.append(struct(path = "%s/%s" % (_PACKAGE, DATA), file = data))
    for f in ctx.files.srcs:
        srcs.append(struct(path = _MAIN + "/" + src_path(ctx.label.package, f), file = f))
    for f in ctx.files.default_srcs:
        srcs.append(struct(path = _MAIN + "/" + f.basename, file = f))
    return srcs

def _file_name(ctx):
    """The binary's name on its platform."""
    target = go_target(ctx)
    ending = ".exe" if target.goos == "windows" else ".wasm" if target.goarch == "wasm" else ""
    return ctx.label.name + ending

def link_runtime(ctx, out, flags = [], tools = [], requirements = {}):
    """Links what the programs of a target need with its command.

    Args:
      ctx: the context of a rule with RUNTIME_ATTRS.
      out: the File to link.
      flags: flags of the builder.
      tools: what they name, a list of FilesToRunProvider.
      requirements: the link action's execution requirements.

    Returns:
      struct(info, source, data, beside): the PteRuntimeInfo, the File of the generated package, the File with the programs' data
        files, or None, and a list of File: what is not in the binary, programs and data.
    """
    programs = programs_of(ctx)
    offers, declared = offers_of(ctx, programs)
    source = ctx.actions.declare_file(ctx.label.name + ".pteprogram.go")
    target = go_target(ctx)
    machine = ["-goos=" + target.goos, "-goarch=" + target.goarch] + ["-cpu_feature=" + f for f in ctx.attr.cpu_features]
    merged = merged_data(ctx, programs, ctx.label.name + ".ptd")
    embedded = ["-data=" + DATA] if merged and ctx.attr.embed else []
    selected = generate(ctx, source, offers, declared, machine + embedded)
    srcs = _sources(ctx, programs, source, merged)
    below = collect(ctx.attr.deps + ctx.attr._deps)
    linked = collect_infos([o.rt for o in offers if o.rt] if declared else [], [])
    go_action(
        ctx,
        "link",
        flags + ([] if ctx.attr.embed else ["-tags=ptefile"]) + ["./" + _MAIN],
        depset(srcs, transitive = below.srcs + linked.srcs),
        depset([s.file for s in srcs], transitive = below.files + linked.files),
        depset(transitive = below.layers + linked.layers),
        out = out,
        optional = None if declared else _optional(offers, selected),
        tools = tools,
        requirements = requirements,
    )
    beside = [] if ctx.attr.embed else [p.program for p in programs] + ([merged] if merged else [])
    info = PteRuntimeInfo(binary = out, declared = declared, label = str(ctx.label), programs = programs)
    return struct(info = info, source = source, data = merged, beside = beside)

def _pte_runtime_impl(ctx):
    out = ctx.actions.declare_file(_file_name(ctx))
    linked = link_runtime(ctx, out)
    return [
        DefaultInfo(
            files = depset([out] + [f for f in linked.beside if f == linked.data]),
            executable = out,
            runfiles = ctx.runfiles(ctx.files.data + linked.beside),
        ),
        OutputGroupInfo(source = depset([linked.source])),
        linked.info,
    ]

# Attributes of every rule that links programs.
RUNTIME_ATTRS = dict(
    dict(GO_ATTRS, **MERGE_ATTRS),
    backends = attr.label_list(providers = [PteBackendInfo], cfg = runtime_platform),
    cpu_features = attr.string_list(),
    default_srcs = attr.label_list(allow_files = True, cfg = runtime_platform),
    deps = attr.label_list(providers = [GoInfo], cfg = runtime_platform),
    embed = attr.bool(default = True),
    platform = attr.label(),
    programs = attr.label_list(providers = [PteProgramInfo], mandatory = True),
    srcs = attr.label_list(allow_files = True, cfg = runtime_platform),
    _allowlist_function_transition = attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    _deps = attr.label_list(
        default = [
            Label("//runtime/backend"),
            Label("//runtime/executor"),
            Label("//runtime/op"),
            Label("//runtime/pte/ptd"),
            Label("//:go_command"),
        ],
        providers = [[GoInfo], [GoCacheInfo]],
        cfg = runtime_platform,
    ),
    _target = attr.label(default = Label("//rules/go:target"), providers = [GoTargetInfo], cfg = runtime_platform),
)

pte_runtime = rule(
    implementation = _pte_runtime_impl,
    attrs = dict(RUNTIME_ATTRS, data = attr.label_list(allow_files = True, cfg = runtime_platform)),
    executable = True,
)
