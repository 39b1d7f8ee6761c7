"""pte_program: a .pte from exported models, in the steps split, program, check and pack."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteBackendInfo", "PteLowererInfo", "PteProgramInfo", "PteSpecInfo")
load(":spec.bzl", "imports_of")

def _run(ctx, step, arguments, inputs, outputs, mnemonic, unused = None):
    ctx.actions.run(
        executable = ctx.executable.lowerer,
        arguments = step + [arguments],
        inputs = inputs,
        outputs = outputs,
        mnemonic = mnemonic,
        progress_message = "%s %s" % (mnemonic, ctx.label),
        unused_inputs_list = unused,
    )

def _file(ctx, suffix):
    return ctx.actions.declare_file(ctx.label.name + suffix)

def _models(ctx):
    """The models as a list of struct(key, file, graph)."""
    out = []
    for target, key in ctx.attr.models.items():
        files = target[DefaultInfo].files.to_list()
        if len(files) != 1:
            fail("%s: models: %s is %d files, want one" % (ctx.label, target.label, len(files)))
        out.append(struct(key = key, file = files[0], graph = _file(ctx, ".%d.pt2s" % len(out))))
    return out

def _split(ctx, model):
    args = ctx.actions.args()
    args.add("--model", "%s=%s" % (model.key, model.file.path))
    args.add("-o", model.graph)
    _run(ctx, ["lower", "split"], args, [model.file], [model.graph], "PteSplit")

def _add_spec(ctx, args, spec):
    """Adds the flags that say what the spec consists of beside its file."""
    args.add_all(spec.srcs, before_each = "--src")
    args.add_all(spec.imports, before_each = "--import")
    if ctx.attr.program:
        args.add("--program", ctx.attr.program)

def _vet(ctx, spec):
    """Checks the spec, and splits it into its values and their places; `expect` is in neither."""
    out = struct(marker = _file(ctx, ".vet"), values = _file(ctx, ".spec.json"), places = _file(ctx, ".places.json"))
    args = ctx.actions.args()
    args.add("--marker", out.marker)
    args.add("--values", out.values)
    args.add("--places", out.places)
    _add_spec(ctx, args, spec)
    args.add("--no-models")
    args.add(spec.file)
    _run(ctx, ["vet"], args, spec.files, [out.marker, out.values, out.places], "PteVet")
    return out

_DEFAULT_SPEC = """package spec

import "github.com/rules-pte/rules_pte/cue/lower"

program: lower.#Program & {methods: {
%s}}
"""

def _spec(ctx, models):
    """The spec, or a default one in which every model is a method, as struct(file, srcs, imports, files)."""
    below = imports_of(ctx.label, ctx.attr.deps)
    library = ctx.attr.spec[PteSpecInfo] if ctx.attr.spec and PteSpecInfo in ctx.attr.spec else None
    if library:
        if ctx.files.srcs or ctx.attr.deps:
            fail("%s: spec is the pte_spec %s, which has srcs and deps itself: want none here" % (ctx.label, library.label))
        return struct(file = library.srcs[0], srcs = library.srcs[1:], imports = library.deps.args, files = library.files)
    if not ctx.attr.spec:
        file = _file(ctx, ".pte.cue")
        methods = "".join(["\t%s: model: %s\n" % (json.encode(m.key), json.encode(m.key)) for m in models])
        ctx.actions.write(file, _DEFAULT_SPEC % methods)
    elif len(ctx.files.spec) == 1 and ctx.files.spec[0].extension == "cue":
        file = ctx.files.spec[0]
    else:
        fail("%s: spec: %s is no .cue file and no pte_spec" % (ctx.label, ctx.attr.spec.label))
    return struct(file = file, srcs = ctx.files.srcs, imports = below.args, files = depset([file] + ctx.files.srcs, transitive = [below.files]))

def _program(ctx, models, spec, vet):
    """Lowers. The places of the spec's values are for errors alone, so that a program which lowered does not depend on them."""
    out = struct(program = _file(ctx, ".ptep"), report = _file(ctx, ".report.json"))
    unused = _file(ctx, ".unused")
    args = _program_args(ctx, models, spec, vet)
    args.add("--unused", unused)
    args.add("-o", out.program)
    args.add("--report", out.report)
    _run(ctx, ["lower", "program"], args, _program_inputs(models, spec, vet), [out.program, out.report, unused], "PteProgram", unused)
    return out

def _program_args(ctx, models, spec, vet):
    args = ctx.actions.args()
    if vet:
        args.add("--values", vet.values)
        args.add("--places", vet.places)
    else:
        args.add("--spec", spec.file)
    for m in models:
        args.add("--graph", "%s=%s" % (m.key, m.graph.path))
    return args

def _program_inputs(models, spec, vet):
    return ([vet.values, vet.places] if vet else [spec.file]) + [m.graph for m in models]

