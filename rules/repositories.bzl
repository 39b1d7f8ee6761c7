"""The repositories that rules_pte needs, for a WORKSPACE file."""

load("//rules/go:deps.bzl", "pte_go_deps")
load("//rules/go:sdk.bzl", "pte_go_sdk")
load("//rules/go:stubs.bzl", "STUBS", "pte_stub")

def pte_dependencies():
    """Declares the Go SDK and the Go modules, at the versions that rules_pte is tested with."""
    if "pte_go_sdk" not in native.existing_rules():
        pte_go_sdk(name = "pte_go_sdk")
    if "pte_go_deps" not in native.existing_rules():
        pte_go_deps(name = "pte_go_deps")

def pte_offline_stubs():
    """Declares empty stand-ins for `remote_coverage_tools`, `rules_cc` and `rules_java`, where the workspace has none.

    Bazel 4 downloads these three for rules that rules_pte does not use. A workspace that may not download them, and
    has no C++ or Java of its own, calls this; one that has those rules must not.
    """
    for name in STUBS:
        if name not in native.existing_rules():
            pte_stub(name = name, of = name)
