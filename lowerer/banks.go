package lowerer

import (
	"errors"
	"slices"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/emit"
	"github.com/rules-pte/rules_pte/runtime/memory"
)

// banksOf are the banks of the target in the order in which they are filled: the smaller first, since small memories are
// the fast ones, and those without a size last; equal ones by memory id.
func banksOf(spec *config.Spec) []emit.Bank {
	var banks []emit.Bank
	for _, b := range spec.Target.Banks { // sorted by memory id
		limit := int64(memory.NoLimit)
		if b.Size.Set || b.Size.V > 0 {
			limit = b.Size.V
		}
		banks = append(banks, emit.Bank{Name: b.Name, MemoryID: b.MemoryID, Limit: limit})
	}
	slices.SortStableFunc(banks, func(a, b emit.Bank) int {
		switch {
		case a.Limit == b.Limit:
			return 0
		case b.Limit == memory.NoLimit, a.Limit != memory.NoLimit && a.Limit < b.Limit:
			return -1
		}
		return 1
	})
	return banks
}

// emitError gives an error of emit its code; a bank that is too small is put where the user, or the target, says its size.
func emitError(spec *config.Spec, err error) error {
	var o *emit.OverflowError
	if !errors.As(err, &o) {
		return diag.At("", diag.UnsupportedDType, err)
	}
	pos := spec.Target.Pos
	for _, b := range spec.Target.Banks {
		if b.Name == o.Bank && b.Size.Pos.IsValid() {
			pos = b.Size.Pos
		}
	}
	return diag.New(diag.BankOverflow, spec.Where(pos), "%w; no plan of method %s can use less than %d", o, o.Method, o.Bound)
}
