package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rules-pte/rules_pte/backends/xnnpack/blob"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// share is how much of a program XNNPACK has.
type share struct {
	// MACs are the multiply-adds that it has, of All, at the largest sizes.
	MACs, All int64
	// Partitions are the calls of delegates, Kernels those of kernels.
	Partitions, Kernels int
	// BorderBytes are those of the arguments of delegates, at their largest.
	BorderBytes int64
}

// worse says in what s is worse than other, or "". A program without multiply-adds has all of them delegated. More
// partitions and bytes are no fault where fewer kernel calls are left: a node that is taken costs its border.
func (s *share) worse(other *share) string {
	var list []string
	less := func(what string, got, want int64) {
		if got > want {
			list = append(list, fmt.Sprintf("%d %s, official %d", got, what, want))
		}
	}
	if s.All > 0 && float64(s.MACs)*float64(other.All) < float64(other.MACs)*float64(s.All) {
		list = append(list, fmt.Sprintf("%d of %d multiply-adds, official %d of %d", s.MACs, s.All, other.MACs, other.All))
	}
	less("kernel calls", int64(s.Kernels), int64(other.Kernels))
	if s.Kernels < other.Kernels {
		return strings.Join(list, "; ")
	}
	less("partitions", int64(s.Partitions), int64(other.Partitions))
	less("bytes over the border", s.BorderBytes, other.BorderBytes)
	return strings.Join(list, "; ")
}

// delegation says whether ours delegates at least as much as the official program does.
func (j *judge) delegation(ours, theirs string) verdict {
	a, err := j.shareOf(ours)
	if err != nil {
		return fail(err.Error())
	}
	b, err := j.shareOf(theirs)
	if err != nil {
		return fail(err.Error())
	}
	if reason := a.worse(b); reason != "" {
		return verdict{"fail", reason}
	}
	return verdict{state: "ok"}
}

// shareOf reads a program with pte inspect, and the multiply-adds from its delegates and kernel calls.
func (j *judge) shareOf(file string) (*share, error) {
	stdout, stderr, err := j.call([]string{"inspect", "--delegation", "--json", file})
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %s: %w", filepath.Base(file), stderr, err)
	}
	var methods []struct {
		Backends map[string]struct {
			Partitions  int   `json:"partitions"`
			BorderBytes int64 `json:"border_bytes"`
		}
		Kernels map[string]struct{ Calls int }
	}
	if err := json.Unmarshal([]byte(stdout), &methods); err != nil {
		return nil, fmt.Errorf("parse delegation of %s: %w", filepath.Base(file), err)
	}
	s := &share{}
	for _, m := range methods {
		for _, b := range m.Backends {
			s.Partitions += b.Partitions
			s.BorderBytes += b.BorderBytes
		}
		for name, k := range m.Kernels {
			if !strings.HasPrefix(name, "executorch_prim::") {
				s.Kernels += k.Calls
			}
		}
	}
	return s, s.count(file)
}

// count adds up the multiply-adds.
func (s *share) count(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read program: %w", err)
	}
	p, err := pte.Read(b)
	if err != nil {
		return fmt.Errorf("read program: %w", err)
	}
	for _, plan := range p.Plans {
		for _, d := range plan.Delegates {
			g, err := blob.Read(p.DelegateData[d.Processed])
			if err != nil {
				return fmt.Errorf("read payload: %w", err)
			}
			s.MACs += graphMACs(g)
		}
		for _, c := range plan.Chains {
			for _, in := range c.Instructions {
				if in.Type == pte.KernelCall {
					s.All += kernelMACs(plan, plan.Operators[in.A].Name, in.Args)
				}
			}
		}
	}
	s.All += s.MACs
	return nil
}

// graphMACs are the multiply-adds of a payload: those of a result's element, times the elements.
func graphMACs(g *blob.Graph) (sum int64) {
	values := map[uint32]*blob.Value{}
	for i := range g.Values {
		values[g.Values[i].ID] = &g.Values[i]
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch n.Type {
		case blob.Conv2d, blob.DepthwiseConv2d:
			c := n.Conv()
			sum += int64(values[n.Outputs[0]].Numel()) * int64(c.KernelHeight*c.KernelWidth*c.GroupInputs)
		case blob.ConvTranspose2d:
			c := n.Conv()
			sum += int64(values[n.Inputs[0]].Numel()) * int64(c.KernelHeight*c.KernelWidth*c.GroupOutputs)
		case blob.FullyConnected, blob.BatchMatrixMultiply:
			dims := values[n.Inputs[0]].Dims
			sum += int64(values[n.Outputs[0]].Numel()) * int64(dims[len(dims)-1])
		}
	}
	return sum
}

// products are kernels that multiply matrices, with the argument whose last dimension is summed over.
var products = map[string]int{"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::linear": 0}

// kernelMACs are the multiply-adds of a kernel call.
func kernelMACs(plan *pte.ExecutionPlan, name string, args []int32) int64 {
	tensor := func(at int) *pte.Tensor { return plan.Values[args[at]].Tensor }
	out := tensor(len(args) - 1)
	if at, ok := products[name]; ok {
		sizes := tensor(at).Sizes
		return numel(out.Sizes) * int64(sizes[len(sizes)-1])
	}
	if name != "aten::convolution" {
		return 0
	}
	each := numel(tensor(1).Sizes[1:])
	if plan.Values[args[6]].Int != 0 {
		return numel(tensor(0).Sizes) * each
	}
	return numel(out.Sizes) * each
}

func numel(sizes []int32) int64 {
	n := int64(1)
	for _, d := range sizes {
		n *= int64(d)
	}
	return n
}
