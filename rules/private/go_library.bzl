"""pte_go_library: the Go package of programs as files, for a Go build outside of these rules."""

load("//rules:providers.bzl", "PteBackendInfo", "PteProgramInfo")
load("//rules/go:action.bzl", "GO_ATTRS")
load(":runtime.bzl", "generate", "offers_of", "programs_of", "refuse_data")

def _pte_go_library_impl(ctx):
    programs = programs_of(ctx)
    if ctx.attr.embed:
        refuse_data(ctx, programs, "which the package does not embed: set embed = False, and give them in NamedData of the load options")
    offers, declared = offers_of(ctx, programs)
    source = ctx.actions.declare_file("%s/pteprogram.go" % ctx.label.name)
    generate(ctx, source, offers, declared)
    embedded = []
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
          "which names the kernels and backends that the programs call, and the programs that it embeds. The output group `source` is the " +
          "first, `embedded` the others. The package compiles in any module that requires `github.com/rules-pte/rules_pte`, for every " +
          "platform.",
    attrs = dict(
        GO_ATTRS,
        backends = attr.label_list(
            providers = [PteBackendInfo],
            doc = "The pte_backend targets to link, whether a program calls them or not; if empty, those that the programs call.",
        ),
        embed = attr.bool(default = True, doc = "Whether the package holds the programs, which have no data files then."),
        programs = attr.label_list(providers = [PteProgramInfo], mandatory = True, doc = "The pte_program targets."),
    ),
)
