"""The one action of all Go rules."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules/go:providers.bzl", "GoCacheInfo", "GoInfo", "GoTargetInfo")

# Attributes of every rule that compiles.
GO_ATTRS = {
    "_builder": attr.label(default = Label("//rules/go:builder"), executable = True, cfg = TOOL_CFG),
    "_gomod": attr.label(default = Label("@pte_go_deps//:go.mod"), allow_single_file = True),
    "_goroot": attr.label(default = Label("@pte_go_sdk//:goroot"), allow_single_file = True),
    "_gosum": attr.label(default = Label("@pte_go_deps//:go.sum"), allow_single_file = True),
    "_target": attr.label(default = Label("//rules/go:target"), providers = [GoTargetInfo]),
    "_vendor": attr.label(default = Label("@pte_go_deps//:vendor"), allow_single_file = True),
}

def src_path(package, file):
    """The path of a file below its package, also if it is generated or of another repository.

    Args:
      package: the package of the target that has the file.
      file: the file.

    Returns:
      the path, relative to the package.
    """
    path = file.short_path
    if path.startswith("../"):
        path = path.split("/", 2)[2]
    return path[len(package) + 1:] if package and path.startswith(package + "/") else path

def go_srcs(ctx, dir, files):
    """Where files lie in the module.

    Args:
      ctx: the context of the rule that has the files.
      dir: the folder of the package in the module.
      files: a list of File.

    Returns:
      a list of struct(path, file).
    """
    return [struct(path = dir + "/" + src_path(ctx.label.package, f), file = f) for f in files]

def collect(deps):
    """What a list of dependencies gives.

    Args:
      deps: targets with GoInfo or GoCacheInfo.

    Returns:
      struct(srcs, files, layers): lists of depsets.
    """
    return collect_infos(
        [d[GoInfo] for d in deps if GoInfo in d],
        [d[GoCacheInfo] for d in deps if GoCacheInfo in d],
    )

def collect_infos(infos, caches):
    """What Go packages and caches give.

    Args:
      infos: a list of GoInfo.
      caches: a list of GoCacheInfo.

    Returns:
      struct(srcs, files, layers): lists of depsets.
    """
    return struct(
        srcs = [i.srcs for i in infos],
        files = [i.files for i in infos],
        layers = [i.layers for i in infos] + [c.layers for c in caches],
    )

def go_target(ctx):
    """What a target is compiled for.

    Args:
      ctx: the context of a rule with GO_ATTRS.

    Returns:
      a GoTargetInfo.
    """
    target = ctx.attr._target  # a list where the attribute has a transition
    return (target[0] if type(target) == "list" else target)[GoTargetInfo]

def _src_flag(src):
    return src.path + "=" + src.file.path

def go_action(ctx, mode, packages, srcs, files, layers, out = None, layer_out = None, optional = None, tools = [], requirements = {}):
    """Runs the builder.

    Args:
      ctx: the context of a rule with GO_ATTRS.
      mode: the builder's subcommand.
      packages: list of what go builds.
      srcs: depset of struct(path, file).
      files: depset of File: those of srcs.
      layers: depset of File.
      out: the File to link, or None.
      layer_out: the layer to write, or None.
      optional: sources that are needed if a package is, which only the action knows, or None: struct(selected, srcs, files)
        with the File that lists the needed packages, a list of (package, depset of struct(path, file)), and a depset of File.
      tools: list of FilesToRunProvider: what packages, which are flags too, name.
      requirements: the action's execution requirements.
    """
    target = go_target(ctx)
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    args.add("-goroot=" + ctx.file._goroot.path)
    args.add("-gomod=" + ctx.file._gomod.path)
    args.add("-gosum=" + ctx.file._gosum.path)
    args.add("-vendor=" + ctx.file._vendor.path)
    args.add("-goos=" + target.goos)
    args.add("-goarch=" + target.goarch)
    args.add("-goarm=" + target.goarm)
    args.add_all(target.tags, format_each = "-tags=%s")
    args.add_all(layers, format_each = "-layer=%s")
    args.add_all(srcs, map_each = _src_flag, format_each = "-src=%s")
    outputs = []
    for flag, file in [("-out=", out), ("-layer_out=", layer_out)]:
        if file:
            args.add(flag + file.path)
            outputs.append(file)
    inputs = [files, layers]
    unused = None
    if optional:
        unused = ctx.actions.declare_file(ctx.label.name + ".unused")
        args.add("-selected=" + optional.selected.path)
        args.add("-unused_out=" + unused.path)
        for package, owned in optional.srcs:
            args.add_all(owned, map_each = _src_flag, format_each = "-optional=" + package + "|%s")
        inputs += [optional.files, depset([optional.selected])]
        outputs.append(unused)
    args.add_all(packages)
    sdk = depset([ctx.file._goroot, ctx.file._gomod, ctx.file._gosum, ctx.file._vendor])
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [mode, args],
        inputs = depset(transitive = inputs + [sdk]),
        outputs = outputs,
        mnemonic = "Go" + mode.capitalize(),
        progress_message = "Go %s %s" % (mode, ctx.label),
        execution_requirements = requirements,
        tools = tools,
        unused_inputs_list = unused,
    )
