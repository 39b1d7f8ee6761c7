"""Our own Go rules, private to this module: targets for Go packages, commands and tests.

`go run ./tools/gobuild` writes their BUILD files.
"""

load("//rules/go:action.bzl", "GO_ATTRS", "collect", "go_action", "go_srcs", "src_path")
load("//rules/go:providers.bzl", "GoCacheInfo", "GoInfo")

_MODULE = "github.com/rules-pte/rules_pte"

def _pte_go_cache_impl(ctx):
    below = collect(ctx.attr.deps)
    layer = ctx.actions.declare_file(ctx.label.name + ".gocache")
    layers = depset(transitive = below.layers)
    go_action(ctx, "compile", ctx.attr.packages, depset(), depset(), layers, layer_out = layer)
    return [
        DefaultInfo(files = depset([layer])),
        GoCacheInfo(layers = depset([layer], transitive = below.layers)),
    ]

pte_go_cache = rule(
    implementation = _pte_go_cache_impl,
    doc = "Compiles packages of the standard library and of other modules, once for all that import them.",
    attrs = dict(
        GO_ATTRS,
        deps = attr.label_list(providers = [GoCacheInfo]),
        packages = attr.string_list(mandatory = True),
    ),
)

def _dir(ctx):
    """Where the package lies in the module; packages of other modules lie in its vendor folder."""
    if ctx.attr.importpath:
        return "vendor/" + ctx.attr.importpath
    return ctx.attr.dir or ctx.label.package

def _pte_go_library_impl(ctx):
    for f in ctx.files.srcs if ctx.attr.importpath else []:
        if f.extension == "go" and "/" in src_path(ctx.label.package, f):
            fail("%s: %s does not lie in the folder of the BUILD file: each Go package has one of its own" % (ctx.label, f.short_path))
    below = collect(ctx.attr.deps + ctx.attr.caches)
    srcs = depset(go_srcs(ctx, _dir(ctx), ctx.files.srcs), transitive = below.srcs)
    files = depset(ctx.files.srcs, transitive = below.files)
    layers = depset(transitive = below.layers)
    layer = None
    if not ctx.attr.main:
        layer = ctx.actions.declare_file(ctx.label.name + ".gocache")
        go_action(ctx, "compile", [ctx.attr.importpath or "./" + _dir(ctx)], srcs, files, layers, layer_out = layer)
        layers = depset([layer], transitive = below.layers)
    return [
        DefaultInfo(files = depset([layer] if layer else [])),
        GoInfo(
            dir = _dir(ctx),
            importpath = ctx.attr.importpath or "%s/%s" % (_MODULE, _dir(ctx)),
            srcs = srcs,
            files = files,
            layers = layers,
        ),
    ]

pte_go_library = rule(
    implementation = _pte_go_library_impl,
    doc = "A Go package.",
    attrs = dict(
        GO_ATTRS,
        caches = attr.label_list(providers = [GoCacheInfo]),
        deps = attr.label_list(providers = [GoInfo]),
        dir = attr.string(doc = "The folder in the module; the package's own if empty."),
        importpath = attr.string(doc = "The import path of a package of another module; this module's with the folder if empty."),
        main = attr.bool(doc = "Whether the package is a command."),
        srcs = attr.label_list(allow_files = True, doc = "Sources and embedded files."),
    ),
)

def _pte_go_binary_impl(ctx):
    info = ctx.attr.library[GoInfo]
    out = ctx.actions.declare_file(ctx.attr.out or ctx.label.name)
    go_action(ctx, "link", ["./" + info.dir], info.srcs, info.files, info.layers, out = out)
    runfiles = ctx.runfiles(ctx.files.data + [out])
    return [DefaultInfo(files = depset([out]), executable = out, runfiles = runfiles)]

pte_go_binary = rule(
    implementation = _pte_go_binary_impl,
    doc = "A command.",
    attrs = dict(
        GO_ATTRS,
        data = attr.label_list(allow_files = True),
        library = attr.label(mandatory = True, providers = [GoInfo]),
        out = attr.string(doc = "The file's name; the target's if empty."),
    ),
    executable = True,
)

_RUN = """#!/bin/sh
# Tests run in the folder of their package, as `go test` runs them.
cd "$TEST_SRCDIR/{workspace}/{dir}" || exit 1
exec "$TEST_SRCDIR/{workspace}/{binary}" -test.v=false "$@"
"""

def _pte_go_test_impl(ctx):
    info = ctx.attr.library[GoInfo]
    below = collect(ctx.attr.deps + ctx.attr.caches)
    srcs = depset(go_srcs(ctx, info.dir, ctx.files.srcs), transitive = [info.srcs] + below.srcs)
    files = depset(ctx.files.srcs, transitive = [info.files] + below.files)
    layers = depset(transitive = [info.layers] + below.layers)
    binary = ctx.actions.declare_file(ctx.label.name + ".test")
    go_action(ctx, "test", ["./" + info.dir], srcs, files, layers, out = binary)
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        script,
        _RUN.format(workspace = ctx.workspace_name, dir = ctx.label.package, binary = binary.short_path),
        is_executable = True,
    )
    runfiles = ctx.runfiles(ctx.files.data + ctx.files.srcs + [binary])
    for d in ctx.attr.data:
        runfiles = runfiles.merge(d[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

pte_go_test = rule(
    implementation = _pte_go_test_impl,
    doc = "The tests of a Go package.",
    attrs = dict(
        GO_ATTRS,
        caches = attr.label_list(providers = [GoCacheInfo]),
        data = attr.label_list(allow_files = True),
        deps = attr.label_list(providers = [GoInfo]),
        library = attr.label(mandatory = True, providers = [GoInfo]),
        srcs = attr.label_list(allow_files = True),
    ),
    test = True,
)
