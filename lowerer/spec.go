package lowerer

import (
	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
)

// ReadSpec reads the spec at path, a CUE file with one program. Its `partition` may name the backends that are given,
// and import their CUE packages. The error is a diag.List.
func ReadSpec(path string, backends []backend.Backend) (*config.Spec, error) {
	return config.Load(path, config.Options{Backends: backends})
}

// Modules are what backends took, in the order in which they took it; none before ToBackend.
func (l *Loaded) Modules() []*exir.LoweredModule {
	if l.delegation == nil {
		return nil
	}
	return l.delegation.Modules
}
