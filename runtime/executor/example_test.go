package executor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// A program of one method, which adds its two inputs.
func Example() {
	program, err := executor.LoadFile("testdata/add/portable.pte", executor.LoadOptions{Kernels: op.Kernels})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	instance, err := program.NewInstance()
	if err != nil {
		log.Fatal(err)
	}
	defer instance.Close()

	for _, in := range instance.Method("forward").Info().Inputs {
		fmt.Println("input", in.Meta.DType, in.Meta.Sizes)
	}
	x, y := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3), tensor.Of([]float32{10, 20, 30, 40, 50, 60}, 2, 3)
	outputs, err := instance.Method("forward").Run(context.Background(), executor.Values(x, y))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("output", outputs[0].String(), tensor.Elements[float32](outputs[0].Tensor))
	// Output:
	// input float32 [2 3]
	// input float32 [2 3]
	// output float32[2, 3] [11 22 33 44 55 66]
}
