// Package web tests the pages of the examples in a real browser.
//
// PTE_WEB names a folder with the folders of the pages, digits and vad, as Bazel built them; without it the test makes
// them with go. PTE_SCREENSHOTS names a folder for pictures of the pages.
package web

//bazel:tags manual host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-pte/rules_pte/internal/hosttool"
	"github.com/rules-pte/rules_pte/tools/browser"
)

const patience = 2 * time.Minute // of a loaded machine

// examples are the models of the pages.
var examples = map[string]string{"digits": "digits.pt2", "vad": "silero_vad.pt2"}

// serve serves the folder of a page.
func serve(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("PTE_WEB")
	if dir == "" {
		dir = build(t, name)
	} else {
		dir = filepath.Join(dir, name)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// build makes the folder of a page.
func build(t *testing.T, name string) string {
	t.Helper()
	hosttool.Need(t, "go")
	dir := t.TempDir()
	for _, from := range []string{filepath.Join("..", name, "web"), filepath.Join("..", "..", "runtime", "web")} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"page.css", "../vad/speech.wav", "../../runtime/kernel/wasm/kernels.wasm"} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	module(t, name, filepath.Join(dir, "pte.wasm"))
	return dir
}

// module lowers a model in steps and links what it needs for WebAssembly.
func module(t *testing.T, name, out string) {
	t.Helper()
	model, dir := filepath.Join("examples", name, examples[name]), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	spec := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program & {methods: forward: model: \"m\"}\n"
	if err := os.WriteFile(file("spec.cue"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, nil, "go", "build", "-o", dir, "./lowerer/cmd/pte", "./rules/go/builder")
	command(t, nil, file("pte"), "lower", "split", "--model", "m="+model, "-o", file("graph"))
	command(t, nil, file("pte"), "lower", "program", "--spec", file("spec.cue"), "--graph", "m="+file("graph"), "-o", file("program"), "--report", file("report"))
	command(t, nil, file("pte"), "lower", "pack", "--program", file("program"), "--model", "m="+model, "-o", file("p.pte"), "--manifest", file("manifest"))
	command(t, nil, file("builder"), "runtime", "-out="+file("linked.go"), "-manifest=p|"+file("manifest"), "-program="+name+"=p.pte")
	root, err := filepath.Abs(filepath.Join("..", "..", "pteprogram"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "pteprogram.go"): file("linked.go"), filepath.Join(root, "p.pte"): file("p.pte"),
	}})
	if err == nil {
		err = os.WriteFile(file("overlay.json"), overlay, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	command(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-overlay="+file("overlay.json"), "-trimpath", "-tags=wasmsimd",
		"-ldflags=-s -w", "-buildmode=c-shared", "-o", out, "./runtime/web")
}

// command runs a program in the root of the module.
func command(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// chromium starts the browser, and fails the test at the end if a page reported an error.
func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	path := cmp.Or(os.Getenv("PTE_CHROMIUM"), "chromium")
	hosttool.Need(t, path)
	b, err := browser.Start(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range b.Faults() {
			t.Errorf("the page reported %s", f)
		}
		if err := b.Close(); err != nil {
			t.Log(err)
		}
	})
	return b
}

// page is a page that fails the test.
type page struct {
	*browser.Page
	t *testing.T
}

// The screens that the pages are shown on.
var (
	desk  = browser.Screen{Width: 1100, Height: 860, Scale: 1}
	night = browser.Screen{Width: 1100, Height: 860, Scale: 1, Dark: true}
	phone = browser.Screen{Width: 390, Height: 844, Scale: 2, Touch: true}
)

func open(t *testing.T, b *browser.Browser, url string, s browser.Screen) page {
	t.Helper()
	p, err := b.Open(url, s)
	if err != nil {
		t.Fatal(err)
	}
	x := page{p, t}
	x.wait("document.documentElement.dataset.ready === 'true'")
	return x
}

func (p page) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p page) wait(expression string) {
	p.t.Helper()
	p.check(p.Wait(expression, patience))
}

func (p page) text(id string) string {
	p.t.Helper()
	value, err := p.Eval(fmt.Sprintf("document.getElementById(%q).textContent.trim()", id))
	p.check(err)
	return value
}

// vectors checks that the page's program has the vector kernels.
func (p page) vectors() {
	p.t.Helper()
	if got := p.text("kernels"); got != "vector" {
		p.t.Errorf("the kernels are %q", got)
	}
}

// fits checks that the page needs no scrolling sideways, and that no text is cut off by a button.
func (p page) fits() {
	p.t.Helper()
	value, err := p.Eval("document.documentElement.scrollWidth <= innerWidth")
	p.check(err)
	if value != "true" {
		p.t.Error("the page is wider than the screen")
	}
}

// picture stores a screenshot, if somebody wants to look at it.
func (p page) picture(name string) {
	p.t.Helper()
	png, err := p.Screenshot()
	p.check(err)
	if len(png) < 1000 {
		p.t.Errorf("the picture %s has %d bytes", name, len(png))
	}
	if dir := os.Getenv("PTE_SCREENSHOTS"); dir != "" {
		p.check(os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

// box is where an element lies.
func (p page) box(id string) (left, top, width, height float64) {
	p.t.Helper()
	text, err := p.Eval(fmt.Sprintf("(() => { const e = document.getElementById(%q); e.scrollIntoView({block: 'nearest'}); "+
		"const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height].join(' '); })()", id))
	p.check(err)
	if _, err := fmt.Sscan(text, &left, &top, &width, &height); err != nil {
		p.t.Fatalf("box of %s: %q: %v", id, text, err)
	}
	return left, top, width, height
}
