package backend

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// PreprocessEach is a PreprocessMultiMethod that handles the partitions one by one. A list of compile specs that is
// missing or of the wrong length is an error that names the method.
func PreprocessEach(programs map[string][]*exir.EdgeProgram, specs map[string][][]CompileSpec,
	preprocess func(p *exir.EdgeProgram, specs []CompileSpec) (*PreprocessResult, error)) (map[string][]*PreprocessResult, error) {
	out := map[string][]*PreprocessResult{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if err := checkSpecs(name, programs[name], specs); err != nil {
			return nil, err
		}
		for i, p := range programs[name] {
			result, err := preprocess(p, specs[name][i])
			if err != nil {
				return nil, fmt.Errorf("method %s: %w", name, err)
			}
			out[name] = append(out[name], result)
		}
	}
	return out, nil
}

// checkSpecs holds a method's list of compile specs against its partitions.
func checkSpecs(method string, partitions []*exir.EdgeProgram, specs map[string][][]CompileSpec) error {
	list, ok := specs[method]
	switch {
	case !ok:
		return fmt.Errorf("method %s has no compile specs", method)
	case len(list) != len(partitions):
		return fmt.Errorf("method %s has %d lists of compile specs for %d partitions", method, len(list), len(partitions))
	}
	return nil
}
