package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// detector runs the model over a signal; the model's state goes from call to call.
type detector struct {
	program  *executor.Program
	instance *executor.Instance
	forward  *executor.Method
	frame    []byte // (1, contextSize + frameSize) float32
	inputs   []executor.Value
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
	frame := floats(1, contextSize+frameSize)
	d.frame = frame.Data
	d.inputs = []executor.Value{executor.TensorOf(frame), executor.TensorOf(floats(2, 1, 128))}
	return d, nil
}

// floats is a tensor of zeros.
func floats(sizes ...tensor.Dim) *tensor.Tensor {
	t := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: sizes}}
	t.Data = make([]byte, t.Nbytes())
	return t
}

func (d *detector) close() {
	d.instance.Close()
	d.program.Close()
}

// listen gives the probability of speech in each frame; the last one is filled up with silence.
func (d *detector) listen(ctx context.Context, samples []float32) ([]float32, error) {
	clear(d.frame)
	clear(d.inputs[1].Tensor.Data)
	var out []float32
	for len(samples) > 0 {
		copy(d.frame, d.frame[4*frameSize:])
		clear(d.frame[4*contextSize:])
		n := min(frameSize, len(samples))
		for i, s := range samples[:n] {
			binary.LittleEndian.PutUint32(d.frame[4*(contextSize+i):], math.Float32bits(s))
		}
		samples = samples[n:]
		outputs, err := d.forward.Run(ctx, d.inputs)
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", len(out), err)
		}
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(outputs[0].Tensor.Data)))
		copy(d.inputs[1].Tensor.Data, outputs[1].Tensor.Data)
	}
	return out, nil
}
