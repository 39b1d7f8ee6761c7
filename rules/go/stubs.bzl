"""Empty stand-ins for the repositories that Bazel 4 would download for rules that nobody uses here."""

_RULES = """\"\"\"Bazel 4.2.3's own packages load these; they stand for the native rules.\"\"\"

{names}
"""

# The rules that each file gives, by the repository's name.
_NATIVE = {
    "rules_cc": ("cc", [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "fdo_prefetch_hints",
        "fdo_profile",
        "objc_import",
        "objc_library",
    ]),
    "rules_java": ("java", [
        "java_binary",
        "java_import",
        "java_library",
        "java_plugin",
        "java_runtime",
        "java_test",
        "java_toolchain",
    ]),
}

# Bazel 4.2.3 gives every test rule the label of this target.
_COVERAGE = """filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
"""

# The repositories that pte_stub can stand for.
STUBS = ["remote_coverage_tools"] + sorted(_NATIVE)

def _pte_stub_impl(rctx):
    if rctx.attr.of not in _NATIVE:
        rctx.file("BUILD.bazel", _COVERAGE)
        return
    folder, names = _NATIVE[rctx.attr.of]
    rctx.file("BUILD.bazel")
    rctx.file(folder + "/BUILD.bazel")
    rctx.file(folder + "/defs.bzl", _RULES.format(names = "\n".join(["%s = native.%s" % (n, n) for n in names])))

pte_stub = repository_rule(
    implementation = _pte_stub_impl,
    doc = "A stand-in for a repository that Bazel 4 downloads, with the native rules only.",
    attrs = {"of": attr.string(mandatory = True, values = STUBS, doc = "The repository.")},
)
