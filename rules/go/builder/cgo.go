package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// crossCompilers are the C compilers that Debian has for other machines, by GOOS/GOARCH.
var crossCompilers = map[string]string{
	"linux/amd64":   "x86_64-linux-gnu-gcc",
	"linux/arm64":   "aarch64-linux-gnu-gcc",
	"linux/riscv64": "riscv64-linux-gnu-gcc",
	"windows/amd64": "x86_64-w64-mingw32-gcc",
}

// defaultPath is where a C compiler is looked for where an action has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// addCgo adds to env the C compiler and flags that make its output depend on nothing but its input.
func (b *build) addCgo(env []string) ([]string, error) {
	if b.cc == "" {
		return append(env, "CGO_ENABLED=0"), nil
	}
	path := cmp.Or(os.Getenv("PATH"), defaultPath)
	if err := os.Setenv("PATH", path); err != nil {
		return nil, err
	}
	cc, err := b.compiler()
	if err != nil {
		return nil, err
	}
	flags := "-g0 -O2"
	if b.goos == "linux" || b.goos == "android" {
		flags += " -Wl,--build-id=none"
	}
	return append(env, "CGO_ENABLED=1", "CC="+quoted(cc), "CGO_CFLAGS=-g0 -O2", "CGO_LDFLAGS="+flags, "PATH="+path), nil
}

// compiler is the C compiler for the target.
func (b *build) compiler() (string, error) {
	if b.cc != "host" {
		return filepath.Abs(b.cc)
	}
	target := b.goos + "/" + b.goarch
	names := []string{"gcc", "cc", "clang"}
	if target != runtime.GOOS+"/"+runtime.GOARCH {
		names = strings.Fields(crossCompilers[target])
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no C compiler for %s is known here: set cc", target)
	}
	return "", fmt.Errorf("no C compiler for %s is on PATH, want %s: install it, or set cc", target, strings.Join(names, " or "))
}
