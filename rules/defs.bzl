"""The public rules."""

load(
    "//rules:providers.bzl",
    _PteBackendInfo = "PteBackendInfo",
    _PteLibraryInfo = "PteLibraryInfo",
    _PteLowererInfo = "PteLowererInfo",
    _PteProgramInfo = "PteProgramInfo",
    _PteRuntimeInfo = "PteRuntimeInfo",
    _PteSpecInfo = "PteSpecInfo",
)
load("//rules/go:defs.bzl", _go_package = "pte_go_library")
load("//rules/private:backend.bzl", _pte_backend = "pte_backend")
load(
    "//rules/private:checks.bzl",
    _pte_closure_test = "pte_closure_test",
    _pte_contract_test = "pte_contract_test",
    _pte_reproducible_test = "pte_reproducible_test",
    _pte_size_test = "pte_size_test",
)
load("//rules/private:data.bzl", _pte_data = "pte_data")
load("//rules/private:gen.bzl", _pte_gen = "pte_gen")
load("//rules/private:go_library.bzl", _pte_go_library = "pte_go_library")
load("//rules/private:library.bzl", _pte_library = "pte_library")
load("//rules/private:lowerer.bzl", _pte_lowerer = "pte_lowerer")
load("//rules/private:program.bzl", "model_keys", _pte_program = "pte_program")
load("//rules/private:runtime.bzl", _pte_runtime = "pte_runtime")
load("//rules/private:spec.bzl", _pte_spec = "pte_spec")
load("//rules/private:test.bzl", "case_data", _pte_test = "pte_test")
load("//rules/private:web.bzl", _pte_web = "pte_web")

PteBackendInfo = _PteBackendInfo
PteLibraryInfo = _PteLibraryInfo
PteLowererInfo = _PteLowererInfo
PteProgramInfo = _PteProgramInfo
PteRuntimeInfo = _PteRuntimeInfo
PteSpecInfo = _PteSpecInfo

pte_backend = _pte_backend
pte_closure_test = _pte_closure_test
pte_contract_test = _pte_contract_test
pte_data = _pte_data
pte_gen = _pte_gen
pte_go_library = _pte_go_library
pte_lowerer = _pte_lowerer
pte_reproducible_test = _pte_reproducible_test
pte_size_test = _pte_size_test
pte_spec = _pte_spec

def pte_backend_library(name, importpath, srcs, deps = [], **kwargs):
    """A Go package of a backend: of either half, or what they share.

    Args:
      name: the target's name.
      importpath: the package's import path, in a Go module of the user's.
      srcs: Go sources, and the files that they embed.
      deps: the packages that srcs import: pte_backend_library targets, and those of rules_pte, such as
        `@rules_pte//runtime/backend`.
      **kwargs: what every rule takes.
    """
    _go_package(
        name = name,
        srcs = srcs,
        importpath = importpath,
        deps = deps,
        **kwargs
    )

def pte_program(name, models, spec = None, srcs = [], deps = [], program = "", out = "", data_files = [], **kwargs):
    """Lowers exported PyTorch models to an ExecuTorch program.

    The default output is `<out>.pte`; the output groups `report` and `manifest`
    hold the report of the lowering and what a runtime needs. It is built in
    steps, so that new weights in the same graph run only the first, which takes the
    graph out of the models, and the last, which packs the weights, again.

    Args:
      name: the target's name.
      models: the .pt2 files; a list, in which a model's key is its path in the
        package, or a dict from label to key. `model:` in the spec is a key.
      spec: the CUE file that says how to lower, or a pte_spec. Without it every model is a
        method: its key, or "forward" for the only model of a list.
      srcs: other CUE files of the spec's package.
      deps: what the spec imports: pte_spec targets, by their `importpath`, or files that lie where CUE finds them.
      program: which `#Program` of the spec, if it has several.
      out: the name of the .pte; the target's without `_pte` if empty.
      data_files: the names in `external_constants` of the spec; each is another default output, `<out>.<name>.ptd`.
      **kwargs: `lowerer` (the tool, //lowerer/cmd/pte if absent) and what every
        rule takes.
    """
    _pte_program(
        name = name,
        data_files = data_files,
        deps = deps,
        models = model_keys(models, spec),
        out = out or (name[:-len("_pte")] if name.endswith("_pte") else name),
        program = program,
        spec = spec,
        srcs = srcs,
        **kwargs
    )

