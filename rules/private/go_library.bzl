"""pte_go_library: the Go package of programs as files, for a Go build outside of these rules."""

load("//rules:providers.bzl", "PteBackendInfo", "PteProgramInfo")
load("//rules/go:action.bzl", "GO_ATTRS")
load(":data.bzl", "MERGE_ATTRS")
load(":runtime.bzl", "DATA", "generate", "merged_data", "offers_of", "programs_of")

def _pte_go_library_impl(ctx):
    programs = programs_of(ctx)
    data = merged_data(ctx, programs, "%s/%s" % (ctx.label.name, DATA)) if ctx.attr.embed else None
    offers, declared = offers_of(ctx, programs)
    source = ctx.actions.declare_file("%s/pteprogram.go" % ctx.label.name)
    generate(ctx, source, offers, declared, ["-data=" + DATA] if data else [])
    embedded = [data] if data else []
    for p in programs if ctx.attr.embed else []:
        # Not a link: go:embed takes none.
        copy = ctx.actions.declare_file("%s/%s.pte" % (ctx.label.name, p.name))
        ctx.actions.run(
            executable = ctx.executable._builder,
            arguments = ["copy", p.program.path, copy.path],
            inputs = [p.program],
            outputs = [copy],
            mnemonic = "PteCopy",
            progress_message = "PteCopy %s" % ctx.label,
        )
        embedded.append(copy)
    return [
        DefaultInfo(files = depset([source] + embedded)),
        OutputGroupInfo(embedded = depset(embedded), source = depset([source])),
    ]

pte_go_library = rule(
    implementation = _pte_go_library_impl,
    doc = "The Go package `pteprogram` of programs as files in the folder `<name>/`, for builds with `go build` or rules_go: `pteprogram.go`, " +
          "which names the kernels and backends that the programs call, and the programs that it embeds, with their data files in one, `data.ptd`. The output group `source` is the " +
          "first, `embedded` the others. The package compiles in any module that requires `github.com/rules-pte/rules_pte`, for every " +
          "platform.",
    attrs = dict(
        dict(GO_ATTRS, **MERGE_ATTRS),
        backends = attr.label_list(
            providers = [PteBackendInfo],
            doc = "The pte_backend targets to link, whether a program calls them or not; if empty, those that the programs call.",
        ),
        embed = attr.bool(default = True, doc = "Whether the package holds the programs and their data files. If not, data files go to NamedData of the load options."),
        programs = attr.label_list(providers = [PteProgramInfo], mandatory = True, doc = "The pte_program targets."),
    ),
)
