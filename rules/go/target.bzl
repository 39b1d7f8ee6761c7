"""What Go compiles for, and the program that compiles."""

load("//rules/go:providers.bzl", "GoTargetInfo")

def _pte_go_target_impl(ctx):
    return [GoTargetInfo(goos = ctx.attr.goos, goarch = ctx.attr.goarch, goarm = ctx.attr.goarm)]

pte_go_target = rule(
    implementation = _pte_go_target_impl,
    doc = "GOOS and GOARCH of the configuration it is built in.",
    attrs = {
        "goarch": attr.string(mandatory = True),
        "goarm": attr.string(),
        "goos": attr.string(mandatory = True),
    },
)

_BOOTSTRAP = """
home=$(mktemp -d) && trap 'chmod -R u+w "$home"; rm -rf "$home"' EXIT
goroot=$PWD/$1 out=$2 && shift 2
env -i PATH="$PATH" HOME="$home" GOROOT="$goroot" GOCACHE="$home/cache" GOPATH="$home/go" GOENV=off GOFLAGS= \
  GOTELEMETRY=off GOTOOLCHAIN=local GO111MODULE=off CGO_ENABLED=0 \
  "$goroot/bin/go" build -trimpath -buildvcs=false -ldflags='-buildid= -s -w' -o "$out" "$@"
"""

def _pte_go_builder_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".exe")
    ctx.actions.run_shell(
        outputs = [out],
        inputs = ctx.files.srcs + [ctx.file._goroot],
        command = _BOOTSTRAP,
        arguments = [ctx.file._goroot.path, out.path] + [f.path for f in ctx.files.srcs],
        mnemonic = "GoBuilder",
        progress_message = "Building the Go builder",
    )
    return [DefaultInfo(files = depset([out]), executable = out)]

pte_go_builder = rule(
    implementation = _pte_go_builder_impl,
    doc = "The builder, built by the SDK alone.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".go"]),
        "_goroot": attr.label(default = Label("@pte_go_sdk//:goroot"), allow_single_file = True),
    },
    executable = True,
)
