package passes

import "github.com/rules-pte/rules_pte/lowerer/exir"

// replacements are values to use in place of others.
type replacements map[*exir.Value]*exir.Value

// in replaces the values of args.
func (r replacements) in(args []exir.Arg) {
	for i := range args {
		args[i].EachValue(func(v **exir.Value) {
			if w := r[*v]; w != nil {
				*v = w
			}
		})
	}
}
