package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// platform is what a runtime is built for.
type platform struct {
	os, arch string // GOOS and GOARCH
	features []string
}

// baseline are the CPU features that every machine of an architecture has, by GOARCH or GOOS/GOARCH.
var baseline = map[string][]string{
	"amd64":        {"sse2"},
	"arm64":        {"neon"},
	"darwin/arm64": {"neon", "fp16"},
	"arm":          {"vfpv3"},
}

// check refuses a program that was lowered for another machine. A package that is not linked has no platform.
func (p platform) check(target, program string, m *manifest) error {
	if p.os == "" {
		return nil
	}
	t := &m.Target
	// Browsers and WASI are one target.
	if os := t.OS; os != "" && os != "any" && os != p.os && !(t.Arch == "wasm" && p.arch == "wasm") || !p.isArch(t.Arch) {
		return fmt.Errorf("%s: program %s was lowered for target %s, which is %s on %s, and this runtime is for %s on %s: "+
			"give the spec that target, or the runtime that platform", target, program, t.Name, t.OS, t.Arch, p.os, p.arch)
	}
	have := slices.Concat(baseline[p.arch], baseline[p.os+"/"+p.arch], p.features)
	var errs []error
	for _, f := range t.CPUFeatures {
		if !slices.Contains(have, f) {
			errs = append(errs, fmt.Errorf("%s: program %s was lowered for target %s, whose CPU has %q, and not every machine with %s on %s has it (%s): "+
				"list it in cpu_features if yours do", target, program, t.Name, f, p.os, p.arch, strings.Join(have, ", ")))
		}
	}
	return errors.Join(errs...)
}

func (p platform) isArch(arch string) bool { return arch == "" || arch == "any" || arch == p.arch }
