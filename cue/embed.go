// Package schema embeds the CUE packages, so that the tool resolves imports of them without a network.
package schema

import "embed"

// Module is the CUE module that the packages belong to, without its major version.
const Module = "github.com/rules-pte/rules_pte"

// Version is the module version that this tool embeds.
const Version = "v0.1.0"

// Files holds the packages, as <package>/<file>.cue; the import path of a package is Module + "/cue/" + <package>.
//
//go:embed backend lower report targets
var Files embed.FS
