"""pte_backend, and what rules do with backends."""

load("//rules:providers.bzl", "PteBackendInfo")
load("//rules/go:providers.bzl", "GoInfo")

def _pte_backend_impl(ctx):
    if not ctx.attr.aot and not ctx.attr.rt:
        fail("%s: a backend needs aot, rt or both" % ctx.label)
    return [
        DefaultInfo(files = depset([ctx.file.manifest])),
        PteBackendInfo(
            aot = ctx.attr.aot[GoInfo] if ctx.attr.aot else None,
            label = str(ctx.label),
            manifest = ctx.file.manifest,
            rt = ctx.attr.rt[GoInfo] if ctx.attr.rt else None,
        ),
    ]

pte_backend = rule(
    implementation = _pte_backend_impl,
    doc = "A backend: what lowers for it and what runs its payloads. The manifest is JSON, " +
          "`{\"backends\": [{\"id\": \"NpuBackend\", \"aot\": \"Backend{}\", \"rt\": \"Backend{}\"}]}`, where `aot` and `rt` " +
          "are Go expressions that make the halves in their packages.",
    attrs = {
        "aot": attr.label(providers = [GoInfo], doc = "The Go package of the ahead-of-time half, a pte_backend_library."),
        "manifest": attr.label(allow_single_file = [".json"], mandatory = True, doc = "The JSON that names the backends of the two packages."),
        "rt": attr.label(providers = [GoInfo], doc = "The Go package of the run-time half, a pte_backend_library."),
    },
)

def _value(info):
    """The builder's value of the flag -backend."""
    halves = [h.importpath if h else "" for h in [info.aot, info.rt]]
    return "|".join([info.label, info.manifest.path] + halves)

def add_backends(args, infos):
    """Adds what the builder has to know of backends to args.

    Args:
      args: an Args.
      infos: a list of PteBackendInfo.
    """
    args.add_all([_value(i) for i in infos], format_each = "-backend=%s")

def unique(infos):
    """Drops backends that stand in a list twice, under one label.

    Args:
      infos: a list of PteBackendInfo.

    Returns:
      a list of PteBackendInfo, in the order of their labels.
    """
    by_label = {i.label: i for i in infos}
    return [by_label[label] for label in sorted(by_label)]
