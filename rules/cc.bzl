"""pte_cc_library: a pte_library for C++ rules. Only its users load this file, since newer Bazels have no C++ rules of their own."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//rules:providers.bzl", "PteLibraryInfo")

def _to_link(ctx, toolchain, info):
    """The library as the C++ rules see it."""
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    static = info.linkmode == "c-archive"
    return cc_common.create_library_to_link(
        actions = ctx.actions,
        cc_toolchain = toolchain,
        dynamic_library = None if static else info.library,
        feature_configuration = features,
        static_library = info.library if static else None,
    )

def _pte_cc_library_impl(ctx):
    info = ctx.attr.library[PteLibraryInfo]
    linker_input = cc_common.create_linker_input(
        owner = ctx.label,
        libraries = depset([_to_link(ctx, find_cpp_toolchain(ctx), info)]),
        user_link_flags = depset(["-lpthread"]),
    )
    compilation = cc_common.create_compilation_context(
        headers = depset(info.headers),
        includes = depset([f.dirname for f in info.headers]),
    )
    return [
        DefaultInfo(files = depset([info.library] + info.headers)),
        CcInfo(
            compilation_context = compilation,
            linking_context = cc_common.create_linking_context(linker_inputs = depset([linker_input])),
        ),
    ]

pte_cc_library = rule(
    implementation = _pte_cc_library_impl,
    doc = "A pte_library that cc_binary and cc_library can depend on; `#include \"pte.h\"` or `\"pte.hpp\"`.",
    attrs = {
        "library": attr.label(mandatory = True, providers = [PteLibraryInfo], doc = "A pte_library."),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
