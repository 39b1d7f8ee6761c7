package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// backendManifest is the file `manifest` of a pte_backend: what its two Go packages hold.
type backendManifest struct {
	Backends []struct {
		// ID is the name in programs.
		ID string `json:"id"`
		// AOT and RT are the Go expressions that make the two halves in their packages, such as "Backend{}"; "" for a
		// half that there is not.
		AOT string `json:"aot"`
		RT  string `json:"rt"`
	} `json:"backends"`
}

// offer is one backend that may be linked.
type offer struct {
	id, label    string
	aot, rt      string // Go expressions
	aotDir, rtAt string // import paths
}

// readOffers reads the values of the flag -backend, "label|manifest|import path of aot|import path of rt", for target. Of
// the backends with one id only one may be offered.
func readOffers(target string, values []string) (offers []offer, err error) {
	owners := map[string]string{}
	for _, v := range values {
		f := strings.Split(v, "|")
		if len(f) != 4 {
			return nil, fmt.Errorf("backend %q: want label|manifest|aot|rt", v)
		}
		var m backendManifest
		if err := readManifest(f[1], &m); err != nil {
			return nil, fmt.Errorf("%s: backend %s: %w", target, f[0], err)
		}
		for _, b := range m.Backends {
			if other := owners[b.ID]; other != "" {
				return nil, fmt.Errorf("%s: backend %q is in both %s and %s", target, b.ID, other, f[0])
			}
			owners[b.ID] = f[0]
			o := offer{b.ID, f[0], b.AOT, b.RT, f[2], f[3]}
			if err := o.check(); err != nil {
				return nil, fmt.Errorf("%s: %w", target, err)
			}
			offers = append(offers, o)
		}
	}
	return offers, nil
}

// check holds the manifest's entry against the packages that the target names.
func (o *offer) check() error {
	for _, half := range []struct{ attr, expr, path string }{{"aot", o.aot, o.aotDir}, {"rt", o.rt, o.rtAt}} {
		if half.expr != "" && half.path == "" {
			return fmt.Errorf("backend %s: its manifest has %s = %q for %q, and the target has no %s", o.label, half.attr, half.expr, o.id, half.attr)
		}
	}
	if o.id == "" || o.aot == "" && o.rt == "" {
		return fmt.Errorf("backend %s: its manifest has an entry without an id, or without aot and rt", o.label)
	}
	return nil
}

func readManifest(name string, m any) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return fmt.Errorf("read manifest %s: %w", name, err)
	}
	return nil
}

// quotedIDs lists the ids for an error.
func quotedIDs(offers []offer) string {
	if len(offers) == 0 {
		return "none"
	}
	ids := make([]string, len(offers))
	for i, o := range offers {
		ids[i] = fmt.Sprintf("%q", o.id)
	}
	return strings.Join(ids, ", ")
}

// imports names packages backend0, backend1, ..., each once.
type imports struct {
	names map[string]string
	text  strings.Builder
}

// of is the expression expr of the package at path.
func (m *imports) of(path, expr string) string {
	name := m.names[path]
	if name == "" {
		name = fmt.Sprintf("backend%d", len(m.names))
		m.names[path] = name
		fmt.Fprintf(&m.text, "%s %q\n", name, path)
	}
	return name + "." + expr
}
