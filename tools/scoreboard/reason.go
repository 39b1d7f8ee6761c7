package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	missing  = regexp.MustCompile(`= (\S+): no kernel and no rule for this operator`)
	filePath = regexp.MustCompile(`(?:[A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+)+(?::\d+)*:? ?`)
	address  = regexp.MustCompile(`0x[0-9a-fA-F]{5,}`)
	measured = regexp.MustCompile(`-?\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+`)
)

// maxReason is the length that tidy cuts reasons to.
const maxReason = 240

// lowerReason is why pte lower failed: the operators that are missing, all of them, or else the first line.
func lowerReason(stderr string, err error) string {
	var ops []string
	for _, m := range missing.FindAllStringSubmatch(stderr, -1) {
		ops = append(ops, m[1])
	}
	if len(ops) > 0 {
		slices.Sort(ops)
		return "no kernel and no rule: " + strings.Join(slices.Compact(ops), ", ")
	}
	return firstLine(stderr, err)
}

// runReason is why pte run failed: the first call that is not ok, or else the first line of the errors.
func runReason(stdout, stderr string, err error) string {
	for l := range strings.SplitSeq(stdout, "\n") {
		if strings.HasPrefix(l, "case ") && !strings.HasSuffix(l, ": ok") {
			return l
		}
	}
	return firstLine(stderr, err)
}

func firstLine(stderr string, err error) string {
	if l, _, _ := strings.Cut(stderr, "\n"); l != "" {
		return strings.TrimPrefix(strings.TrimPrefix(l, "pte run: "), "load program: ")
	}
	return err.Error()
}

// tidy makes a reason equal on all machines: one line, no paths, addresses or measured numbers.
func tidy(reason string) string {
	s := strings.Join(strings.Fields(reason), " ")
	s = filePath.ReplaceAllString(s, "")
	s = address.ReplaceAllString(s, "ADDRESS")
	s = measured.ReplaceAllString(s, "N")
	if r := []rune(s); len(r) > maxReason {
		s = string(r[:maxReason]) + "..."
	}
	return s
}
