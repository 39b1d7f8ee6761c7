"""pte_library: what programs need behind the C interface of pte.h."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteLibraryInfo")
load("//rules/go:action.bzl", "go_target")
load(":runtime.bzl", "RUNTIME_ATTRS", "link_runtime")

# The ending of each kind of library, by GOOS.
_ENDINGS = {
    "c-archive": {},
    "c-shared": {"darwin": ".dylib", "windows": ".dll"},
}
_ENDING = {"c-archive": ".a", "c-shared": ".so"}

def _file_name(ctx, target):
    prefix = "" if target.goos == "windows" else "lib"
    mode = ctx.attr.linkmode
    return prefix + ctx.label.name + _ENDINGS[mode].get(target.goos, _ENDING[mode])

def _headers(ctx):
    """pte.h and pte.hpp in a folder of the target."""
    headers = []
    for f in ctx.files._headers:
        copy = ctx.actions.declare_file(ctx.label.name + "/" + f.basename)
        ctx.actions.symlink(output = copy, target_file = f)
        headers.append(copy)
    return headers

def _pte_library_impl(ctx):
    target = go_target(ctx)
    if target.goarch in ["arm", "wasm"]:
        fail("%s: a pte_library is for 64-bit platforms with a C compiler; %s/%s is none of them" % (ctx.label, target.goos, target.goarch))
    out = ctx.actions.declare_file(_file_name(ctx, target))
    cc = ctx.executable.cc.path if ctx.attr.cc else "host"
    tools = [ctx.attr.cc[DefaultInfo].files_to_run] if ctx.attr.cc else []

    # No key names the machine's compiler, so what it makes stays on the machine.
    requirements = {} if ctx.attr.cc else {"no-remote": "1"}
    linked = link_runtime(ctx, out, ["-buildmode=" + ctx.attr.linkmode, "-cc=" + cc], tools, requirements)
    headers = _headers(ctx)
    files = [out] + headers + linked.beside
    return [
        DefaultInfo(files = depset(files), runfiles = ctx.runfiles(files)),
        OutputGroupInfo(headers = depset(headers), library = depset([out])),
        PteLibraryInfo(headers = headers, library = out, linkmode = ctx.attr.linkmode),
        linked.info,
    ]

pte_library = rule(
    implementation = _pte_library_impl,
    attrs = dict(
        RUNTIME_ATTRS,
        cc = attr.label(executable = True, allow_files = True, cfg = TOOL_CFG),
        linkmode = attr.string(default = "c-shared", values = ["c-archive", "c-shared"]),
        _headers = attr.label(default = Label("//runtime/capi:headers")),
    ),
)
