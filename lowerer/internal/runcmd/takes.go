package runcmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

var kindOf = map[pte.ValueType]executor.Kind{pte.Int: executor.Int, pte.Bool: executor.Bool, pte.Double: executor.Float,
	pte.String: executor.String, pte.TensorValue: executor.Tensor}

// takes are the inputs of a method as the executor says of them, also of a program that it cannot load.
func takes(p *pte.ExecutionPlan) []executor.ValueInfo {
	infos := make([]executor.ValueInfo, len(p.Inputs))
	for i, v := range p.Inputs {
		if v < 0 || int(v) >= len(p.Values) {
			continue
		}
		in, t := &infos[i], p.Values[v].Tensor
		if in.Kind = kindOf[p.Values[v].Type]; in.Kind != executor.Tensor {
			continue
		}
		in.Meta.DType = t.ScalarType
		for _, n := range t.Sizes {
			s := executor.SizeInfo{Least: int64(n), Most: int64(n)}
			if t.Dynamism != pte.Static {
				s.Least = 0
			}
			if t.Dynamism == pte.DynamicUnbound {
				s.Most = math.MaxInt64
			}
			in.Sizes = append(in.Sizes, s)
		}
	}
	for i := range p.Values {
		if lines, ok := strings.CutPrefix(p.Values[i].String, pte.GuardsPrefix); ok {
			for line := range strings.Lines(lines) {
				narrow(infos, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
			}
		}
	}
	return infos
}

// narrow makes of a size what the fields of a guard say (pte.GuardsPrefix). What is no guard is left to the loader, which refuses it.
func narrow(infos []executor.ValueInfo, f []string) {
	if len(f) != 7 {
		return
	}
	input, err := strconv.ParseUint(f[0], 10, 31)
	dim, dimErr := strconv.ParseUint(f[1], 10, 31) // an int has none
	if err != nil || dimErr != nil || int(input) >= len(infos) || int(dim) >= len(infos[input].Sizes) {
		return
	}
	s := &infos[input].Sizes[dim]
	if n, err := strconv.ParseInt(f[3], 10, 64); err == nil {
		s.Least = max(s.Least, n)
	}
	if n, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		s.Most = min(s.Most, n)
	}
	if n, err := strconv.ParseInt(f[5], 10, 64); err == nil {
		s.Least, s.Most = n, n
	} else if f[5] != "" {
		s.Derived = f[6]
	}
}

// inputsText are the inputs of a method, with their types and what their sizes may be.
func inputsText(p *pte.ExecutionPlan) string {
	var list []string
	for i, in := range takes(p) {
		text := fmt.Sprintf("%%%d %s", p.Inputs[i], inputText(&in))
		if in.Kind == executor.Tensor {
			text += orderText(p.Values[p.Inputs[i]].Tensor)
		}
		list = append(list, text)
	}
	return "(" + strings.Join(list, ", ") + ")"
}