def _debug(ctx, models, spec, vet):
    """Lowers again, when asked, for the files that say what instructions came from: PteProgram has no use for them."""
    out = [ctx.actions.declare_file(ctx.attr.out + s) for s in [".debug.json", ".etrecord"]]
    scratch = [_file(ctx, ".debug.ptep"), _file(ctx, ".debug.report.json")]
    args = _program_args(ctx, models, spec, vet)
    args.add("--debug", out[0])
    args.add("--etrecord", out[1])
    args.add("-o", scratch[0])
    args.add("--report", scratch[1])
    _run(ctx, ["lower", "program"], args, _program_inputs(models, spec, vet), out + scratch, "PteDebug")
    return out

def _check(ctx, report, spec, vet):
    marker = _file(ctx, ".check")
    args = ctx.actions.args()
    args.add("--spec", spec.file)
    _add_spec(ctx, args, spec)
    args.add("--vetted", vet.marker)
    args.add("--report", report)
    args.add("-o", marker)
    _run(ctx, ["lower", "check"], args, depset([report, vet.marker], transitive = [spec.files]), [marker], "PteCheck")
    return marker

def _again(ctx, spec, models):
    """What lowers in one step."""
    args = ["--src=" + f.path for f in spec.srcs] + ["--import=" + i for i in spec.imports.to_list()]
    args += ["--program=" + ctx.attr.program] if ctx.attr.program else []
    args += ["--model=%s=%s" % (m.key, m.file.path) for m in models]
    return struct(
        tool = ctx.attr.lowerer[DefaultInfo].files_to_run,
        args = args + [spec.file.path],
        data = ctx.attr.data_files,
        files = depset([m.file for m in models], transitive = [spec.files]),
    )

def _pack(ctx, models, lowered, check):
    out = ctx.actions.declare_file(ctx.attr.out + ".pte")
    manifest = _file(ctx, ".manifest.json")
    args = ctx.actions.args()
    args.add("--program", lowered.program)
    for m in models:
        args.add("--model", "%s=%s" % (m.key, m.file.path))
    args.add_all("--check", check)
    args.add("-o", out)
    args.add("--manifest", manifest)
    data = []
    for name in ctx.attr.data_files:
        data.append(ctx.actions.declare_file("%s.%s.ptd" % (ctx.attr.out, name)))
        args.add("--data", "%s=%s" % (name, data[-1].path))
    inputs = [lowered.program] + check + [m.file for m in models]
    _run(ctx, ["lower", "pack"], args, inputs, [out, manifest] + data, "PtePack")
    return struct(out = out, manifest = manifest, data = data)

def _backends(ctx):
    """What the lowerer was built with; a lowerer that is no pte_lowerer has this project's."""
    if PteLowererInfo in ctx.attr.lowerer:
        return ctx.attr.lowerer[PteLowererInfo].backends
    return [b[PteBackendInfo] for b in ctx.attr._backends]

def _pte_program_impl(ctx):
    models = _models(ctx)
    for m in models:
        _split(ctx, m)
    spec = _spec(ctx, models)

    # The default spec is right, and expects nothing.
    vet = _vet(ctx, spec) if ctx.attr.spec else None
    lowered = _program(ctx, models, spec, vet)
    check = [_check(ctx, lowered.report, spec, vet)] if vet else []
    packed = _pack(ctx, models, lowered, check)
    return [
        DefaultInfo(files = depset([packed.out] + packed.data), runfiles = ctx.runfiles([packed.out] + packed.data)),
        OutputGroupInfo(
            _validation = depset([vet.marker] + check if vet else []),
            debug = depset(_debug(ctx, models, spec, vet)),
            manifest = depset([packed.manifest]),
            report = depset([lowered.report]),
        ),
        PteProgramInfo(
            again = _again(ctx, spec, models),
            backends = _backends(ctx),
            data = packed.data,
            label = str(ctx.label),
            lowerer = ctx.executable.lowerer if PteLowererInfo in ctx.attr.lowerer else None,
            name = ctx.attr.out,
            program = packed.out,
            manifest = packed.manifest,
            report = lowered.report,
        ),
    ]

pte_program = rule(
    implementation = _pte_program_impl,
    attrs = {
        "data_files": attr.string_list(),
        "deps": attr.label_list(allow_files = True),
        "lowerer": attr.label(default = Label("//lowerer/cmd/pte"), executable = True, cfg = TOOL_CFG),
        "models": attr.label_keyed_string_dict(allow_files = True, mandatory = True),
        "out": attr.string(mandatory = True),
        "program": attr.string(),
        "spec": attr.label(allow_files = True),
        "srcs": attr.label_list(allow_files = True),
        "_backends": attr.label_list(
            default = [
                Label("//backends/demo:backend"),
                Label("//backends/null:backend"),
                Label("//backends/xnnpack:backend"),
            ],
            providers = [PteBackendInfo],
        ),
    },
)

def model_keys(models, spec):
    """The models as a dict from label to key.

    Args:
      models: a dict already, or a list of labels.
      spec: the spec, or None; without it the only model of a list is the method "forward".

    Returns:
      a dict from label to key.
    """
    if type(models) == "dict":
        return models
    if not spec and len(models) == 1:
        return {models[0]: "forward"}
    return {m: m.split(":")[-1] for m in models}
