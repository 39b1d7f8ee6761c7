package main

import (
	"fmt"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// guardSide says on which side of a buffer the page lies that nobody may touch.
type guardSide string

const (
	unguarded   guardSide = ""
	guardBefore guardSide = "before"
	guardBehind guardSide = "behind"
)

// parseGuard is the side of this name.
func parseGuard(name string) (guardSide, error) {
	switch s := guardSide(name); s {
	case unguarded, guardBefore, guardBehind:
		return s, nil
	}
	return "", fmt.Errorf("guard %q, want before or behind", name)
}

// unplaced marks bytes that nobody has written: of float types it is a number that no case has.
const unplaced = 0xa5

// apart is the program with an arena for every place of a tensor, so that no tensor lies beside another, at an odd
// address, so that the executor copies its constants. Tensors of one place and size keep sharing it, since they may be
// meant to.
func apart(program []byte) ([]byte, error) {
	p, err := pte.Read(program)
	if err != nil {
		return nil, fmt.Errorf("set tensors apart: %w", err)
	}
	for _, plan := range p.Plans {
		setApart(plan)
	}
	b, err := pte.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("set tensors apart: %w", err)
	}
	return append(make([]byte, 1, len(b)+1), b...)[1:], nil
}

func setApart(plan *pte.ExecutionPlan) {
	type spot struct {
		pte.Allocation
		size int64
	}
	arenas, sizes := map[spot]uint32{}, []int64{0}
	for i := range plan.Values {
		t := plan.Values[i].Tensor
		if t == nil || t.Allocation == nil {
			continue
		}
		s := spot{*t.Allocation, int64(t.ScalarType.Size())}
		for _, n := range t.Sizes {
			s.size *= int64(n)
		}
		if arenas[s] == 0 {
			arenas[s] = uint32(len(sizes))
			sizes = append(sizes, s.size)
		}
		t.Allocation = &pte.Allocation{MemoryID: arenas[s]}
	}
	plan.NonConstBufferSizes = sizes
}

// moved is v, if it is a tensor with its elements in memory of its own from alloc.
func moved(v executor.Value, alloc func(n int) []byte) executor.Value {
	if v.Kind != executor.Tensor {
		return v
	}
	t := &tensor.Tensor{Meta: v.Tensor.Meta, Data: alloc(len(v.Tensor.Data))}
	copy(t.Data, v.Tensor.Data)
	return executor.TensorOf(t)
}
