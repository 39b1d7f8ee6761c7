package report

import (
	"encoding/hex"
	"strings"
	"unicode"
)

// SpecText is a compile spec's value for people: text as it is, other bytes in hex.
func SpecText(value []byte) string {
	if strings.ContainsFunc(string(value), func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return "0x" + hex.EncodeToString(value)
	}
	return string(value)
}
