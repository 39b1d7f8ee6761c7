"""pte_web: what programs need as WebAssembly, and a page around it."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules/go:action.bzl", "go_target", "src_path")
load(":runtime.bzl", "DATA", "RUNTIME_ATTRS", "link_runtime")

def _place(ctx, file):
    """Where a file of `pages` lies in the target's folder."""
    if file.owner.package != ctx.label.package:
        return file.basename
    path = src_path(ctx.label.package, file)
    prefix = ctx.label.name + "/"
    return path[len(prefix):] if path.startswith(prefix) else path

def _files(ctx, linked):
    """The files of the target's folder beside the module, by their places."""
    files = {f.basename: f for f in ctx.files._js}
    if go_target(ctx).tags:
        files.update({f.basename: f for f in ctx.files._kernels})
    files.update({DATA if f == linked.data else f.basename: f for f in linked.beside})
    for f in ctx.files.pages:
        place = _place(ctx, f)
        if place in files or place == "pte.wasm":
            fail("%s: pages: %s would replace %s of pte_web" % (ctx.label, f.short_path, place))
        files[place] = f
    return files

def _pte_web_impl(ctx):
    module = ctx.actions.declare_file(ctx.label.name + "/pte.wasm")
    linked = link_runtime(ctx, module, ["-buildmode=c-shared"])
    outputs = [module]
    for place, f in sorted(_files(ctx, linked).items()):
        copy = ctx.actions.declare_file(ctx.label.name + "/" + place)
        ctx.actions.symlink(output = copy, target_file = f)
        outputs.append(copy)
    server = ctx.actions.declare_file(ctx.label.name + "_server")
    ctx.actions.symlink(output = server, target_file = ctx.executable._server, is_executable = True)
    return [
        DefaultInfo(files = depset(outputs), executable = server, runfiles = ctx.runfiles(outputs)),
        OutputGroupInfo(module = depset([module])),
        linked.info,
    ]

pte_web = rule(
    implementation = _pte_web_impl,
    attrs = dict(
        RUNTIME_ATTRS,
        pages = attr.label_list(allow_files = True),
        platform = attr.label(default = Label("//rules/platforms:page")),
        _js = attr.label(default = Label("//runtime/web:js")),
        _kernels = attr.label(default = Label("//runtime/kernel:wasm"), allow_files = True),
        _server = attr.label(default = Label("//rules/webserver"), executable = True, cfg = TOOL_CFG),
    ),
    executable = True,
)
