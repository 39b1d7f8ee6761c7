// Package docs embeds the pages that the tool prints.
package docs

import "embed"

// Errors holds errors/<code>.md, one page for each error code.
//
//go:embed errors/*.md
var Errors embed.FS
