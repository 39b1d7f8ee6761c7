package main

import (
	"flag"
	"io"
	"strings"
)

// flags parses flags and positional arguments in any order.
type flags struct {
	*flag.FlagSet
}

func newFlags() flags {
	f := flag.NewFlagSet("pte", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return flags{f}
}

// parse gives the positional arguments.
func (f flags) parse(args []string) ([]string, error) {
	var rest []string
	for {
		err := f.Parse(args)
		if err == flag.ErrHelp {
			return nil, err
		}
		if err != nil {
			return nil, usageError(err.Error())
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// required is an error that names the first of these flags that is empty.
func (f flags) required(names ...string) error {
	for _, n := range names {
		if f.Lookup(n).Value.String() == "" {
			return usageError("missing flag --" + n)
		}
	}
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

// only is the path of the pair, where a command takes exactly one.
func (p pairs) only() (string, error) {
	for _, path := range p {
		if len(p) == 1 {
			return path, nil
		}
	}
	return "", usageError("want one --model")
}
