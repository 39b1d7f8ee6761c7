// Package diag holds the errors that users see: coded, with a place and a hint, collected and printed
// together.
package diag

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Code identifies a kind of error, such as "PTE1002". Codes are stable, and each has a page in docs/errors.
type Code string

// Error is one problem of the user's input.
type Error struct {
	Code Code
	// Msg says what is wrong: lower case, no full stop, with got and want.
	Msg string
	// Where is the place: file:line:col, or model: method: node = op.
	Where string
	// More are further lines below the message, such as Python frames or positions that contributed.
	More []string
	// Hint is one thing to do; may be "".
	Hint string
	// Err is the cause; may be nil. It is not printed.
	Err error
}

// New is an Error of code at where, with a formatted message. A %w verb sets the cause.
func New(code Code, where, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Where: where, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint sets the hint and gives e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithMore adds lines below the message and gives e.
func (e *Error) WithMore(lines ...string) *Error {
	e.More = append(e.More, lines...)
	return e
}

// Error is the place and the message on one line.
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Msg
	}
	return e.Where + ": " + e.Msg
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// At gives err, an *Error or a List, a place that each of its places lies in; any other error becomes one with code.
func At(place string, code Code, err error) List {
	var l List
	l.Add(code, err)
	for _, e := range l {
		e.Where = join(place, e.Where)
	}
	return l
}

func join(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + ": " + inner
}

// List is an error made of several.
type List []*Error

// Add appends err: an *Error, a List, several joined errors, or any other error, which becomes one with code.
func (l *List) Add(code Code, err error) {
	var list List
	var one *Error
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			l.Add(code, e)
		}
		return
	}
	switch {
	case err == nil:
	case errors.As(err, &list):
		*l = append(*l, list...)
	case errors.As(err, &one):
		*l = append(*l, one)
	default:
		*l = append(*l, &Error{Code: code, Msg: err.Error(), Err: err})
	}
}

// Err is l as an error, or nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error is the first message and the number of others.
func (l List) Error() string {
	switch len(l) {
	case 0:
		return "no error"
	case 1:
		return l[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", l[0], len(l)-1)
}

// Sort orders l by place and then message, keeping the order of equal ones.
func (l List) Sort() {
	sort.SliceStable(l, func(i, j int) bool {
		if l[i].Where != l[j].Where {
			return natural(l[i].Where, l[j].Where)
		}
		return l[i].Msg < l[j].Msg
	})
}

// natural compares with runs of digits taken as numbers, so that line 9 is before line 10.
func natural(a, b string) bool {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			if na != nb {
				return na < nb
			}
			if a[:na] != b[:nb] {
				return a[:na] < b[:nb]
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// shown is how many errors Print writes in full.
const shown = 10

// Print writes err to w: an Error or List with codes, places and hints, the first 10 of them; any other
// error as it is.
func Print(w io.Writer, err error) {
	var list List
	list.Add("", err)
	for i, e := range list {
		if i == shown {
			fmt.Fprintf(w, "… and %d more\n", len(list)-shown)
			return
		}
		e.print(w)
	}
}

func (e *Error) print(w io.Writer) {
	io.WriteString(w, indent(e.Error()))
	if e.Code != "" {
		fmt.Fprintf(w, " [%s]", e.Code)
	}
	io.WriteString(w, "\n")
	for _, line := range e.More {
		fmt.Fprintf(w, "    %s\n", indent(line))
	}
	if e.Hint != "" {
		fmt.Fprintf(w, "    hint: %s\n", indent(e.Hint))
	}
}

// indent keeps the later lines of a message below its first.
func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }
