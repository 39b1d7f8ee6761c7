// Package pte is the command pte, which lowers exported PyTorch models to ExecuTorch programs, runs them and shows what
// is in them. It has no backends of its own: a main package of three lines hands them to Main.
package pte

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	rtbackend "github.com/rules-pte/rules_pte/runtime/backend"
)

// Exit codes.
const (
	exitUser  = 1 // the input is wrong
	exitUsage = 2 // the command line is wrong
	exitBug   = 3 // the tool is wrong
)

// env is what a command may touch of the process.
type env struct {
	stdout, stderr io.Writer
	backends       Backends
}

// command is one subcommand. run gives an error that Print understands, or a usageError.
type command struct {
	name, args, doc string
	run             func(e *env, args []string) error
}

// commands in the order that help shows. Filled by init since help itself is one.
var commands []command

func init() {
	commands = []command{
		{"lower", "[flags] (spec.cue | model.pt2 | name=model.pt2 ...)", "lower models to a program", runLower},
		{"vet", "[flags] spec.cue", "check a spec with its models, and list their inputs", runVet},
		{"run", "[flags] prog.pte", "run a program", runRun},
		{"compare", "[flags] a.pte b.pte", "run two programs and find the first node that differs", runCompare},
		{"bench", "[flags] prog.pte", "time a program and each of its kernels", runBench},
		{"hwbench", "[flags]", "measure what kernels can reach at most on this machine", runHWBench},
		{"inspect", "[flags] prog.pte", "show everything that a program holds", runInspect},
		{"merge", "-o out.ptd a.ptd ...", "put the entries of data files into one, each content once", runMerge},
		{"passes", "[flags]", "list the passes in their order", runPasses},
		{"ops", "[flags] [name]", "list the operators that lower, or describe one", runOps},
		{"explain", "code", "explain an error code", runExplain},
		{"gen", "[--mode=diff] (build | packages) [dir]", "write BUILD files for specs, or the list of Go packages for Bazel", runGen},
		{"mod", "init [dir]", "write cue.mod, so that CUE's own tools see the schema", runMod},
		{"version", "[flags]", "print the version", runVersion},
	}
}

// Backends are the two halves of the backends that the command has.
type Backends struct {
	// AOT lower programs, where a spec's `partition` names them; their CUE packages can be imported.
	AOT []backend.Backend
	// Runtime run programs.
	Runtime []rtbackend.Backend
}

// ids are the names of both halves, in their order.
func (b Backends) ids() (aot, rt []string) {
	aot, rt = []string{}, []string{}
	for _, x := range b.AOT {
		aot = append(aot, x.ID())
	}
	for _, x := range b.Runtime {
		rt = append(rt, x.ID())
	}
	return aot, rt
}

// Main is the main function of a pte with these backends.
func Main(b Backends) {
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" {
		// Under `bazel run`, relative paths count from where the user stands.
		if err := os.Chdir(dir); err != nil {
			fmt.Fprintln(os.Stderr, "pte:", err)
			os.Exit(exitUser)
		}
	}
	collectFrom(32 << 20)
	os.Exit(Run(b, os.Args[1:], os.Stdout, os.Stderr))
}

// collectFrom has no garbage collected before there are that many bytes, which most commands never have, unless the
// environment says when to. After that it is collected as always.
func collectFrom(bytes int64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(bytes)
	runtime.AddCleanup(new([64]byte), func(percent int) { // in the first collection
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}, percent)
}

// Run is the whole tool but for the process around it; it gives the exit code.
func Run(b Backends, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			diag.Print(stderr, diag.New(diag.Bug, "", "bug: %v", r).
				WithMore(strings.Split(strings.TrimSpace(string(debug.Stack())), "\n")...).
				WithHint("please report this, with the command and, if you can, the model"))
			code = exitBug
		}
	}()
	out := &printer{w: stdout}
	err := dispatch(&env{out, stderr, b}, args)
	if out.err != nil && !errors.Is(err, out.err) {
		err = errors.Join(err, out.err)
	}
	return exitCode(err, stderr)
}

// printer is the standard output; it keeps its first error, at which nobody who prints text looks.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if err != nil && p.err == nil {
		p.err = diag.New(diag.FileWrite, "standard output", "%w", pathCause(err)).WithHint("what was printed is not whole; make room, or print to another place")
	}
	if err != nil {
		err = p.err
	}
	return n, err
}

func dispatch(e *env, args []string) error {
	if len(args) == 0 {
		fmt.Fprintln(e.stderr, help())
		return usageError("")
	}
	if name := args[0]; name == "help" || name == "-h" || name == "-help" || name == "--help" {
		if name != "help" || len(args) == 1 {
			_, err := io.WriteString(e.stdout, help()+"\n")
			return err
		}
		args = append(args[1:], "-h")
	}
	var names []string
	for _, c := range commands {
		if c.name == args[0] {
			return c.call(e, args[1:])
		}
		names = append(names, c.name)
	}
	msg := fmt.Sprintf("unknown command %q", args[0])
	if near := diag.Nearest(args[0], names); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return usageError(msg + "\ncommands: " + strings.Join(names, ", "))
}

// call runs c; a usage error shows how c is called.
func (c command) call(e *env, args []string) error {
	err := c.run(e, args)
	var usage usageError
	var help helpRequest
	switch {
	case errors.As(err, &help):
		_, err := io.WriteString(e.stdout, c.help(help.flags))
		return err
	case errors.As(err, &usage):
		return usageError(fmt.Sprintf("%s\n%s", usage, c.usage()))
	}
	return err
}

func (c command) usage() string { return strings.TrimSpace("usage: pte " + c.name + " " + c.args) }

// help is what -h prints: how c is called, what it does, its steps and its flags.
func (c command) help(f flags) string {
	text := c.usage() + "\n\n" + c.doc + "\n"
	if c.name == "lower" {
		text += "\nthe same in steps, for build systems:\n" + list(steps, "pte lower ")
	}
	if list := f.describe(); list != "" {
		text += "\nflags:\n" + list
	}
	return text
}

// list is a line for each command.
func list(commands []command, prefix string) string {
	width := 0
	for _, c := range commands {
		width = max(width, len(c.name))
	}
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "  %s%-*s  %s\n", prefix, width, c.name, c.doc)
	}
	return b.String()
}

func help() string {
	return "usage: pte <command> [arguments]\n\n" + list(commands, "") + "\n`pte help <command>` says more about one"
}

// usageError is a wrong command line; "" if help was shown instead of a message.
type usageError string

func (u usageError) Error() string { return string(u) }

func exitCode(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		if usage != "" {
			fmt.Fprintln(stderr, "pte:", usage)
		}
		return exitUsage
	}
	diag.Print(stderr, err)
	var all diag.List
	all.Add("", err)
	if slices.ContainsFunc(all, func(e *diag.Error) bool { return e.Code == diag.Bug }) {
		return exitBug
	}
	return exitUser
}
