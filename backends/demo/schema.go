// Package demo is the teaching backend of the interface: it maps its instructions to debug handles, keeps its weights in
// named data, and runs. The halves are in aot and rt, the payload's format in blob.
package demo

import "embed"

// ImportPath is the CUE package's.
const ImportPath = "github.com/rules-pte/rules_pte/backends/demo"

// Files holds backend.cue.
//
//go:embed backend.cue
var Files embed.FS
