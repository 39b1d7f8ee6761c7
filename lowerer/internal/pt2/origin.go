package pt2

import (
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// ParseFrames reads a Python stack trace, outermost frame first.
func ParseFrames(trace string) []exir.Frame {
	var frames []exir.Frame
	for line := range strings.SplitSeq(trace, "\n") {
		text := strings.TrimSpace(line)
		if f, ok := parseFrame(text); ok {
			frames = append(frames, f)
		} else if n := len(frames); n > 0 && frames[n-1].Text == "" && strings.Trim(text, "^~ ") != "" {
			frames[n-1].Text = text
		}
	}
	return frames
}

// parseFrame reads: File "model.py", line 3, in forward
func parseFrame(text string) (exir.Frame, bool) {
	rest, ok := strings.CutPrefix(text, "File \"")
	if !ok {
		return exir.Frame{}, false
	}
	file, rest, ok := strings.Cut(rest, "\", line ")
	if !ok {
		return exir.Frame{}, false
	}
	digits, fn, _ := strings.Cut(rest, ", in ")
	line, err := strconv.Atoi(digits)
	return exir.Frame{File: file, Line: line, Func: fn}, err == nil
}

// ModulePath is the path in the last entry (key,path,type) of an nn_module_stack.
func ModulePath(stack string) string {
	last := stack[strings.LastIndexByte(stack, ';')+1:]
	parts := splitOutside(last)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// splitOutside splits at the commas that are in no bracket.
func splitOutside(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '<':
			depth++
		case ')', ']', '>':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}
