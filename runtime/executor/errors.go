package executor

import (
	"errors"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Error is a failure to load or run a program, with ExecuTorch's code for it.
type Error struct {
	Code pte.Code
	Msg  string
	// Err is the cause, or nil.
	Err error
}

// Error is the message, the cause and the code, which is there once.
func (e *Error) Error() string {
	code := ": " + e.Code.String()
	if e.Err == nil {
		return e.Msg + code
	}
	return e.Msg + ": " + strings.TrimSuffix(e.Err.Error(), code) + code
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the ExecuTorch code of an error of this package, of a backend or of runtime/pte; Ok for nil.
func CodeOf(err error) pte.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var b *backend.Error
	if errors.As(err, &b) {
		return b.Code
	}
	return pte.CodeOf(err)
}

func fail(code pte.Code, parts ...string) error {
	s := ""
	for _, p := range parts {
		s += p
	}
	return &Error{Code: code, Msg: s}
}

// wrap gives err a message; its code is the cause's if that has one.
func wrap(code pte.Code, msg string, err error) error {
	if c := CodeOf(err); c != pte.Internal {
		code = c
	}
	return &Error{Code: code, Msg: msg, Err: err}
}

// recovered is the error for r, which recover gave.
func recovered(msg string, r any) error {
	switch r := r.(type) {
	case *Error:
		return wrap(r.Code, msg, r)
	case error:
		if errors.Is(r, op.ErrElements) {
			return wrap(pte.InvalidArgument, msg, r)
		}
		return fail(pte.Internal, msg, ": panic: ", r.Error())
	case string:
		return fail(pte.Internal, msg, ": panic: ", r)
	}
	return fail(pte.Internal, msg, ": panic: unknown value")
}

func itoa[T ~int | ~int32 | ~int64 | ~uint32 | ~int8](n T) string {
	return strconv.FormatInt(int64(n), 10)
}
