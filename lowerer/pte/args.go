package pte

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// flags parses flags and positional arguments in any order. The usage of a flag names its value in back quotes.
type flags struct {
	*flag.FlagSet
}

func newFlags() flags {
	f := flag.NewFlagSet("pte", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return flags{f}
}

// parse gives the positional arguments. The error is a usageError or a helpRequest.
func (f flags) parse(args []string) ([]string, error) {
	var rest []string
	for {
		err := f.Parse(args)
		if err == flag.ErrHelp {
			return nil, helpRequest{f}
		}
		if err != nil {
			return nil, f.usage(err)
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// usage is an error of package flag in our words, with the nearest flag.
func (f flags) usage(err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usageError(strings.ReplaceAll(err.Error(), " -", " --"))
	}
	var names []string
	f.VisitAll(func(x *flag.Flag) { names = append(names, x.Name) })
	msg := "unknown flag " + dashed(strings.TrimPrefix(name, "-"))
	if near := diag.Nearest(strings.TrimPrefix(name, "-"), names); near != "" {
		msg += "; did you mean " + dashed(near) + "?"
	}
	return usageError(msg)
}

// dashed is a flag's name as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// describe lists the flags, one a line.
func (f flags) describe() string {
	var names, docs []string
	width := 0
	f.VisitAll(func(x *flag.Flag) {
		value, doc := flag.UnquoteUsage(x)
		name := strings.TrimSpace(dashed(x.Name) + " " + value)
		width = max(width, len(name))
		names, docs = append(names, name), append(docs, doc)
	})
	var b strings.Builder
	for i := range names {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s  %s", width, names[i], docs[i]), " ") + "\n")
	}
	return b.String()
}

// required is an error that names the first of these flags that is empty.
func (f flags) required(names ...string) error {
	for _, n := range names {
		if f.Lookup(n).Value.String() == "" {
			return usageError("missing flag " + dashed(n))
		}
	}
	return nil
}

// helpRequest asks for the help of a command with these flags.
type helpRequest struct{ flags }

func (helpRequest) Error() string { return "help requested" }

// names is a repeatable flag.
type names []string

// String is the flag's value for flag.Value.
func (n *names) String() string { return strings.Join(*n, " ") }

// Set adds one name.
func (n *names) Set(s string) error {
	*n = append(*n, s)
	return nil
}

// pairs is a repeatable flag of the form key=path.
type pairs map[string]string

// String is the flag's value for flag.Value.
func (p pairs) String() string {
	if len(p) == 0 {
		return ""
	}
	return "set"
}

// Set adds one pair.
func (p pairs) Set(s string) error {
	key, path, ok := strings.Cut(s, "=")
	if !ok || key == "" || path == "" {
		return usageError("want key=path, got \"" + s + "\"")
	}
	if _, dup := p[key]; dup {
		return usageError("key \"" + key + "\" is given twice")
	}
	p[key] = path
	return nil
}

// paths are the paths of the pairs, in order.
func (p pairs) paths() []string { return slices.Sorted(maps.Values(p)) }

// only is the path of the pair, where a command takes exactly one.
func (p pairs) only() (string, error) {
	for _, path := range p {
		if len(p) == 1 {
			return path, nil
		}
	}
	return "", usageError("want one --model")
}
