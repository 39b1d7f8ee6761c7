// Command capi is the library of a pte_library: the functions of pte.h for the programs and kernels of package
// pteprogram. It is the one command that needs cgo; without it, there is none.
package main

/*
#include "error.h"
#include "pte.h"

// Types of parameters as pte.h has them, for which Go has no syntax.
typedef const void *const_bytes;
typedef const char *const_string;
typedef const char **out_string;
typedef const pte_options *const_options;
typedef const pte_value *const_value;
*/
import "C"

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/capi/abi"
	"github.com/rules-pte/rules_pte/runtime/executor/weightcache"
)

func init() {
	abi.SetBinary(abi.Binary{Options: pteprogram.Options(), Names: pteprogram.Names(), Bytes: pteprogram.Bytes,
		WeightCache: weightcache.File})
}

func main() {}

// status is the code of what f gives, whose text it keeps for this thread. A callback runs on the caller's thread.
func status(f func() error) (code C.pte_status) {
	defer func() {
		if r := recover(); r != nil {
			code = keep(abi.Recovered(r))
		}
	}()
	return keep(f())
}

func keep(err error) C.pte_status {
	if err != nil {
		text := err.Error()
		C.pte_keep_error((*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
	}
	return C.pte_status(abi.Status(err))
}

// text is a C string; "" for null.
func text(s C.const_string) string { return C.GoString((*C.char)(unsafe.Pointer(s))) }

// The pointers of C as those of package abi. A handle is a struct of its number.

func handle[T C.pte_program | C.pte_instance | C.pte_method | C.pte_data](h *T) *abi.Handle {
	return (*abi.Handle)(unsafe.Pointer(h))
}

func address(s C.out_string) *uintptr { return (*uintptr)(unsafe.Pointer(s)) }

func options(o C.const_options) *abi.Options { return (*abi.Options)(unsafe.Pointer(o)) }

func count(n *C.uint32_t) *uint32 { return (*uint32)(unsafe.Pointer(n)) }

func info(i *C.pte_value_info) *abi.ValueInfo { return (*abi.ValueInfo)(unsafe.Pointer(i)) }

//export pte_abi_version
func pte_abi_version() C.uint32_t { return abi.Version }

//export pte_embedded_count
func pte_embedded_count() C.uint32_t { return C.uint32_t(abi.EmbeddedCount()) }

//export pte_embedded_name
func pte_embedded_name(index C.uint32_t, name C.out_string) C.pte_status {
	return status(func() error { return abi.EmbeddedName(uint32(index), address(name)) })
}

//export pte_data_load
func pte_data_load(data C.const_bytes, size C.size_t, out *C.pte_data) C.pte_status {
	return status(func() error { return abi.LoadData(unsafe.Pointer(data), uint64(size), handle(out)) })
}

//export pte_data_load_file
func pte_data_load_file(path C.const_string, out *C.pte_data) C.pte_status {
	return status(func() error { return abi.LoadDataFile(text(path), handle(out)) })
}

//export pte_data_destroy
func pte_data_destroy(data C.pte_data) {
	status(func() error { abi.DestroyData(abi.Handle(data.id)); return nil })
}

//export pte_program_load
func pte_program_load(data C.const_bytes, size C.size_t, o C.const_options, program *C.pte_program) C.pte_status {
	return status(func() error { return abi.Load(unsafe.Pointer(data), uint64(size), options(o), handle(program)) })
}

//export pte_program_load_file
func pte_program_load_file(path C.const_string, o C.const_options, program *C.pte_program) C.pte_status {
	return status(func() error { return abi.LoadFile(text(path), options(o), handle(program)) })
}

//export pte_program_load_embedded
func pte_program_load_embedded(name C.const_string, o C.const_options, program *C.pte_program) C.pte_status {
	return status(func() error { return abi.LoadEmbedded(text(name), options(o), handle(program)) })
}

//export pte_program_destroy
func pte_program_destroy(program C.pte_program) {
	status(func() error { abi.DestroyProgram(abi.Handle(program.id)); return nil })
}

//export pte_program_weight_cache_error
func pte_program_weight_cache_error(program C.pte_program, message C.out_string) C.pte_status {
	return status(func() error { return abi.CacheError(abi.Handle(program.id), address(message)) })
}

//export pte_program_method_count
func pte_program_method_count(program C.pte_program, n *C.uint32_t) C.pte_status {
	return status(func() error { return abi.MethodCount(abi.Handle(program.id), count(n)) })
}

//export pte_program_method_name
func pte_program_method_name(program C.pte_program, index C.uint32_t, name C.out_string) C.pte_status {
	return status(func() error { return abi.MethodName(abi.Handle(program.id), uint32(index), address(name)) })
}

//export pte_program_method_info
func pte_program_method_info(program C.pte_program, method C.const_string, out *C.pte_method_info) C.pte_status {
	return status(func() error {
		return abi.Describe(abi.Handle(program.id), text(method), (*abi.MethodInfo)(unsafe.Pointer(out)))
	})
}

//export pte_program_input_info
func pte_program_input_info(program C.pte_program, method C.const_string, index C.uint32_t, out *C.pte_value_info) C.pte_status {
	return status(func() error {
		return abi.DescribeInput(abi.Handle(program.id), text(method), uint32(index), info(out))
	})
}

//export pte_program_output_info
func pte_program_output_info(program C.pte_program, method C.const_string, index C.uint32_t, out *C.pte_value_info) C.pte_status {
	return status(func() error {
		return abi.DescribeOutput(abi.Handle(program.id), text(method), uint32(index), info(out))
	})
}

//export pte_instance_create
func pte_instance_create(program C.pte_program, instance *C.pte_instance) C.pte_status {
	return status(func() error { return abi.NewInstance(abi.Handle(program.id), handle(instance)) })
}

//export pte_instance_destroy
func pte_instance_destroy(instance C.pte_instance) {
	status(func() error { abi.DestroyInstance(abi.Handle(instance.id)); return nil })
}

//export pte_instance_method
func pte_instance_method(instance C.pte_instance, name C.const_string, method *C.pte_method) C.pte_status {
	return status(func() error { return abi.FindMethod(abi.Handle(instance.id), text(name), handle(method)) })
}

//export pte_method_set_input
func pte_method_set_input(method C.pte_method, index C.uint32_t, value C.const_value) C.pte_status {
	return status(func() error {
		return abi.SetInput(abi.Handle(method.id), uint32(index), (*abi.Value)(unsafe.Pointer(value)))
	})
}

//export pte_method_run
func pte_method_run(method C.pte_method) C.pte_status {
	return status(func() error { return abi.Run(abi.Handle(method.id)) })
}

//export pte_method_get_output
func pte_method_get_output(method C.pte_method, index C.uint32_t, value *C.pte_value) C.pte_status {
	return status(func() error {
		return abi.Output(abi.Handle(method.id), uint32(index), (*abi.Value)(unsafe.Pointer(value)))
	})
}
