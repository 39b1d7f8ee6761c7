// Package side measures programs on several runtimes, the sides, which take turns: bench/models and bench/kernels share
// it. A side is a process that has loaded the program and answers lines of text; official/runner.cc says which.
package side

import "os/exec"

// Side is a runtime with a kind of program.
type Side struct {
	Name string
	// Export is what python/export.py makes: "xnnpack", "portable", "onnx" or "litert"; "" for a program that our tool
	// lowers, to the backend Partition if that is not empty.
	Export, Partition string
	// Worker starts the process; nil: the side is our runtime with what each program needs, as pte_runtime links it, in a process that is
	// built for the program.
	Worker func(k *Kit) *exec.Cmd
}

// Ours is our runtime with all kernels, the command worker.
func Ours(k *Kit) *exec.Cmd { return exec.Command(k.ours) }

// Official is the official runtime behind the runner in C++.
func Official(k *Kit) *exec.Cmd { return exec.Command(k.runner) }

// ONNX is ONNX Runtime, in Python.
func ONNX(k *Kit) *exec.Cmd { return exec.Command(k.Python, k.script(onnxScript)) }

// LiteRT is Google's runtime of that name, in Python.
func LiteRT(k *Kit) *exec.Cmd { return exec.Command(k.LiteRT, k.script(litertScript)) }

// litert is the kind of program that LiteRT's interpreter exports.
const litert = "litert"
