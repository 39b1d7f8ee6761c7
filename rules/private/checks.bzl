"""pte_size_test, pte_reproducible_test, pte_closure_test and pte_contract_test: what a user's programs and runtimes promise."""

load("//rules:compat.bzl", "TOOL_CFG")
load("//rules:providers.bzl", "PteProgramInfo", "PteRuntimeInfo")

_RUN = """#!/bin/sh
cd "${{TEST_SRCDIR:-$0.runfiles}}/{workspace}" || exit 1
exec "./{tester}" {check} {arguments} "$@"
"""

_TESTER = {
    "tester": attr.label(
        default = Label("//rules/tester"),
        executable = True,
        cfg = TOOL_CFG,
        doc = "The tool that compares.",
    ),
}

def _quoted(value):
    return "'%s'" % value.replace("'", "'\\''")

def _test(ctx, check, arguments, files):
    """The script that runs a check, as the result of a test rule."""
    expected = getattr(ctx.file, "expected", None)
    arguments = ["--target=" + str(ctx.label)] + arguments
    if expected:
        arguments = ["--expected=" + expected.short_path, "--source=" + expected.path] + arguments
        files = files + [expected]
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, _RUN.format(
        workspace = ctx.workspace_name,
        tester = ctx.executable.tester.short_path,
        check = check,
        arguments = " ".join([_quoted(a) for a in arguments]),
    ), is_executable = True)
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files + [ctx.executable.tester]))]

def _pte_size_test_impl(ctx):
    if not ctx.attr.program and not ctx.attr.runtime:
        fail("%s: a size test needs program, runtime or both" % ctx.label)
    if not ctx.attr.budgets and not ctx.attr.expected:
        fail("%s: a size test needs budgets, expected or both" % ctx.label)
    arguments = ["--budget=%s=%s" % b for b in ctx.attr.budgets.items()] + ["--growth=" + ctx.attr.growth]
    files = []
    if ctx.attr.program:
        info = ctx.attr.program[PteProgramInfo]
        files += [info.program, info.report]
        arguments += ["--program=" + info.program.short_path, "--report=" + info.report.short_path]
    if ctx.attr.runtime:
        binary = ctx.attr.runtime[PteRuntimeInfo].binary
        files.append(binary)
        arguments.append("--binary=" + binary.short_path)
    return _test(ctx, "size", arguments, files)

pte_size_test = rule(
    implementation = _pte_size_test_impl,
    doc = "Holds the sizes of a program and a runtime against budgets and against committed ones, and lists what grew: " +
          "`file_bytes`, `arena_bytes`, `constant_bytes`, `backend ID` and `data KEY` of a program; `runtime_bytes` and, for Linux, " +
          "Android and macOS, `code IMPORTPATH` of each Go package of a runtime.",
    attrs = dict(
        _TESTER,
        budgets = attr.string_dict(doc = "The largest number of bytes by name; it may end in Ki or Mi."),
        expected = attr.label(
            allow_single_file = True,
            doc = "The committed text, a line for each name with its bytes. `bazel run` of the test with `-- --update` writes it; it has to be there, if empty.",
        ),
        growth = attr.string(default = "0", doc = "Percent by which a size may exceed the committed one. The code of one package may grow by any."),
        program = attr.label(providers = [PteProgramInfo], doc = "A pte_program target."),
        runtime = attr.label(providers = [PteRuntimeInfo], doc = "A pte_runtime, pte_library or pte_web target."),
    ),
    test = True,
)

def _pte_reproducible_test_impl(ctx):
    info = ctx.attr.program[PteProgramInfo]
    folder = ctx.label.name + ".again/"
    again = [ctx.actions.declare_file(folder + name) for name in ["program.pte"] + [n + ".ptd" for n in info.again.data]]
    ctx.actions.run(
        executable = info.again.tool,
        arguments = ["lower"] + info.again.args + ["-o", again[0].path],
        env = {"GOMAXPROCS": "1"},
        inputs = info.again.files,
        outputs = again,
        mnemonic = "PteAgain",
        progress_message = "PteAgain %s" % ctx.label,
    )
    first = [info.program] + info.data
    pairs = [f.short_path for pair in zip(first, again) for f in pair]
    return _test(ctx, "same", pairs, first + again)

pte_reproducible_test = rule(
    implementation = _pte_reproducible_test_impl,
    doc = "Lowers a program again, in one process on one core instead of in steps, and wants the same bytes, in its data files too.",
    attrs = dict(
        _TESTER,
        program = attr.label(providers = [PteProgramInfo], mandatory = True, doc = "A pte_program target."),
    ),
    test = True,
)

def _pte_closure_test_impl(ctx):
    info = ctx.attr.runtime[PteRuntimeInfo]
    arguments = ["--binary=" + info.binary.short_path]
    arguments += ["--manifest=%s|%s" % (p.label, p.manifest.short_path) for p in info.programs]
    if info.declared:
        arguments.append("--declared")
    return _test(ctx, "closure", arguments, [info.binary] + [p.manifest for p in info.programs])

pte_closure_test = rule(
    implementation = _pte_closure_test_impl,
    doc = "Holds the table of kernels and backends in a runtime's binary against what its programs call, and against a committed " +
          "list, so that a new kernel or backend is a change that somebody sees. Works for stripped binaries and WebAssembly.",
    attrs = dict(
        _TESTER,
        expected = attr.label(
            allow_single_file = True,
            doc = "The committed text, a line for each kernel and backend. `bazel run` of the test with `-- --update` writes it; it has to be there, if empty.",
        ),
        runtime = attr.label(providers = [PteRuntimeInfo], mandatory = True, doc = "A pte_runtime, pte_library or pte_web target."),
    ),
    test = True,
)

def _pte_contract_test_impl(ctx):
    program = ctx.attr.program[PteProgramInfo].program
    return _test(ctx, "contract", ["--program=" + program.short_path], [program])

pte_contract_test = rule(
    implementation = _pte_contract_test_impl,
    doc = "Holds what callers of a program depend on against a committed text: its methods, the types and sizes of their inputs and " +
          "outputs, and the backends that must be there.",
    attrs = dict(
        _TESTER,
        expected = attr.label(
            allow_single_file = True,
            mandatory = True,
            doc = "The committed text. `bazel run` of the test with `-- --update` writes it; it has to be there, if empty.",
        ),
        program = attr.label(providers = [PteProgramInfo], mandatory = True, doc = "A pte_program target."),
    ),
    test = True,
)
