package backend

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// Identifier names one step of a backend: a number or a string.
type Identifier struct {
	text   string
	isText bool
	number int
}

// IntID is a number as Identifier.
func IntID(n int) Identifier { return Identifier{number: n} }

// StringID is a string as Identifier.
func StringID(s string) Identifier { return Identifier{text: s, isText: true} }

// String is the number in decimal, or the string.
func (id Identifier) String() string {
	if id.isText {
		return id.text
	}
	return strconv.Itoa(id.number)
}

// Int is the number, and whether it is one.
func (id Identifier) Int() (int, bool) { return id.number, !id.isText }

// DebugHandleMap maps a backend's steps to the debug handles of the nodes they came from, sorted.
type DebugHandleMap map[Identifier][]int

// The ways in which DelegateMappingBuilder can be misused.
var (
	// ErrIdentifierGiven is an identifier where the builder makes them.
	ErrIdentifierGiven = errors.New("identifier given, but this builder generates them")
	// ErrIdentifierMissing is no identifier where the builder makes none.
	ErrIdentifierMissing = errors.New("identifier missing, and this builder generates none")
	// ErrIdentifierKind is a string among numbers, or a number among strings.
	ErrIdentifierKind = errors.New("identifiers are either all numbers or all strings")
	// ErrIdentifierExists is an identifier that was inserted before.
	ErrIdentifierExists = errors.New("identifier inserted twice; append to it instead")
	// ErrIdentifierUnknown is an append to an identifier that was never inserted.
	ErrIdentifierUnknown = errors.New("append to an identifier that was not inserted")
	// ErrNodesAndHandles is an entry with both nodes and handles.
	ErrNodesAndHandles = errors.New("both nodes and handles given")
	// ErrNoNodesOrHandles is an entry with neither nodes nor handles.
	ErrNoNodesOrHandles = errors.New("neither nodes nor handles given")
	// ErrNoHandle is an entry none of whose nodes has a debug handle.
	ErrNoHandle = errors.New("no valid debug handle")
)

// Entry is what an identifier stands for: nodes or debug handles, never both.
type Entry struct {
	// Nodes give their debug handles; those without one are left out.
	Nodes []*exir.Node
	// Handles are debug handles themselves; 0 is none.
	Handles []int
	// ID is the identifier; nil where the builder generates them.
	ID *Identifier
}

// DelegateMappingBuilder builds the DebugHandleMap of a payload: Insert makes the entry of a step, with its node, and Append adds
// further nodes to one that is there. The run-time half gives the same identifiers to EventTracer.
type DelegateMappingBuilder struct {
	generated bool
	entries   DebugHandleMap
}

// NewDelegateMappingBuilder makes an empty builder; generated says that it makes the identifiers, numbers from 0.
func NewDelegateMappingBuilder(generated bool) *DelegateMappingBuilder {
	return &DelegateMappingBuilder{generated: generated, entries: DebugHandleMap{}}
}

// Insert adds an entry and gives its identifier. The error is one of this package's Err values.
func (b *DelegateMappingBuilder) Insert(e Entry) (Identifier, error) {
	id, err := b.identifier(e.ID)
	if err == nil {
		if _, dup := b.entries[id]; dup {
			err = ErrIdentifierExists
		}
	}
	if err == nil {
		b.entries[id], err = b.handles(nil, e)
		if err != nil {
			delete(b.entries, id)
		}
	}
	if err != nil {
		return Identifier{}, fmt.Errorf("insert delegate mapping entry: %w", err)
	}
	return id, nil
}

// Append adds nodes or handles to an entry that was inserted before. The error is one of this package's Err values.
func (b *DelegateMappingBuilder) Append(e Entry) error {
	if e.ID == nil {
		return fmt.Errorf("append delegate mapping entry: %w", ErrIdentifierMissing)
	}
	old, ok := b.entries[*e.ID]
	if !ok {
		return fmt.Errorf("append delegate mapping entry %s: %w", e.ID, ErrIdentifierUnknown)
	}
	all, err := b.handles(old, e)
	if err != nil {
		return fmt.Errorf("append delegate mapping entry %s: %w", e.ID, err)
	}
	b.entries[*e.ID] = all
	return nil
}

// Map is what was inserted so far.
func (b *DelegateMappingBuilder) Map() DebugHandleMap {
	out := make(DebugHandleMap, len(b.entries))
	for id, handles := range b.entries {
		out[id] = slices.Clone(handles)
	}
	return out
}

func (b *DelegateMappingBuilder) identifier(given *Identifier) (Identifier, error) {
	switch {
	case b.generated && given != nil:
		return Identifier{}, ErrIdentifierGiven
	case b.generated:
		return IntID(len(b.entries)), nil
	case given == nil:
		return Identifier{}, ErrIdentifierMissing
	}
	for id := range b.entries {
		if id.isText != given.isText {
			return Identifier{}, ErrIdentifierKind
		}
		break
	}
	return *given, nil
}

// handles are old and those of e, sorted, each once.
func (b *DelegateMappingBuilder) handles(old []int, e Entry) ([]int, error) {
	switch {
	case len(e.Nodes) > 0 && len(e.Handles) > 0:
		return nil, ErrNodesAndHandles
	case len(e.Nodes) == 0 && len(e.Handles) == 0:
		return nil, ErrNoNodesOrHandles
	}
	var valid []int
	for _, n := range e.Nodes {
		valid = append(valid, n.DebugHandle)
	}
	valid = slices.DeleteFunc(append(valid, e.Handles...), func(h int) bool { return h <= 0 })
	if len(valid) == 0 {
		return nil, ErrNoHandle
	}
	valid = append(valid, old...)
	slices.Sort(valid)
	return slices.Compact(valid), nil
}
