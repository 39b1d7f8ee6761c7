//go:build wasip1

// Command web is the WebAssembly module of a pte_web: the functions of pte.h for the programs and kernels of package
// pteprogram, with a handle as 32 bits and a text as address and length. pte.js calls them.
package main

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/capi/abi"
)

func init() {
	abi.SetBinary(abi.Binary{Options: pteprogram.Options(), Names: pteprogram.Names(), Bytes: pteprogram.Bytes})
}

func main() {}

// lastError is the text of the last error, ended by a zero.
var lastError = []byte{0}

// memory has what pte_alloc gave, by address.
var memory = map[unsafe.Pointer][]uint64{}

// status is the code of what f gives, whose text it keeps.
func status(f func() error) (code int32) {
	defer func() {
		if r := recover(); r != nil {
			code = keep(abi.Recovered(r))
		}
	}()
	return keep(f())
}

func keep(err error) int32 {
	if err != nil {
		lastError = append([]byte(err.Error()), 0)
	}
	return abi.Status(err)
}

// text copies the bytes of a text.
func text(data unsafe.Pointer, size uint32) string {
	if data == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(data), size))
}

func handle(p unsafe.Pointer) *abi.Handle { return (*abi.Handle)(p) }

//go:wasmexport pte_abi_version
func abiVersion() uint32 { return abi.Version }

//go:wasmexport pte_last_error
func lastErrorAddress() unsafe.Pointer { return unsafe.Pointer(&lastError[0]) }

// alloc gives zeroed memory at a multiple of 8, which stays until it is freed.
//
//go:wasmexport pte_alloc
func alloc(size uint32) unsafe.Pointer {
	words := make([]uint64, max(1, (uint64(size)+7)/8))
	p := unsafe.Pointer(&words[0])
	memory[p] = words
	return p
}

//go:wasmexport pte_free
func free(p unsafe.Pointer) { delete(memory, p) }

//go:wasmexport pte_embedded_count
func embeddedCount() uint32 { return abi.EmbeddedCount() }

//go:wasmexport pte_embedded_name
func embeddedName(index uint32, name unsafe.Pointer) int32 {
	return status(func() error { return abi.EmbeddedName(index, (*uintptr)(name)) })
}

//go:wasmexport pte_data_load
func dataLoad(data unsafe.Pointer, size uint32, out unsafe.Pointer) int32 {
	return status(func() error { return abi.LoadData(data, uint64(size), handle(out)) })
}

//go:wasmexport pte_data_destroy
func dataDestroy(data uint32) {
	status(func() error { abi.DestroyData(abi.Handle(data)); return nil })
}

//go:wasmexport pte_program_load
func programLoad(data unsafe.Pointer, size uint32, options, program unsafe.Pointer) int32 {
	return status(func() error { return abi.Load(data, uint64(size), (*abi.Options)(options), handle(program)) })
}

//go:wasmexport pte_program_load_embedded
func programLoadEmbedded(name unsafe.Pointer, size uint32, options, program unsafe.Pointer) int32 {
	return status(func() error {
		return abi.LoadEmbedded(text(name, size), (*abi.Options)(options), handle(program))
	})
}

//go:wasmexport pte_program_destroy
func programDestroy(program uint32) {
	status(func() error { abi.DestroyProgram(abi.Handle(program)); return nil })
}

//go:wasmexport pte_program_method_count
func programMethodCount(program uint32, count unsafe.Pointer) int32 {
	return status(func() error { return abi.MethodCount(abi.Handle(program), (*uint32)(count)) })
}

//go:wasmexport pte_program_method_name
func programMethodName(program, index uint32, name unsafe.Pointer) int32 {
	return status(func() error { return abi.MethodName(abi.Handle(program), index, (*uintptr)(name)) })
}

//go:wasmexport pte_program_method_info
func programMethodInfo(program uint32, method unsafe.Pointer, size uint32, info unsafe.Pointer) int32 {
	return status(func() error {
		return abi.Describe(abi.Handle(program), text(method, size), (*abi.MethodInfo)(info))
	})
}

//go:wasmexport pte_program_input_info
func programInputInfo(program uint32, method unsafe.Pointer, size, index uint32, info unsafe.Pointer) int32 {
	return status(func() error {
		return abi.DescribeInput(abi.Handle(program), text(method, size), index, (*abi.ValueInfo)(info))
	})
}

//go:wasmexport pte_program_output_info
func programOutputInfo(program uint32, method unsafe.Pointer, size, index uint32, info unsafe.Pointer) int32 {
	return status(func() error {
		return abi.DescribeOutput(abi.Handle(program), text(method, size), index, (*abi.ValueInfo)(info))
	})
}

//go:wasmexport pte_instance_create
func instanceCreate(program uint32, instance unsafe.Pointer) int32 {
	return status(func() error { return abi.NewInstance(abi.Handle(program), handle(instance)) })
}

//go:wasmexport pte_instance_destroy
func instanceDestroy(instance uint32) {
	status(func() error { abi.DestroyInstance(abi.Handle(instance)); return nil })
}

//go:wasmexport pte_instance_method
func instanceMethod(instance uint32, name unsafe.Pointer, size uint32, method unsafe.Pointer) int32 {
	return status(func() error { return abi.FindMethod(abi.Handle(instance), text(name, size), handle(method)) })
}

//go:wasmexport pte_method_set_input
func methodSetInput(method, index uint32, value unsafe.Pointer) int32 {
	return status(func() error { return abi.SetInput(abi.Handle(method), index, (*abi.Value)(value)) })
}

//go:wasmexport pte_method_run
func methodRun(method uint32) int32 {
	return status(func() error { return abi.Run(abi.Handle(method)) })
}

//go:wasmexport pte_method_get_output
func methodGetOutput(method, index uint32, value unsafe.Pointer) int32 {
	return status(func() error { return abi.Output(abi.Handle(method), index, (*abi.Value)(value)) })
}
