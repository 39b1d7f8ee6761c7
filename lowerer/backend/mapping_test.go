package backend

import (
	"errors"
	"reflect"
	"testing"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

func node(handle int) *exir.Node {
	return &exir.Node{Name: "n", Origin: exir.Origin{DebugHandle: handle}}
}

func ptr(id Identifier) *Identifier { return &id }

// TestMappingMisuse checks that each misuse is its own error, and leaves the map as it was.
func TestMappingMisuse(t *testing.T) {
	one, text := ptr(IntID(1)), ptr(StringID("a"))
	for _, c := range []struct {
		name      string
		generated bool
		append    bool
		entry     Entry
		want      error
	}{
		{"given to a generator", true, false, Entry{Handles: []int{1}, ID: one}, ErrIdentifierGiven},
		{"missing", false, false, Entry{Handles: []int{1}}, ErrIdentifierMissing},
		{"duplicate", false, false, Entry{Handles: []int{1}, ID: ptr(IntID(0))}, ErrIdentifierExists},
		{"other kind", false, false, Entry{Handles: []int{1}, ID: text}, ErrIdentifierKind},
		{"both", false, false, Entry{Handles: []int{1}, Nodes: []*exir.Node{node(1)}, ID: one}, ErrNodesAndHandles},
		{"neither", false, false, Entry{ID: one}, ErrNoNodesOrHandles},
		{"no handle", false, false, Entry{Nodes: []*exir.Node{node(0)}, ID: one}, ErrNoHandle},
		{"append without", false, true, Entry{Handles: []int{1}}, ErrIdentifierMissing},
		{"append unknown", false, true, Entry{Handles: []int{1}, ID: one}, ErrIdentifierUnknown},
		{"append both", false, true, Entry{Handles: []int{1}, Nodes: []*exir.Node{node(1)}, ID: ptr(IntID(0))}, ErrNodesAndHandles},
		{"append no handle", false, true, Entry{Handles: []int{0}, ID: ptr(IntID(0))}, ErrNoHandle},
		{"append neither", false, true, Entry{ID: ptr(IntID(0))}, ErrNoNodesOrHandles},
	} {
		b := NewDelegateMappingBuilder(c.generated)
		first := Entry{Handles: []int{7}, ID: ptr(IntID(0))}
		if c.generated {
			first.ID = nil
		}
		if _, err := b.Insert(first); err != nil {
			t.Fatal(err)
		}
		var err error
		if c.append {
			err = b.Append(c.entry)
		} else {
			_, err = b.Insert(c.entry)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if got := b.Map(); !reflect.DeepEqual(got, DebugHandleMap{IntID(0): {7}}) {
			t.Errorf("%s: the map is %v", c.name, got)
		}
	}
}

// TestMapping checks generated and manual identifiers, and that handles come out sorted, each once.
func TestMapping(t *testing.T) {
	b := NewDelegateMappingBuilder(true)
	for _, e := range []Entry{{Nodes: []*exir.Node{node(5), node(2), node(0), node(5)}}, {Handles: []int{9}}} {
		if _, err := b.Insert(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Append(Entry{Handles: []int{3}, ID: ptr(IntID(1))}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.Map(), (DebugHandleMap{IntID(0): {2, 5}, IntID(1): {3, 9}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	m := NewDelegateMappingBuilder(false)
	for _, s := range []string{"x", "y"} {
		if id, err := m.Insert(Entry{Handles: []int{1}, ID: ptr(StringID(s))}); err != nil || id.String() != s {
			t.Errorf("insert %s: got %v, %v", s, id, err)
		}
	}
}
