"""The repositories that rules_pte needs, for a WORKSPACE file."""

load("//rules/go:deps.bzl", "pte_go_deps")
load("//rules/go:sdk.bzl", "pte_go_sdk")

def pte_dependencies():
    """Declares the Go SDK and the Go modules, at the versions that rules_pte is tested with."""
    if "pte_go_sdk" not in native.existing_rules():
        pte_go_sdk(name = "pte_go_sdk")
    if "pte_go_deps" not in native.existing_rules():
        pte_go_deps(name = "pte_go_deps")
