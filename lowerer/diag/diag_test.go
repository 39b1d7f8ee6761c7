package diag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"lower", "vet", "version", "inspect", "model", "add"}
	for got, want := range map[string]string{
		"vers": "version", "modle": "model", "lowre": "lower", "ad": "add", "inspekt": "inspect", "xyz": "", "": "",
	} {
		if near := Nearest(got, names); near != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, near, want)
		}
	}
}

// TestPrint checks that places nest, that ten errors are shown, and that the others are counted.
func TestPrint(t *testing.T) {
	var list List
	for i := range 12 {
		list.Add(Bug, New(ModelFormat, fmt.Sprintf("line %d", i), "broken").WithMore("net.py:3").WithHint("mend it"))
	}
	var out strings.Builder
	Print(&out, At("a.pt2", Bug, errors.Join(list, errors.New("plain"))))
	want := "a.pt2: line 0: broken [PTE2002]\n    net.py:3\n    hint: mend it\n"
	if got := out.String(); !strings.HasPrefix(got, want) || strings.Count(got, "hint") != 10 || !strings.HasSuffix(got, "… and 3 more\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestSort checks that lines are in the order of numbers.
func TestSort(t *testing.T) {
	list := List{New(Bug, "a.cue:10:1", "x"), New(Bug, "a.cue:9:2", "x"), New(Bug, "a.cue:9:2", "w")}
	list.Sort()
	if got := fmt.Sprint(list[0], list[1], list[2]); got != "a.cue:9:2: w a.cue:9:2: x a.cue:10:1: x" {
		t.Errorf("got %s", got)
	}
}
