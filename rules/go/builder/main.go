// Command builder runs one Go build step of a Bazel action: it compiles a
// package, links a binary or links a test, from files that Bazel declares and
// nothing else. It imports the standard library only, since it is what builds
// everything else.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// commands are the subcommands by name.
var commands = map[string]func(args []string) error{
	"cacheprog": serveCache,
	"compile":   runCompile,
	"link":      runLink,
	"test":      runTest,
	"runtime":   runRuntime,
	"lowerer":   runLowerer,
	"agree":     runAgree,
	"copy":      runCopy,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: builder cacheprog|compile|link|test|runtime|lowerer|agree|copy [flags]")
		os.Exit(2)
	}
	args, err := expandParams(os.Args[2:])
	if err == nil {
		err = commands[os.Args[1]](args)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "builder: %v\n", err)
		os.Exit(1)
	}
}

// expandParams replaces an argument @file by the lines of the file.
func expandParams(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "@")
		if !ok {
			out = append(out, arg)
			continue
		}
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return nil, fmt.Errorf("read parameters: %w", err)
		}
		out = append(out, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	return out, nil
}
