package pte

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
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

// parse gives the positional arguments. No file, folder or name may be "", which stands for one that was not given. The error is a
// usageError or a helpRequest.
func (f flags) parse(args []string) ([]string, error) {
	f.VisitAll(func(x *flag.Flag) {
		if named(x) != "" {
			x.Value = nonempty{x.Value}
		}
	})
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
		if f.Arg(0) == "" {
			return nil, usageError(`an argument is ""`)
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// nonempty is the value of a flag that may not be "".
type nonempty struct{ flag.Value }

// Set sets the value.
func (n nonempty) Set(s string) error {
	if s == "" {
		return errUnread
	}
	return n.Value.Set(s)
}

// errUnread is how package flag says that a value cannot be read.
var errUnread = errors.New("parse error")

// named is what the value of x names, "" if nothing.
func named(x *flag.Flag) string {
	if value, _ := flag.UnquoteUsage(x); value == "file" || value == "folder" || value == "name" {
		return "a " + value
	}
	return ""
}

// wants is what the value of x has to be where package flag does not say it.
func wants(x *flag.Flag) string {
	if g, ok := x.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case int:
			return "a whole number"
		case float64:
			return "a number"
		case bool:
			return "true or false"
		}
	}
	return named(x)
}

// Errors of package flag, with the name of the flag and what it was given.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	noValue     = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	wrongValue  = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]*): (.*)$`)
)

// usage is an error of package flag in our words, with the nearest flag.
func (f flags) usage(err error) error {
	text := err.Error()
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		why := m[3]
		if why == errUnread.Error() {
			why = "want " + wants(f.Lookup(m[2]))
		}
		return usageError(dashed(m[2]) + " is " + m[1] + ", " + why)
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return usageError(dashed(m[1]) + " has no value")
	}
	m := unknownFlag.FindStringSubmatch(text)
	if m == nil {
		return usageError(text)
	}
	var names []string
	f.VisitAll(func(x *flag.Flag) { names = append(names, x.Name) })
	name := strings.TrimPrefix(m[1], "-")
	msg := "unknown flag " + dashed(name)
	if near := diag.Nearest(name, names); near != "" {
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
		return usageError("want key=path")
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
