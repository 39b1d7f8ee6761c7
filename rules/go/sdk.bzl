"""The repository with the Go SDK."""

# The version of Go that everything is built with.
GO_VERSION = "1.26.8"

# The sha256 of golang.org/toolchain's module zip by platform.
_ZIPS = {
    "darwin-amd64": "fe99a2009e5bb51e06d7784f1a486478673512041c2671157bd382806e2aedcf",
    "darwin-arm64": "0aad5fb52b88498885290178adc0bcfe429bc63012621af9f83282eb640bd9c7",
    "linux-amd64": "30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7",
    "linux-arm64": "02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99",
}

# Folders and programs that no build needs. (`go test -c` wants vet to be there even with -vet=off.)
_PRUNE = [
    "api",
    "doc",
    "misc",
    "test",
    "src/cmd",
    "bin/gofmt",
    "pkg/tool/{platform}/cover",
    "pkg/tool/{platform}/fix",
    "pkg/tool/{platform}/preprofile",
]

def goproxy(rctx):
    """The proxies to ask for modules, as a GOPROXY list, or "".

    Args:
      rctx: a repository context.

    Returns:
      GOPROXY of the environment, else what the machine's go says.
    """
    value = rctx.os.environ.get("GOPROXY", "")
    go = rctx.which("go")
    if not value and go:
        result = rctx.execute([go, "env", "GOPROXY"], environment = {"GOTOOLCHAIN": "local"})
        value = result.stdout.strip() if result.return_code == 0 else ""
    return value

def _machine(rctx):
    """The platform of the machine, as GOOS-GOARCH."""
    name = rctx.os.name.lower()
    if name.startswith("windows"):  # which has no uname
        return "windows-" + rctx.os.environ.get("PROCESSOR_ARCHITECTURE", "amd64").lower()
    goos = "darwin" if name.startswith("mac") else "linux"
    arch = rctx.execute(["uname", "-m"]).stdout.strip()
    goarch = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "amd64"}.get(arch, arch)
    return goos + "-" + goarch

def _local_goroot(rctx, wanted):
    """The folder of the SDK that PTE_GOROOT names, whose version must be the right one."""
    exe = ".exe" if rctx.os.name.lower().startswith("windows") else ""
    go = rctx.path(wanted + "/bin/go" + exe)
    if not go.exists:
        fail("PTE_GOROOT=%s: want the folder of go%s, which has bin/go%s" % (wanted, GO_VERSION, exe))
    result = rctx.execute([go, "env", "GOVERSION", "GOROOT"], environment = {"GOTOOLCHAIN": "local"})
    lines = result.stdout.splitlines()
    if result.return_code != 0 or len(lines) != 2 or lines[0] != "go" + GO_VERSION:
        fail("PTE_GOROOT=%s: want go%s, got %s" % (wanted, GO_VERSION, lines[0] if lines else result.stderr))
    return lines[1]

def _download(rctx, platform):
    local = "set PTE_GOROOT to the folder of a go %s" % GO_VERSION
    if platform not in _ZIPS:
        fail("no Go SDK for %s is pinned here, only for %s: %s" % (platform, ", ".join(sorted(_ZIPS)), local))
    proxies = [p for p in goproxy(rctx).replace("|", ",").split(",") if p not in ["", "direct", "off"]]
    if not proxies:
        fail("go %s is needed, and no Go module proxy is known to fetch it from: set GOPROXY, or %s" % (GO_VERSION, local))
    release = "v0.0.1-go%s.%s" % (GO_VERSION, platform)
    result = rctx.download_and_extract(
        url = [p.rstrip("/") + "/golang.org/toolchain/@v/" + release + ".zip" for p in proxies],
        output = "goroot",
        sha256 = _ZIPS[platform],
        stripPrefix = "golang.org/toolchain@" + release,
        allow_fail = True,
    )
    if not result.success:
        fail("fetch go %s for %s from GOPROXY=%s: the warnings above say why; without a network, %s" % (GO_VERSION, platform, ",".join(proxies), local))
    _unpack(rctx, platform.replace("-", "_"))

def _unpack(rctx, platform):
    """Undoes what a module zip does to an SDK and drops what no build needs."""
    for path in _PRUNE:
        rctx.delete("goroot/" + path.format(platform = platform))
    script = """
chmod -R a+x goroot/bin goroot/pkg/tool &&
find goroot -name _go.mod | while read -r f; do mv "$f" "${f%_go.mod}go.mod"; done &&
find goroot -name testdata -type d -prune -exec rm -rf {} + &&
find goroot -name '*_test.go' -delete
"""
    result = rctx.execute(["sh", "-c", script])
    if result.return_code != 0:
        fail("unpack the Go SDK: " + result.stderr)

def _pte_go_sdk_impl(rctx):
    machine = _machine(rctx)
    platform = rctx.attr.platform or machine
    wanted = rctx.os.environ.get("PTE_GOROOT", "") if platform == machine else ""
    if wanted:
        rctx.symlink(_local_goroot(rctx, wanted), "goroot")
    else:
        _download(rctx, platform)
    rctx.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])

# A folder, not a glob: one link in a sandbox, and go:embed works in it.
exports_files(["goroot"])
""")
    rctx.file("exe.bzl", "EXE = \"%s\"\n" % (".exe" if platform.startswith("windows") else ""))

pte_go_sdk = repository_rule(
    implementation = _pte_go_sdk_impl,
    doc = "The official Go SDK of version GO_VERSION from the module proxy, or the one in the folder that the environment's PTE_GOROOT names.",
    attrs = {
        "platform": attr.string(doc = "GOOS-GOARCH of the machines that run actions, by default of this one."),
    },
    environ = ["GOPROXY", "PATH", "PTE_GOROOT"],
)
