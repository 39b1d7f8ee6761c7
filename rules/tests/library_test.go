package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	digits   = "../../examples/digits"
	accuracy = "99 of 100 right: accuracy 99.0 %\n" // what the examples of digits say
)

// libraryWorkspace is a workspace with C, C++ and a page.
func libraryWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t, "library")
	w.copy("digits.pt2", digits+"/digits.pt2", nil)
	w.copy("digits.c", digits+"/c/digits.c", nil)
	w.copy("digits.cc", digits+"/c/digits.cc", nil)
	if err := os.Chmod(filepath.Join(w.dir, "cc.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// outputs are the files of a target, by what follows its package in their paths; a platform of its own has its own folder.
func (w *workspace) outputs(target string) map[string]string {
	w.t.Helper()
	out, err := w.bazel("cquery", "--ui_event_filters=-info,-stderr", "--noshow_progress", "--output=starlark",
		`--starlark:expr="\n".join([f.path for f in target.files.to_list()])`, target)
	if err != nil {
		w.t.Fatalf("cquery %s: %v\n%s", target, err, out)
	}
	files := map[string]string{}
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "/bin/"); ok {
			files[name] = filepath.Join(w.dir, strings.TrimSpace(line))
		}
	}
	return files
}

// says runs a command and compares what it prints.
func says(t *testing.T, want string, command ...string) {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%s: %v, %q, want %q", strings.Join(command, " "), err, out, want)
	}
}

// TestLibraryAndPage builds the C library of a program as an archive and as a shared one, with C, C++ and Python around it, and a
// page.
func TestLibraryAndPage(t *testing.T) {
	w := libraryWorkspace(t)
	data := []string{digits + "/test_images.npy", digits + "/test_labels.npy"}
	with := func(command ...string) []string { return append(command, data...) }
	w.build("//:digits_c", "//:digits_cc", "//:shared", "//:page")
	says(t, accuracy, with(w.bin("digits_c"))...)
	says(t, accuracy, with(w.bin("digits_cc"))...)
	says(t, accuracy, with("python3", digits+"/c/digits.py", w.bin("libshared.so"))...)
	t.Run("page", func(t *testing.T) { w.page(t, data[0]) })
	t.Run("arm64", func(t *testing.T) { w.arm64(t, with) })
}

// TestMachineCompiler checks that a library which the machine's C compiler links is shared with no other machine, as no key names that
// compiler, and that one with `cc` is.
func TestMachineCompiler(t *testing.T) {
	w := libraryWorkspace(t)
	for target, want := range map[string]bool{"//:shared": true, "//:archive": false} {
		out, err := w.bazel("aquery", "--ui_event_filters=-info,-stderr", "--noshow_progress", `mnemonic("GoLink", `+target+`)`)
		if got := strings.Contains(out, "no-remote: 1"); err != nil || got != want || !strings.Contains(out, "Mnemonic: GoLink\n") {
			t.Errorf("%s: no-remote is %v, want %v (%v)", target, got, want, err)
		}
	}
}

// page checks the files of a pte_web, and runs them.
func (w *workspace) page(t *testing.T, images string) {
	folder, files := t.TempDir(), w.outputs("//:page")
	for _, name := range []string{"pte.wasm", "kernels.wasm", "pte.js", "pte.d.ts", "digits.pte", "index.html", "pictures/dot.svg", "page.css"} {
		text, err := os.ReadFile(files["page/"+name])
		if err == nil {
			to := strings.Replace(filepath.Base(name), "pte.js", "pte.mjs", 1)
			err = os.WriteFile(filepath.Join(folder, to), text, 0o644)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	says(t, "5 2 2 9 1 with vector kernels\n", "node", "testdata/run.mjs", folder, images)
}

// arm64 compiles and runs the example in C for another machine.
func (w *workspace) arm64(t *testing.T, with func(...string) []string) {
	const cc = "aarch64-linux-gnu-gcc"
	w.build("//:shared_arm64")
	dir, binary := filepath.Dir(w.outputs("//:shared_arm64")["libshared_arm64.so"]), filepath.Join(t.TempDir(), "digits")
	says(t, "", cc, "-I"+filepath.Join(dir, "shared_arm64"), "-o", binary, digits+"/c/digits.c", "-L"+dir, "-lshared_arm64", "-Wl,-rpath,"+dir)
	says(t, accuracy, with("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", binary)...)
}

// TestLibraryRefused checks the texts of what is refused.
func TestLibraryRefused(t *testing.T) {
	w := libraryWorkspace(t)
	for _, c := range []struct{ target, want string }{
		{":wasm", "//bad:wasm: a pte_library is for 64-bit platforms with a C compiler; wasip1/wasm is none of them"},
		{"/mode", "invalid value in 'linkmode' attribute: has to be one of 'c-archive' or 'c-shared' instead of 'pie'"},
		{":no_library", "'//:digits_pte' does not have mandatory providers: 'PteLibraryInfo'"},
		{":web", "//bad:web: pages: bad/pte.js would replace pte.js of pte_web"},
	} {
		if out, err := w.bazel("build", "--nobuild", "//bad"+c.target); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.target, err, c.want, out)
		}
	}
	if out, err := w.bazel("build", "//bad:no_compiler"); err == nil || !strings.Contains(out, "no C compiler for darwin/arm64 is known here: set cc") {
		t.Errorf("no_compiler: %v\n%s", err, out)
	}
}
