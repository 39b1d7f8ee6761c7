package tests

import (
	"debug/elf"
	"debug/macho"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSDKs loads the SDK of every platform that one is pinned for, and checks that its programs are for that platform. On
// another one, such as Windows, PTE_GOROOT has to name it.
func TestSDKs(t *testing.T) {
	w := newWorkspace(t, "remote")
	w.env = []string{fetched}
	list := string(w.read("WORKSPACE")) + "load(\"@rules_pte//rules/go:sdk.bzl\", \"pte_go_sdk\")\n"
	for _, p := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"} {
		list += fmt.Sprintf("pte_go_sdk(name = \"sdk_%s\", platform = %q)\n", p, p)
	}
	w.write("WORKSPACE", list)
	for p, machine := range map[string]string{
		"linux-amd64": "EM_X86_64", "linux-arm64": "EM_AARCH64", "darwin-amd64": "CpuAmd64", "darwin-arm64": "CpuArm64",
	} {
		if out, err := w.bazel("build", "@sdk_"+p+"//:goroot"); err != nil {
			t.Errorf("%s: %v\n%s", p, err, out)
			continue
		}
		goroot := filepath.Join(w.outputBase(), "external", "sdk_"+p, "goroot")
		for _, name := range []string{"bin/go", "pkg/tool/" + strings.Replace(p, "-", "_", 1) + "/compile"} {
			if got := machineOf(filepath.Join(goroot, name)); got != machine {
				t.Errorf("%s: %s is for %s, want %s", p, name, got, machine)
			}
		}
	}
	want := "no Go SDK for windows-amd64 is pinned here, only for darwin-amd64, darwin-arm64, linux-amd64, linux-arm64: set PTE_GOROOT"
	if out, err := w.bazel("build", "@sdk_windows-amd64//:goroot"); err == nil || !strings.Contains(out, want) {
		t.Errorf("windows-amd64: %v, want %s\n%s", err, want, out)
	}
}

// TestSDKRefused checks what is said where there is no SDK. A go on PATH, which is the pinned one here, is none.
func TestSDKRefused(t *testing.T) {
	w := newWorkspace(t, "remote")
	empty := t.TempDir()
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{fetched, "GOPROXY=off"}, "and no Go module proxy is known to fetch it from: set GOPROXY, or set PTE_GOROOT to the folder of a go 1."},
		{[]string{fetched, "GOPROXY=http://127.0.0.1:9,direct"}, "from GOPROXY=http://127.0.0.1:9: the warnings above say why; without a network, set PTE_GOROOT"},
		{[]string{fetched + empty}, "PTE_GOROOT=" + empty + ": want the folder of go1."},
	} {
		w.env = c.env
		if out, err := w.bazel("build", "@pte_go_sdk//:goroot"); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.env, err, c.want, out)
		}
	}
}

// machineOf is the machine that can run a file, or what is wrong with the file.
func machineOf(name string) string {
	if info, err := os.Stat(name); err != nil || info.Mode()&0o111 == 0 {
		return fmt.Sprintf("nothing, not executable: %v", err)
	}
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		return f.Machine.String()
	}
	f, err := macho.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	return f.Cpu.String()
}
