package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// tier is our runtime in a tier of its own.
type tier struct {
	*ours // of the program that was loaded last
	tier  string
}

// newTier is our runtime in the tier of this name, which this machine must have.
func newTier(name string) (*tier, error) {
	for _, t := range kernel.Tiers() {
		if t.String() == name {
			return &tier{tier: name}, nil
		}
	}
	return nil, fmt.Errorf("--beside: want one of %s", tierNames())
}

// tierNames are the tiers of this machine.
func tierNames() string {
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

func (t *tier) name() string { return t.tier }

// load sets the variable that caps the tier while it loads p.
func (t *tier) load(p *program) (err error) {
	before, set := os.LookupEnv(kernel.TierVar)
	if err := os.Setenv(kernel.TierVar, t.tier); err != nil {
		return fmt.Errorf("set tier: %w", err)
	}
	defer func() {
		if set {
			os.Setenv(kernel.TierVar, before)
		} else {
			os.Unsetenv(kernel.TierVar)
		}
	}()
	t.close()
	t.ours, err = loadOurs(p)
	return err
}

func (t *tier) close() {
	if t.ours != nil {
		t.ours.close()
	}
}
