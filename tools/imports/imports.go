// Package imports says which packages the runtime may import; its test asks the go command whether that holds.
package imports

import "strings"

const module = "github.com/rules-pte/rules_pte/"

// linked reports whether pkg, without the module's path, ends up in a user's binary. The C interface and the
// page for the web talk to their hosts through packages that the rest may not use; the generator of kernels is a tool.
func linked(pkg string) bool {
	if under(pkg, "runtime/capi") || under(pkg, "runtime/web") || under(pkg, "runtime/kernel/gen") {
		return false
	}
	if under(pkg, "runtime") {
		return true
	}
	parts := strings.Split(pkg, "/")
	return len(parts) >= 3 && parts[0] == "backends" && parts[2] == "rt"
}

// forbidden is the reason why the runtime may not import pkg, or "".
func forbidden(pkg string) string {
	for _, p := range []string{"fmt", "reflect", "encoding", "archive", "math/big", "runtime/debug"} {
		if under(pkg, p) {
			return "it makes binaries larger"
		}
	}
	if rest, ok := strings.CutPrefix(pkg, module); ok {
		return forbiddenHere(rest)
	}
	first, _, _ := strings.Cut(pkg, "/")
	if !strings.Contains(first, ".") || under(pkg, "github.com/google/flatbuffers/go") || under(pkg, "golang.org/x/sys") {
		return ""
	}
	return "of other modules only flatbuffers/go and x/sys are allowed"
}

// forbiddenHere is forbidden of a package of this module.
func forbiddenHere(pkg string) string {
	parts := strings.Split(pkg, "/")
	backend := len(parts) >= 3 && parts[0] == "backends" && (parts[2] == "rt" || parts[2] == "blob")
	if under(pkg, "runtime") || backend {
		return ""
	}
	return "the runtime imports only the runtime, and a backend's rt its blob"
}

// under reports whether pkg is dir or lies in it.
func under(pkg, dir string) bool {
	return pkg == dir || strings.HasPrefix(pkg, dir+"/")
}
