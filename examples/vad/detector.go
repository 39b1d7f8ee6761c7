package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// detector runs the model over a signal; the model's state goes from call to call.
type detector struct {
	program  *executor.Program
	instance *executor.Instance
	forward  *executor.Method
	frame    []float32 // the last contextSize samples of the frame before, and frameSize new ones
	state    []float32
	inputs   []executor.Value // frame and state
}

func newDetector() (*detector, error) {
	program, err := pteprogram.Load()
	if err != nil {
		return nil, err
	}
	instance, err := program.NewInstance()
	if err != nil {
		return nil, err
	}
	d := &detector{program: program, instance: instance, forward: instance.Method("forward")}
	if d.forward == nil {
		return nil, errors.New("the program has no method forward")
	}
	d.frame, d.state = make([]float32, contextSize+frameSize), make([]float32, stateSize)
	d.inputs = executor.Values(tensor.Of(d.frame, 1, contextSize+frameSize), tensor.Of(d.state, 2, 1, stateSize/2))
	return d, nil
}

func (d *detector) close() {
	d.instance.Close()
	d.program.Close()
}

// listen gives the probability of speech in each frame; the last one is filled up with silence.
func (d *detector) listen(ctx context.Context, samples []float32) ([]float32, error) {
	clear(d.frame)
	clear(d.state)
	var out []float32
	for len(samples) > 0 {
		copy(d.frame, d.frame[frameSize:])
		clear(d.frame[contextSize:])
		samples = samples[copy(d.frame[contextSize:], samples):]
		outputs, err := d.forward.Run(ctx, d.inputs)
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", len(out), err)
		}
		out = append(out, tensor.Elements[float32](outputs[0].Tensor)[0])
		copy(d.state, tensor.Elements[float32](outputs[1].Tensor))
	}
	return out, nil
}
