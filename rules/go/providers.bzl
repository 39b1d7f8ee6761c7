"""What Go targets say to each other."""

GoInfo = provider(
    doc = "A Go package and those that it imports.",
    fields = {
        "dir": "string: the folder in the module",
        "files": "depset of File: the sources of this package and of all below it",
        "importpath": "string: the package's import path",
        "layers": "depset of File: layers of the build cache with this package and all below it",
        "srcs": "depset of struct(path, file): where the sources lie in the module",
    },
)

GoCacheInfo = provider(
    doc = "Compiled packages.",
    fields = {"layers": "depset of File: layers of the build cache"},
)

GoTargetInfo = provider(
    doc = "What Go compiles for.",
    fields = {
        "goarch": "string: GOARCH",
        "goarm": "string: GOARM",
        "goos": "string: GOOS",
        "tags": "list of string: build tags of every package",
    },
)
