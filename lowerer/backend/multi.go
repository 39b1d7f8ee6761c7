package backend

import (
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// PreprocessOneByOne is PreprocessMultiMethod by way of Preprocess, for backends that handle only some cases at once. A list of
// specs that is missing or of the wrong length is an error that names the method.
func PreprocessOneByOne(b Backend, c *Context, programs map[string][]*exir.EdgeProgram, specs map[string][][]CompileSpec) (map[string][]*PreprocessResult, error) {
	out := map[string][]*PreprocessResult{}
	for name, list := range programs {
		if err := checkSpecs(name, list, specs); err != nil {
			return nil, err
		}
		for i, p := range list {
			result, err := b.Preprocess(c, p, specs[name][i])
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
