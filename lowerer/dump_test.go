package lowerer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/config"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// zooModels are the committed models, and where PTE_ZOO names a folder of models, those of it.
func zooModels(t *testing.T) [][]string {
	t.Helper()
	var list [][]string
	for _, m := range models {
		list = append(list, []string{m})
	}
	zoo := os.Getenv("PTE_ZOO")
	if zoo == "" {
		return list
	}
	dirs, err := filepath.Glob(filepath.Join(zoo, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.pt2"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			list = append(list, files)
		}
	}
	return list
}

// dumpOf lowers a program whose methods lie in files, parts of it for a backend if delegate says so, and gives the texts
// of its stages by name. A model that this version does not lower has the stages up to the one that fails.
func dumpOf(t *testing.T, files []string, delegate bool) map[string]string {
	t.Helper()
	dir := t.TempDir()
	text := "package p\nimport \"github.com/rules-pte/rules_pte/cue/lower\"\np: lower.#Program\n"
	for i, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("p: methods: method_%d: model: %q\n", i, path)
	}
	if delegate {
		text += `p: partition: [{id: "Fake", partitioner: ops: ["aten::relu", "aten::add.Tensor", "aten::addmm", "aten::convolution"]}]`
	}
	file := filepath.Join(dir, "spec.cue")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := config.Load(file, config.Options{Backends: []backend.Backend{fake{id: "Fake"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := lower(spec, nil, Options{Dump: dir}); err != nil {
		t.Logf("not lowered: %v", err)
	}
	texts := map[string]string{}
	found, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(data)
	}
	return texts
}

// TestTextParsesBack checks that the text of every stage of every model parses, prints the same again, and is well
// formed in the dialect of its stage.
func TestTextParsesBack(t *testing.T) {
	for _, files := range zooModels(t) {
		t.Run(filepath.Base(filepath.Dir(files[0]))+"/"+filepath.Base(files[0]), func(t *testing.T) {
			for _, delegate := range []bool{false, true} {
				stages := dumpOf(t, files, delegate)
				if len(stages) == 0 {
					t.Error("no stages")
				}
				for stage, text := range stages {
					checkText(t, stage, text)
				}
			}
		})
	}
}

func checkText(t *testing.T, stage, text string) {
	t.Helper()
	if strings.HasPrefix(text, "plan ") {
		checkPlan(t, stage, text)
		return
	}
	table := symint.NewTable()
	m, err := exir.ParseMethod(text, table)
	if err != nil {
		t.Errorf("stage %s: %v", stage, err)
		return
	}
	if again := m.Text(table); again != text {
		t.Errorf("stage %s: printed again it differs at %s", stage, firstDifference(text, again))
	}
	d := exir.FunctionalATen
	switch {
	case strings.Contains(stage, "-exported-"):
		d = exir.ATen
	case strings.Contains(stage, "-dead-code-2-"):
		d = exir.Edge
	}
	if err := exir.Verify(m, &tensor.Shapes{Table: table}, d); err != nil {
		t.Errorf("stage %s: verify: %v", stage, err)
	}
}

func checkPlan(t *testing.T, stage, text string) {
	t.Helper()
	p, err := exir.ParsePlan(text)
	if err != nil {
		t.Errorf("stage %s: %v", stage, err)
		return
	}
	if again := p.Text(); again != text {
		t.Errorf("stage %s: printed again it differs at %s", stage, firstDifference(text, again))
	}
	if err := exir.VerifyPlan(p); err != nil {
		t.Errorf("stage %s: verify: %v", stage, err)
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\nthat is now\n" + bs[i]
		}
	}
	return "its end"
}

// TestPage checks the page of a dump: a column for each stage, the same number on a node wherever it stands, marks on what
// a stage changed, nothing that is loaded from elsewhere, and colours for light and dark.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := lower(defaultSpec(t, "../examples/digits/digits.pt2"), nil, Options{Dump: dir}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "stages.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	at := 0
	for _, stage := range []string{"exported", "functional", "core", "dim-order", "dead-code", "bind-numbers", "out-variant", "planned"} {
		next := strings.Index(page[at:], ` aria-label="`+stage+`"><h2><button aria-expanded="`)
		if next < 0 {
			t.Fatalf("no column %s after the ones before", stage)
		}
		at += next
	}
	for _, want := range []string{
		`<section class="closed" aria-label="dim-order"><h2><button aria-expanded="false"><b>dim-order</b><small>forward: no change</small>`,
		`<li tabindex="-1" data-h="3"><span class="v">%relu</span>: f32[s77, 16, 8, 8] = <span class="o">aten::relu</span>(<span class="v">%batch_norm</span>)` +
			`<span class="q">  # 3 trained.py:45 features.2</span></li>`,
		`<li tabindex="0">`, ` class="new"><span class="v">%convolution</span>`,
		"prefers-color-scheme: dark", "ArrowRight", `e.key == "Escape"`, `type="search"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := strings.Count(page, ` data-h="3"`); n < 8 {
		t.Errorf("node 3 stands on %d lines, want one in each stage", n)
	}
	for _, forbidden := range []string{"http:", "https:", " src=", "<link", "STAGES"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
}

// TestListItem checks that lines of a text are safe in a page.
func TestListItem(t *testing.T) {
	for _, c := range []struct {
		line, want string
		isNew      bool
	}{
		{`output %x`, `<li tabindex="-1">output <span class="v">%x</span></li>`, false},
		{`const @"<b>": f32[] = literal(00)`, `<li tabindex="-1" class="new">const <span class="c">@&#34;&lt;b&gt;&#34;</span>: f32[] = literal(00)</li>`, true},
		{`3: aten::relu.out(v1, v2, v2)  # relu 7 <x>.py:3`, `<li tabindex="-1" data-h="7">3: <span class="o">aten::relu.out</span>(<span class="v">v1</span>, ` +
			`<span class="v">v2</span>, <span class="v">v2</span>)<span class="q">  # relu 7 &lt;x&gt;.py:3</span></li>`, false},
	} {
		if got := strings.TrimSpace(listItem(c.line, c.isNew)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.line, got, c.want)
		}
	}
}
