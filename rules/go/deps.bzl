"""The repository with the Go modules."""

load("//rules/go:sdk.bzl", "goproxy")

_BUILD = """
package(default_visibility = ["//visibility:public"])

# A folder, not a glob: one link in a sandbox, and go:embed works in it.
exports_files(["vendor"])
"""

def _settings(rctx):
    """What the machine says about where modules come from."""
    env = {
        "GOENV": "off",
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOMODCACHE": str(rctx.path("modcache")),
        "GOPATH": str(rctx.path("gopath")),
        "GOCACHE": str(rctx.path("gocache")),
        "GOPROXY": goproxy(rctx) or "off",
        "GOSUMDB": "off",  # go.sum has every module
        "GOTELEMETRY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    if rctx.os.environ.get("PTE_GOMODCACHE"):
        env["GOMODCACHE"] = rctx.os.environ["PTE_GOMODCACHE"]
    return env

def _pte_go_deps_impl(rctx):
    packages = [line for line in rctx.read(rctx.attr.packages).splitlines() if line and not line.startswith("#")]
    rctx.file("stub/go.mod", rctx.read(rctx.attr.gomod))
    rctx.file("stub/go.sum", rctx.read(rctx.attr.gosum))
    rctx.file("stub/stub.go", "package stub\n\nimport (\n" + "".join(["\t_ \"%s\"\n" % p for p in packages]) + ")\n")
    go = rctx.path(rctx.attr.sdk).dirname.get_child("goroot").get_child("bin").get_child("go")
    vendor = str(rctx.path("vendor"))
    env = _settings(rctx)
    result = rctx.execute([go, "mod", "vendor", "-o", vendor], working_directory = "stub", environment = env)
    if result.return_code != 0:
        fail("fetch the Go modules (GOPROXY=%s): %s" % (env["GOPROXY"], result.stderr))
    clean = "find vendor '(' -name BUILD -o -name '*.bazel' -o -name WORKSPACE -o -name '*.bzl' ')' -type f -delete"
    rctx.execute(["sh", "-c", clean + "; rm -rf modcache gopath gocache"])
    rctx.file("BUILD.bazel", _BUILD)

pte_go_deps = repository_rule(
    implementation = _pte_go_deps_impl,
    doc = "A vendor folder with the packages of go_packages.txt, checked against go.sum.",
    attrs = {
        "gomod": attr.label(default = Label("//:go.mod"), allow_single_file = True),
        "gosum": attr.label(default = Label("//:go.sum"), allow_single_file = True),
        "packages": attr.label(default = Label("//:go_packages.txt"), allow_single_file = True),
        "sdk": attr.label(default = Label("@pte_go_sdk//:BUILD.bazel"), allow_single_file = True),
    },
    environ = ["GOPROXY", "PATH", "PTE_GOMODCACHE"],
)
