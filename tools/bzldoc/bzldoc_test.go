package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//bazel:data //docs:rules.md //rules:bzl

// TestFresh wants the page to be what the .bzl files say.
func TestFresh(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}

func TestReference(t *testing.T) {
	for _, c := range []struct{ name, defs, want string }{
		{"macro", "def f(name, size = 3, **kwargs):\n    \"\"\"Does f.\n\n    Args:\n      name: the\n        name.\n      size: a | b.\n      **kwargs: more.\n    \"\"\"\n",
			"\n## Reference\n\n### f\n\nmacro of `d.bzl`. Does f.\n\n| attribute | type, default | |\n|---|---|---|\n" +
				"| `name` | mandatory | the name. |\n| `size` | `3` | a \\| b. |\n| `**kwargs` |  | more. |\n"},
		{"rule", "load(\":r.bzl\", _r = \"r\")\n\nr = _r\n",
			"\n## Reference\n\n### r\n\ntest rule of `d.bzl`. A rule.\n\n| attribute | type, default | |\n|---|---|---|\n" +
				"| `deps` | label_list, mandatory | The deps. |\n| `tool` | label, `\"//t\"` | A tool. |\n"},
		{"provider", "Info = provider(doc = \"Says.\", fields = {\"a\": \"int\"})\n",
			"\n## Reference of providers\n\n### Info\n\nprovider of `d.bzl`. Says.\n\n| field | |\n|---|---|\n| `a` | int |\n"},
		{"no doc", "def f(name):\n    pass\n", "error: d.bzl: f has no documentation"},
		{"no doc of an argument", "def f(name):\n    \"\"\"Does f.\"\"\"\n", "error: d.bzl: f: name has no documentation"},
		{"unknown argument", "def f():\n    \"\"\"Does f.\n\n    Args:\n      x: no.\n    \"\"\"\n", "error: f documents x, which is no argument"},
		{"undefined", "x = y\n", "error: d.bzl: y is not defined"},
	} {
		dir := t.TempDir()
		rule := "_N = {}\n_T = {\"tool\": attr.label(default = Label(\"//t\"), doc = \"A \" + \"tool.\"), \"_x\": attr.label()}\n" +
			"r = rule(doc = \"A rule.\", test = True, attrs = dict(dict(_N, **_T), deps = attr.label_list(mandatory = True, doc = \"The deps.\")))\n"
		for name, text := range map[string]string{"d.bzl": c.defs, "r.bzl": rule} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := reference(dir, []string{"d.bzl"})
		if err != nil {
			got = "error: " + err.Error()
		}
		if strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
