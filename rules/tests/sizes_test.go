package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sizesHead begins sizes.txt.
const sizesHead = `# Bytes of the default runner over an empty Go program, by what it can run: linux/amd64, stripped, the program itself not
# in the binary. Made by PTE_HOST=1 PTE_UPDATE=1 go test -run TestSizes ./rules/tests; the test fails at a growth of 2 %.
`

const sizesFile = "sizes.txt"

// stripped are the flags of a small binary.
var stripped = []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-tags=ptefile"}

// TestSizes holds the sizes of runners against the committed ones.
func TestSizes(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	tools := buildTools(t)
	empty := emptySize(t)
	committed := readSizes(t)
	var text strings.Builder
	text.WriteString(sizesHead)
	for _, c := range []struct{ name, model string }{
		{"add", "lowerer/internal/pt2/testdata/add.pt2"},
		{"digits", "examples/digits/digits.pt2"},
		{"vad", "examples/vad/silero_vad.pt2"},
		{"mobilenet_v2", os.Getenv("PTE_MOBILENET_V2")},
		{"everything", "-"},
	} {
		size := committed[c.name] // without the model, what is committed stays
		switch c.model {
		case "":
		case "-":
			size = everythingSize(t, tools) - empty
		default:
			size = fileSize(t, tools.runner(t, c.model, stripped...).binary) - empty
		}
		if old := committed[c.name]; size > old+old/50 && os.Getenv("PTE_UPDATE") == "" {
			t.Errorf("%s: %d bytes over an empty program, %s has %d", c.name, size, sizesFile, old)
		}
		fmt.Fprintf(&text, "%-13s %d\n", c.name, size)
	}
	if os.Getenv("PTE_UPDATE") != "" {
		if err := os.WriteFile(sizesFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadme wants the README to say the sizes that are committed.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sizes := readSizes(t)
	row := "|"
	for _, name := range []string{"add", "digits", "vad", "mobilenet_v2", "everything"} {
		row += fmt.Sprintf(" %.2f MB |", float64(sizes[name])/1e6)
	}
	if !strings.Contains(string(readme), "\n"+row+"\n") {
		t.Errorf("the README lacks the row %s", row)
	}
}

// readSizes reads sizes.txt; without it there are none.
func readSizes(t *testing.T) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(sizesFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if name, size, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			if sizes[name], err = strconv.ParseInt(strings.TrimSpace(size), 10, 64); err != nil {
				t.Fatalf("%s: %v", sizesFile, err)
			}
		}
	}
	return sizes
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// emptySize is the size of func main() {}.
func emptySize(t *testing.T) int64 {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	goRun(t, append(append([]string{"build", "-o", binary}, stripped...), source)...)
	return fileSize(t, binary)
}

// everythingSize is the size of a runner with all kernels and all of this project's backends.
func everythingSize(t *testing.T, x tools) int64 {
	t.Helper()
	dir := t.TempDir()
	b := built{manifest: filepath.Join(dir, "manifest"), binary: filepath.Join(dir, "runner")}
	list := strconv.Quote(strings.Join(variables(t, "var Kernels = []*Kernel{"), " "))
	list = strings.ReplaceAll(list, " ", `","`)
	if err := os.WriteFile(b.manifest, []byte(`{"kernels": [`+list+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	generated := b.binary + ".go"
	args := []string{"runtime", "-out=" + generated, "-declared", "-manifest=p|" + b.manifest}
	x.run(t, "builder", append(args, offers([]string{"demo", "null", "xnnpack"})...)...)
	overlay(t, b.binary+".json", map[string]string{"pteprogram/pteprogram.go": generated})
	goRun(t, append(append([]string{"build", "-overlay=" + b.binary + ".json", "-o", b.binary}, stripped...), "./rules/runner")...)
	return fileSize(t, b.binary)
}
