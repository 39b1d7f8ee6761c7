"""The repositories that rules_pte needs, for a MODULE.bazel file."""

load("//rules/go:deps.bzl", "pte_go_deps")
load("//rules/go:sdk.bzl", "pte_go_sdk")

def _pte_impl(_ctx):
    pte_go_sdk(name = "pte_go_sdk")
    pte_go_deps(name = "pte_go_deps")

pte = module_extension(
    implementation = _pte_impl,
    doc = "Declares the Go SDK `pte_go_sdk` and the Go modules `pte_go_deps`, at the versions that rules_pte is tested with.",
)
