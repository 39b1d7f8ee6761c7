"""The repositories that rules_pte needs, for a MODULE.bazel file."""

load("//rules/go:deps.bzl", "pte_go_deps")
load("//rules/go:sdk.bzl", "pte_go_sdk")

_dependencies = tag_class(
    doc = "The Go modules that the root module's backends import.",
    attrs = {
        "go_mod": attr.label(mandatory = True, doc = "The go.mod."),
        "go_sum": attr.label(mandatory = True, doc = "Its go.sum, which has the sums of everything that both need."),
        "packages": attr.label(mandatory = True, doc = "The list of packages of other modules, as `pte gen packages` writes it."),
    },
)

def _pte_impl(mctx):
    tags = [tag for module in mctx.modules if module.is_root for tag in module.tags.dependencies]
    if len(tags) > 1:
        fail("pte.dependencies: %d of them in MODULE.bazel, want one" % len(tags))
    user = tags[0] if tags else struct(go_mod = None, go_sum = None, packages = None)
    pte_go_sdk(name = "pte_go_sdk")
    pte_go_deps(name = "pte_go_deps", user_gomod = user.go_mod, user_gosum = user.go_sum, user_packages = user.packages)
    if hasattr(mctx, "extension_metadata"):
        return mctx.extension_metadata(reproducible = True)  # sums are pinned here and in go.sum
    return None

pte = module_extension(
    implementation = _pte_impl,
    doc = "Declares the Go SDK `pte_go_sdk` and the Go modules `pte_go_deps`, at the versions that rules_pte is tested with. Its tag " +
          "`pte.dependencies(go_mod, go_sum, packages)`, in the root module, does what these arguments of `pte_dependencies` do.",
    tag_classes = {"dependencies": _dependencies},
)
