// Command main runs the first program on a ramp and prints the outputs, one element a line.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	program, err := pteprogram.Load()
	if err != nil {
		return err
	}
	defer program.Close()
	instance, err := program.NewInstance()
	if err != nil {
		return err
	}
	defer instance.Close()
	info, _ := program.Method("forward")
	var inputs []executor.Value
	for _, in := range info.Inputs {
		inputs = append(inputs, ramp(in.Meta))
	}
	outs, err := instance.Method("forward").Run(context.Background(), inputs)
	if err != nil {
		return err
	}
	fmt.Println(runtime.GOOS, runtime.GOARCH, len(pteprogram.Backends()))
	for _, out := range outs {
		for b := out.Tensor.Data; len(b) >= 4; b = b[4:] {
			fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	return nil
}

// ramp is a float32 tensor of different small numbers.
func ramp(m tensor.Meta) executor.Value {
	t := &tensor.Tensor{Meta: m}
	for i := range t.Nbytes() / 4 {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(i%17)/16-0.5))
	}
	return executor.TensorOf(t)
}
