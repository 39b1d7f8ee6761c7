package pte

import (
	"cmp"
	"strconv"
)

// Code is an ExecuTorch error code.
type Code uint32

// The codes of ExecuTorch's runtime/core/error.h.
const (
	Ok                              Code = 0x00
	Internal                        Code = 0x01
	InvalidState                    Code = 0x02
	EndOfMethod                     Code = 0x03
	AlreadyLoaded                   Code = 0x04
	NotSupported                    Code = 0x10
	NotImplemented                  Code = 0x11
	InvalidArgument                 Code = 0x12
	InvalidType                     Code = 0x13
	OperatorMissing                 Code = 0x14
	RegistrationExceedingMaxKernels Code = 0x15
	RegistrationAlreadyRegistered   Code = 0x16
	NotFound                        Code = 0x20
	MemoryAllocationFailed          Code = 0x21
	AccessFailed                    Code = 0x22
	InvalidProgram                  Code = 0x23
	InvalidExternalData             Code = 0x24
	OutOfResources                  Code = 0x25
	DelegateInvalidCompatibility    Code = 0x30
	DelegateMemoryAllocationFailed  Code = 0x31
	DelegateInvalidHandle           Code = 0x32
)

var codeNames = map[Code]string{
	Ok: "Ok", Internal: "Internal", InvalidState: "InvalidState", EndOfMethod: "EndOfMethod",
	AlreadyLoaded: "AlreadyLoaded", NotSupported: "NotSupported", NotImplemented: "NotImplemented",
	InvalidArgument: "InvalidArgument", InvalidType: "InvalidType", OperatorMissing: "OperatorMissing",
	RegistrationExceedingMaxKernels: "RegistrationExceedingMaxKernels",
	RegistrationAlreadyRegistered:   "RegistrationAlreadyRegistered",
	NotFound:                        "NotFound", MemoryAllocationFailed: "MemoryAllocationFailed",
	AccessFailed: "AccessFailed", InvalidProgram: "InvalidProgram", InvalidExternalData: "InvalidExternalData",
	OutOfResources: "OutOfResources", DelegateInvalidCompatibility: "DelegateInvalidCompatibility",
	DelegateMemoryAllocationFailed: "DelegateMemoryAllocationFailed",
	DelegateInvalidHandle:          "DelegateInvalidHandle",
}

// String is the name with the number, such as "InvalidProgram (0x23)".
func (c Code) String() string {
	name := codeNames[c]
	if name == "" {
		name = "Code"
	}
	return name + " (0x" + strconv.FormatUint(uint64(c), 16) + ")"
}

// Error is a fault of a file: Where names the part, such as "plan 0 value 3". File is its kind; "" is "program".
type Error struct {
	Code  Code
	Where string
	Msg   string
	File  string
}

// Error is "read program: plan 0 value 3: rank 17, want at most 16: InvalidProgram (0x23)".
func (e *Error) Error() string {
	return "read " + cmp.Or(e.File, "program") + ": " + e.Where + ": " + e.Msg + ": " + e.Code.String()
}

// CodeOf is the code of err: that of an *Error in its chain, Ok for nil, else Internal.
func CodeOf(err error) Code {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(*Error); ok {
			return e.Code
		}
		if unwrap(err) == nil {
			return Internal
		}
	}
	return Ok
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func itoa[T int | int8 | int32 | int64 | uint8 | uint32 | uint64](n T) string {
	if n > 0 {
		return strconv.FormatUint(uint64(n), 10)
	}
	return strconv.FormatInt(int64(n), 10)
}
