// Package xnnpack is the CUE side of the XNNPACK delegate. The halves are in aot and rt, the payload's format in blob.
package xnnpack

import "embed"

// ImportPath is the CUE package's.
const ImportPath = "github.com/rules-pte/rules_pte/backends/xnnpack"

// Files holds backend.cue.
//
//go:embed backend.cue
var Files embed.FS
