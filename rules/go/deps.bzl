"""The repository with the Go modules."""

load("//rules/go:sdk.bzl", "goproxy")

_BUILD = """
package(default_visibility = ["//visibility:public"])

# A folder, not a glob: one link in a sandbox, and go:embed works in it.
exports_files([
    "go.mod",
    "go.sum",
    "vendor",
])
"""

def _settings(rctx):
    """What the machine says about where modules come from."""
    env = {
        "GOCACHE": str(rctx.path("gocache")),
        "GOENV": "off",
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOMODCACHE": str(rctx.path("modcache")),
        "GOPATH": str(rctx.path("gopath")),
        "GOPROXY": goproxy(rctx) or "off",
        "GOSUMDB": "off",  # go.sum has every module
        "GOTELEMETRY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    if rctx.os.environ.get("PTE_GOMODCACHE"):
        env["GOMODCACHE"] = rctx.os.environ["PTE_GOMODCACHE"]
    return env

def _packages(rctx, file):
    return [line for line in rctx.read(file).splitlines() if line and not line.startswith("#")]

# Requires the user's module, so that versions are chosen for both.
_WITH_USER = """{gomod}
require {module} v0.0.0

replace {module} => ./user
"""

def _user_module(rctx):
    """The path in the user's go.mod."""
    for line in rctx.read(rctx.attr.user_gomod).splitlines():
        if line.startswith("module "):
            return line[len("module "):].strip().strip("\"")
    fail("go_mod: %s names no module" % rctx.attr.user_gomod)

def _stub(rctx):
    """Writes the module that is vendored: one that imports all packages, of ours and of the user's."""
    packages = _packages(rctx, rctx.attr.packages)
    gomod = rctx.read(rctx.attr.gomod)
    gosum = rctx.read(rctx.attr.gosum)
    if rctx.attr.user_gomod:
        if not rctx.attr.user_gosum or not rctx.attr.user_packages:
            fail("pte_dependencies: want all of go_mod, go_sum and packages, or none")
        packages += [p for p in _packages(rctx, rctx.attr.user_packages) if p not in packages]
        rctx.file("stub/user/go.mod", rctx.read(rctx.attr.user_gomod))
        gomod = _WITH_USER.format(gomod = gomod, module = _user_module(rctx))
        gosum += rctx.read(rctx.attr.user_gosum)
    rctx.file("stub/go.mod", gomod)
    rctx.file("stub/go.sum", gosum)
    rctx.file("stub/stub.go", "package stub\n\nimport (\n" + "".join(["\t_ \"%s\"\n" % p for p in packages]) + ")\n")
    return gosum

def _choose_versions(rctx, go, env):
    """Completes go.mod with what both modules need; `go mod vendor` does not."""
    env = dict(env, GOFLAGS = "-mod=mod -modcacherw")
    result = rctx.execute([go, "list", "-deps", "."], working_directory = "stub", environment = env)
    if result.return_code != 0:
        fail("choose versions of Go modules (GOPROXY=%s): %s" % (env["GOPROXY"], result.stderr))

def _check_sums(rctx, gosum):
    """Refuses modules whose sums neither go.sum has."""
    known = {line: True for line in gosum.splitlines()}
    new = [line for line in rctx.read("stub/go.sum").splitlines() if line and line not in known]
    if new:
        fail("fetch the Go modules: %s lacks sums of modules that the two go.mod need together; " % rctx.attr.user_gosum +
             "add a requirement of github.com/rules-pte/rules_pte to your go.mod and run `go mod tidy`, or add\n" + "\n".join(new))

def _pte_go_deps_impl(rctx):
    gosum = _stub(rctx)
    go = rctx.path(rctx.attr.sdk).dirname.get_child("goroot").get_child("bin").get_child("go")
    vendor = str(rctx.path("vendor"))
    env = _settings(rctx)
    if rctx.attr.user_gomod:
        _choose_versions(rctx, go, env)
        _check_sums(rctx, gosum)
    result = rctx.execute([go, "mod", "vendor", "-o", vendor], working_directory = "stub", environment = env)
    if result.return_code != 0:
        fail("fetch the Go modules (GOPROXY=%s): %s" % (env["GOPROXY"], result.stderr))
    for name in ["go.mod", "go.sum"]:
        rctx.file(name, rctx.read("stub/" + name), executable = False)
    clean = "find vendor '(' -name BUILD -o -name '*.bazel' -o -name WORKSPACE -o -name '*.bzl' ')' -type f -delete"
    result = rctx.execute(["sh", "-c", clean + " && rm -rf modcache gopath gocache"])
    if result.return_code != 0:
        fail("clean the folder of Go modules: " + result.stderr)
    rctx.file("BUILD.bazel", _BUILD)

pte_go_deps = repository_rule(
    implementation = _pte_go_deps_impl,
    doc = "A vendor folder with the packages of go_packages.txt and of the user's list, checked against the go.sum of both, and the " +
          "go.mod and go.sum that it belongs to.",
    attrs = {
        "gomod": attr.label(default = Label("//:go.mod"), allow_single_file = True),
        "gosum": attr.label(default = Label("//:go.sum"), allow_single_file = True),
        "packages": attr.label(default = Label("//:go_packages.txt"), allow_single_file = True),
        "sdk": attr.label(default = Label("@pte_go_sdk//:BUILD.bazel"), allow_single_file = True),
        "user_gomod": attr.label(allow_single_file = True, doc = "The go.mod of the workspace."),
        "user_gosum": attr.label(allow_single_file = True, doc = "Its go.sum."),
        "user_packages": attr.label(allow_single_file = True, doc = "The packages of other modules that the workspace imports."),
    },
    environ = ["GOPROXY", "PATH", "PTE_GOMODCACHE"],
)
