// Command pte lowers exported PyTorch models to ExecuTorch programs, runs them and shows what is in them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
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
		{"lower", "[-o out.pte] [--dump dir] [--report report.json] [--timings timings.json] (spec.cue | model.pt2 | name=model.pt2 ...)", "lower models to a program", runLower},
		{"vet", "[--marker file] [--program name] spec.cue", "check a spec", runVet},
		{"run", "prog.pte [--method m] --input a.npy ...", "run a program", runRun},
		{"inspect", "prog.pte [--json]", "show everything that a program holds", runInspect},
		{"passes", "[--json]", "list the passes", runPasses},
		{"ops", "[--json] [name]", "list the operators that lower, or describe one", runOps},
		{"explain", "code", "explain an error code", runExplain},
		{"mod", "init [dir]", "write cue.mod, so that CUE's own tools see the schema", runMod},
		{"version", "", "print the version", runVersion},
	}
}

func main() {
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" {
		// Under `bazel run`, relative paths count from where the user stands.
		if err := os.Chdir(dir); err != nil {
			fmt.Fprintln(os.Stderr, "pte:", err)
			os.Exit(exitUser)
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole tool but for the process around it; it gives the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			diag.Print(stderr, diag.New(diag.Bug, "", "bug: %v", r).
				WithMore(strings.Split(strings.TrimSpace(string(debug.Stack())), "\n")...).
				WithHint("please report this, with the command and, if you can, the model"))
			code = exitBug
		}
	}()
	return exitCode(dispatch(&env{stdout, stderr}, args), stderr)
}

func dispatch(e *env, args []string) error {
	if len(args) == 0 {
		return usageError("usage: pte <command> [arguments]\n\n" + help())
	}
	switch args[0] {
	case "help", "-h", "--help":
		fmt.Fprint(e.stdout, "usage: pte <command> [arguments]\n\n"+help())
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.call(e, args[1:])
		}
	}
	return usageError(fmt.Sprintf("unknown command %q\n\n%s", args[0], help()))
}

// call runs c; a usage error shows how c is called.
func (c command) call(e *env, args []string) error {
	err := c.run(e, args)
	var usage usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(e.stdout, "usage: pte %s %s\n", c.name, c.args)
		return nil
	case errors.As(err, &usage):
		return usageError(fmt.Sprintf("%s\nusage: pte %s %s", usage, c.name, c.args))
	}
	return err
}

func help() string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-8s %s\n", c.name, c.doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// usageError is a wrong command line.
type usageError string

func (u usageError) Error() string { return string(u) }

// exitError is the exit code of a command that has printed its own errors.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func exitCode(err error, stderr io.Writer) int {
	var usage usageError
	var exit exitError
	var bug *diag.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "pte:", usage)
		return exitUsage
	}
	diag.Print(stderr, err)
	if errors.As(err, &bug) && bug.Code == diag.Bug {
		return exitBug
	}
	return exitUser
}
