package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	tab := Table{Title: "speed"}
	tab.Add("name", "s")
	tab.Add("exp", "10.5")
	tab.Add("longer", "1")
	if d := cmp.Diff("speed\n\nname       s\nexp     10.5\nlonger     1\n\n", tab.Text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	if d := cmp.Diff("## speed\n\n| name | s |\n|---|--:|\n| exp | 10.5 |\n| longer | 1 |\n\n", tab.Markdown()); d != "" {
		t.Errorf("markdown (-want +got):\n%s", d)
	}
}

func TestWriteJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := WriteJSON(file, map[string]int{"ns": 3}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("{\n\t\"ns\": 3\n}\n", string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if err := WriteJSON(filepath.Join(file, "below"), 0); err == nil || !strings.HasPrefix(err.Error(), "write measurements: ") {
		t.Errorf("got %v", err)
	}
}

func TestWriteSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for _, c := range []struct{ section, want string }{
		{"# A\n\none\n\n", "# A\n\none\n"},
		{"# B\n\ntwo\n", "# A\n\none\n\n# B\n\ntwo\n"},
		{"# A\n\n## deeper\n\nthree\n", "# A\n\n## deeper\n\nthree\n\n# B\n\ntwo\n"},
		{"# B\n", "# A\n\n## deeper\n\nthree\n\n# B\n"},
	} {
		if err := WriteSection(file, c.section); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("after %q (-want +got):\n%s", c.section, d)
		}
	}
}