def pte_runtime(name, programs, srcs = [], deps = [], backends = [], embed = True, platform = None, **kwargs):
    """A binary that holds exactly the kernels and backends that its programs need.

    It is built for `platform`, or for that of the command line, on any host. The backends are among those of the
    programs' lowerers; which of them the final programs call is known when they are packed. It can import the generated package
    `github.com/rules-pte/rules_pte/pteprogram` with

        func Ops() []*op.Kernel
        func Backends() []backend.Backend
        func Options() executor.LoadOptions
        func Names() []string                       // of the embedded programs
        func Bytes(name string) []byte              // the file of one, or nil

    and, if `embed`,

        func Load() (*executor.Program, error)      // the first program
        func LoadNamed(name string) (*executor.Program, error)

    The output group `source` is the package's Go file.

    Args:
      name: the target's name.
      programs: pte_program targets.
      srcs: the command's Go files; a small runner if empty.
      deps: Go packages that srcs import beside runtime/{op,executor,backend}.
      backends: pte_backend targets to link, whether a program calls them or not. A program that needs another one fails
        the build. If empty, those that the programs call.
      embed: whether the programs and their data files are in the binary. If not, data files are in `<name>.ptd`, each
        content once.
      platform: what to build for, such as `@rules_pte//rules/platforms:linux_arm64`.
      **kwargs: `data`, `cpu_features` (what the machines have beyond the platform's, for programs whose target asks for it)
        and what every rule takes.
    """
    _pte_runtime(
        name = name,
        backends = backends,
        default_srcs = [] if srcs else [Label("//rules/runner:embedded" if embed else "//rules/runner:file")],
        deps = deps,
        embed = embed,
        platform = platform,
        programs = programs,
        srcs = srcs,
        **kwargs
    )

def pte_library(name, programs, linkmode = "c-shared", cc = None, backends = [], embed = True, platform = None, **kwargs):
    """A C library that runs programs: `lib<name>.so` or `.a`, with `<name>/pte.h` and `<name>/pte.hpp`.

    It holds exactly the kernels and backends that its programs need, as a pte_runtime does. It is the one rule that
    needs a C compiler. Rules of C and C++ use it through pte_cc_library of `@rules_pte//rules:cc.bzl`. The output groups
    `library` and `headers` are its parts.

    Args:
      name: the target's name.
      programs: pte_program targets.
      linkmode: "c-shared", or "c-archive" for a static library. A process holds one pte_library.
      cc: the C compiler, a file or executable target that takes gcc's flags and compiles for the platform. If absent, the
        machine's: gcc, cc or clang, and Debian's `aarch64-linux-gnu-gcc` and such for other platforms. That is not hermetic:
        the library is linked on the machine that Bazel runs on, and shared with no other.
      backends: as in pte_runtime.
      embed: whether the programs are in the library; if not, they are outputs beside it, and their data files in one, `<name>.ptd`.
      platform: what to build for, a 64-bit platform such as `@rules_pte//rules/platforms:linux_arm64`.
      **kwargs: what every rule takes.
    """
    _pte_library(
        name = name,
        backends = backends,
        cc = cc,
        default_srcs = [Label("//runtime/capi:srcs")],
        deps = [
            Label("//runtime/capi/abi"),
            Label("//runtime/executor/weightcache"),
        ],
        embed = embed,
        linkmode = linkmode,
        platform = platform,
        programs = programs,
        **kwargs
    )

def pte_web(name, programs, pages = [], backends = [], embed = True, **kwargs):
    """A folder `<name>` to serve: `pte.wasm`, which runs programs, `pte.js` with `pte.d.ts`, and pages that use them.

    `bazel run` serves it on localhost. The output group `module` is `pte.wasm` alone.

    Args:
      name: the target's name.
      programs: pte_program targets.
      pages: files of the folder: those below a folder of the target's name as they lie there, others by their path in
        the package, and those of other packages by their names.
      backends: as in pte_runtime.
      embed: whether the programs are in `pte.wasm`; if not, they lie beside it, and their data files in one, `data.ptd`.
      **kwargs: what every rule takes.
    """
    _pte_web(
        name = name,
        backends = backends,
        default_srcs = [Label("//runtime/web:srcs")],
        deps = [Label("//runtime/capi/abi")],
        embed = embed,
        pages = pages,
        programs = programs,
        **kwargs
    )

def pte_test(name, program, cases, data = [], **kwargs):
    """Runs the calls of case files and compares the outputs with the expected ones.

    A program of a pte_lowerer is run by that, and so with its backends.

    Args:
      name: the target's name.
      program: a pte_program target.
      cases: case files (JSON); the .npy files below their folders come along.
      data: further files that the cases name.
      **kwargs: what every test takes.
    """
    _pte_test(
        name = name,
        cases = cases,
        data = data + case_data(cases),
        program = program,
        **kwargs
    )
