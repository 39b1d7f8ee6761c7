"""What Go compiles for, and the program that compiles."""

load("@pte_go_sdk//:exe.bzl", "EXE")
load("//rules/go:providers.bzl", "GoTargetInfo")

def _pte_go_target_impl(ctx):
    return [GoTargetInfo(goos = ctx.attr.goos, goarch = ctx.attr.goarch, goarm = ctx.attr.goarm, tags = ctx.attr.build_tags)]

pte_go_target = rule(
    implementation = _pte_go_target_impl,
    doc = "GOOS, GOARCH and build tags of the configuration it is built in.",
    attrs = {
        "build_tags": attr.string_list(),
        "goarch": attr.string(mandatory = True),
        "goarm": attr.string(),
        "goos": attr.string(mandatory = True),
    },
)

def _pte_go_builder_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".exe")
    goroot = ctx.file._goroot.path
    ctx.actions.run(
        executable = goroot + "/bin/go" + EXE,
        arguments = ["build", "-trimpath", "-buildvcs=false", "-ldflags=-buildid= -s -w", "-o", out.path] +
                    [f.path for f in ctx.files.srcs],
        inputs = ctx.files.srcs + [ctx.file._goroot],
        outputs = [out],
        env = {
            "CGO_ENABLED": "0",
            "GO111MODULE": "off",
            "GOENV": "off",
            "GOPATH": "/nonexistent",
            "GOTELEMETRY": "off",
            "GOTOOLCHAIN": "local",
            "HOME": out.path + ".home",  # of the build cache; GOCACHE would have to be absolute
            # A relative one is an error, after which Go's tools have no telemetry: theirs would lie below HOME in the folders of the
            # SDK where they run, and change it. (On macOS HOME alone counts; there the sandbox keeps them out.)
            "XDG_CONFIG_HOME": "none",
        },
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
