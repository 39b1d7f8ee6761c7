package main

import (
	"context"
	"errors"
	"slices"

	"github.com/rules-pte/rules_pte/pteprogram"
	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// classify runs the model once over all images, (n, 1, 8, 8) float32, and gives the scores, n times classes.
func classify(ctx context.Context, images []byte) ([]float32, error) {
	program, err := pteprogram.Load()
	if err != nil {
		return nil, err
	}
	defer program.Close()
	instance, err := program.NewInstance()
	if err != nil {
		return nil, err
	}
	defer instance.Close()
	forward := instance.Method("forward")
	if forward == nil {
		return nil, errors.New("the program has no method forward")
	}
	n := tensor.Dim(len(images) / (4 * pixels))
	in := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float, Sizes: []tensor.Dim{n, 1, side, side}}, Data: images}
	outputs, err := forward.Run(ctx, executor.Values(in))
	if err != nil {
		return nil, err
	}
	return slices.Clone(tensor.Elements[float32](outputs[0].Tensor)), nil
}
