package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/bench/bigmodel"
)

// growth is what lowering a model with weights of some size takes.
type growth struct {
	WeightBytes int64  `json:"weight_bytes"`
	Ours        sample `json:"ours"`
}

// heapSizes are the weights of the models that measureHeap makes, in bytes; the graph is the same.
var heapSizes = []int64{5e6, 500e6}

// measureHeap lowers models that differ only in the size of their weights.
func measureHeap(o *ours, tmp string) ([]growth, error) {
	var out []growth
	for _, size := range heapSizes {
		g, err := lowerBig(o, filepath.Join(tmp, "big.pt2"), size)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func lowerBig(o *ours, file string, size int64) (g growth, err error) {
	if _, err := bigmodel.Write(file, size); err != nil {
		return growth{}, fmt.Errorf("make model of %d bytes: %w", size, err)
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()
	s, err := o.lower(model{"big", map[string]string{"forward": file}})
	return growth{size, s}, err
}
