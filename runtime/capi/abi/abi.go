// Package abi is what C and WebAssembly see of the executor: handles for its objects, structs with a fixed layout for
// its values, and indices and addresses that are checked. Its two front ends, runtime/capi and runtime/web, add the
// calling convention and keep the last error.
//
// Memory that a caller names by an address belongs to the caller; how long it must stay is said at each function.
package abi

import (
	"errors"
	"strconv"
	"sync"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// Version counts changes of the structs and functions that break callers: PTE_ABI_VERSION of pte.h.
const Version = 3

// Handle names a program, an instance or a method of one, or a data file; 0 names none. No handle is used twice, so that one of something
// that was destroyed is an error.
type Handle uint64

// table has the objects that callers hold.
var table = struct {
	sync.RWMutex
	last    Handle
	objects map[Handle]any
}{objects: map[Handle]any{}}

// register gives x a handle.
func register(x any) Handle {
	table.Lock()
	defer table.Unlock()
	table.last++
	table.objects[table.last] = x
	return table.last
}

// find is the object with a handle, which must be a T.
func find[T any](h Handle, kind string) (T, error) {
	table.RLock()
	defer table.RUnlock()
	x, ok := table.objects[h].(T)
	if !ok {
		return x, fail("there is no " + kind + " with handle " + strconv.FormatUint(uint64(h), 10) + ", or it was destroyed")
	}
	return x, nil
}

// remove takes the object with a handle, if it is a T, out of the table.
func remove[T any](h Handle) (x T, ok bool) {
	table.Lock()
	defer table.Unlock()
	if x, ok = table.objects[h].(T); ok {
		delete(table.objects, h)
	}
	return x, ok
}

// Count is how many handles there are.
func Count() int {
	table.RLock()
	defer table.RUnlock()
	return len(table.objects)
}

// Status is the ExecuTorch code of an error of this package, 0 for nil.
func Status(err error) int32 { return int32(executor.CodeOf(err)) }

// Recovered is the error for a panic that got as far as a front end, where it would end the caller's process.
func Recovered(r any) error {
	text := "unknown value"
	switch r := r.(type) {
	case error:
		text = r.Error()
	case string:
		text = r
	}
	return &executor.Error{Code: pte.Internal, Msg: "panic: " + text}
}

var errNil = fail("an address is null")

func fail(msg string) error { return &executor.Error{Code: pte.InvalidArgument, Msg: msg} }

// index checks an index that a caller gives.
func index(i uint32, n int, what string) error {
	if int64(i) >= int64(n) {
		return fail("there is no " + what + " " + strconv.FormatUint(uint64(i), 10) + ": there are " + strconv.Itoa(n))
	}
	return nil
}

// notEmbedded is the error for a program that the binary does not hold.
func notEmbedded(name string, names []string) error {
	if len(names) == 0 {
		return &executor.Error{Code: pte.NotFound, Msg: "no program is in this binary"}
	}
	return &executor.Error{Code: pte.NotFound, Msg: "no program " + strconv.Quote(name) + " is in this binary", Err: errors.New("there are " + list(names))}
}

func list(names []string) string {
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += strconv.Quote(n)
	}
	return text
}
