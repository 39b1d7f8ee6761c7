// Package null is a backend that delegates nothing: the skeleton of one. Copy the folder, and change five names: the
// package (null, in Go and in CUE), the id (NullBackend), the import path, and in the two halves what they say about
// themselves. backends/backendtest says whether the copy is a backend.
package null

import "embed"

// ImportPath is the CUE package's: that of this folder.
const ImportPath = "github.com/rules-pte/rules_pte/backends/null"

// Files holds backend.cue, which the ahead-of-time half hands out.
//
//go:embed backend.cue
var Files embed.FS
