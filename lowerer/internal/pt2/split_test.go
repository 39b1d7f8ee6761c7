package pt2

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// TestSplit checks that a graph without weights describes itself as the whole archive does, is smaller, and refuses
// to give a weight.
func TestSplit(t *testing.T) {
	data, err := os.ReadFile("testdata/tied.pt2")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := OpenBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := whole.WriteSplit(&b); err != nil {
		t.Fatal(err)
	}
	graph, err := OpenBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, a := range []*Archive{whole, graph} {
		table := symint.NewTable()
		m, _, err := a.Load("forward", table)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, Describe(m, table))
		if a == graph {
			for _, v := range m.Graph.Inputs {
				if v.Const != nil && v.Const.Weight != nil {
					if _, err := a.ReadWeight(v.Const.Weight, v.Const.Meta); err == nil {
						t.Errorf("weight %s has bytes in a graph without weights", v.Const.Name)
					}
				}
			}
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("the split graph is\n%s\nwant\n%s", texts[1], texts[0])
	}
}
