package exir

import "testing"

func TestEverySchemaParses(t *testing.T) {
	names := SchemaNames()
	if len(names) < 3800 {
		t.Fatalf("%d schemas in the table, want at least 3800", len(names))
	}
	for _, n := range names {
		if s := LookupSchema(n); s.Name != n {
			t.Errorf("schema of %s is called %s", n, s.Name)
		}
	}
}

func TestSchemaOfAdd(t *testing.T) {
	s := LookupSchema("aten::add.Tensor")
	if s.Out != "aten::add.out" || len(s.Args) != 3 || !s.Args[2].KwOnly || s.Args[2].Default.Int != 1 {
		t.Errorf("got %+v", s)
	}
	s = LookupSchema("aten::add_.Tensor")
	if !s.Args[0].Write || s.Args[0].Alias != "a" || s.Kind != "inplace" {
		t.Errorf("got %+v", s)
	}
}
