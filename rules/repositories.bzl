"""The repositories that rules_pte needs, for a WORKSPACE file."""

load("//rules/go:deps.bzl", "pte_go_deps")
load("//rules/go:sdk.bzl", "pte_go_sdk")
load("//rules/go:stubs.bzl", "STUBS", "pte_stub")

def pte_dependencies(go_mod = None, go_sum = None, packages = None):
    """Declares the Go SDK and the Go modules, at the versions that rules_pte is tested with.

    A workspace whose backends import packages of other modules names its own go.mod and go.sum, and the list of these
    packages, which `pte gen packages` writes. Versions are chosen for both together, as Go does. All three are given, or none.

    Args:
      go_mod: label of the workspace's go.mod.
      go_sum: label of its go.sum, which has the sums of everything that both need.
      packages: label of the list, a package on each line.
    """
    if "pte_go_sdk" not in native.existing_rules():
        pte_go_sdk(name = "pte_go_sdk")
    if "pte_go_deps" not in native.existing_rules():
        pte_go_deps(name = "pte_go_deps", user_gomod = go_mod, user_gosum = go_sum, user_packages = packages)

def pte_offline_stubs():
    """Declares empty stand-ins for `remote_coverage_tools`, `rules_cc` and `rules_java`, where the workspace has none.

    Bazel 4 downloads these three for rules that rules_pte does not use. A workspace that may not download them, and
    has no C++ or Java of its own, calls this; one that has those rules must not.
    """
    for name in STUBS:
        if name not in native.existing_rules():
            pte_stub(name = name, of = name)
