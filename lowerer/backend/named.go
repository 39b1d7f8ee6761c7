package backend

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// ErrNamedDataDiffers is a key that is to stand for two different things.
var ErrNamedDataDiffers = errors.New("the key exists with other data")

// NamedDataStore collects the named data of payloads: bytes under a key, or constants under the hash of their content.
// The zero value is an empty store.
type NamedDataStore struct {
	entries []*exir.NamedData
	byKey   map[string]*exir.NamedData
}

// Add stores data under key. alignment is in bytes, 0 for any; externalTag names the .ptd file to put it in, "" for the
// .pte. The same data under the same key again does nothing; other data is an error.
func (s *NamedDataStore) Add(key string, data []byte, alignment int, externalTag string) error {
	c := &exir.Constant{Name: key, Literal: true, Data: data, Meta: tensor.Meta{DType: tensor.Byte, Sizes: []tensor.Dim{int64(len(data))}}}
	return s.put(&exir.NamedData{Key: key, Content: c, Alignment: alignment, ExternalTag: externalTag})
}

// AddConstant stores a constant under the SHA-256 of its content in hex, and gives that key. Where the content is known
// only when packing, it gives a placeholder of the same length; it may stand anywhere in the payload, and packing
// writes the key over it.
func (s *NamedDataStore) AddConstant(c *exir.Constant, alignment int, externalTag string) (key string, err error) {
	e := &exir.NamedData{Content: c, Alignment: alignment, ExternalTag: externalTag, ByContent: !c.Literal}
	if e.Key = c.PlaceholderKey(); c.Literal {
		e.Key = exir.ContentKey(c.Data)
	}
	return e.Key, s.put(e)
}

// Merge adds all entries of other, under the rules of Add.
func (s *NamedDataStore) Merge(other *NamedDataStore) error {
	if other == nil {
		return nil
	}
	for _, e := range other.entries {
		if err := s.put(e); err != nil {
			return err
		}
	}
	return nil
}

// Entries are what is stored, in the order in which it was added.
func (s *NamedDataStore) Entries() []*exir.NamedData {
	if s == nil {
		return nil
	}
	return s.entries
}

func (s *NamedDataStore) put(e *exir.NamedData) error {
	if a := e.Alignment; a < 0 || a&(a-1) != 0 {
		return fmt.Errorf("add named data %q: alignment %d is no power of two", e.Key, a)
	}
	if s.byKey == nil {
		s.byKey = map[string]*exir.NamedData{}
	}
	old := s.byKey[e.Key]
	switch {
	case old == nil:
		kept := *e
		s.byKey[e.Key] = &kept
		s.entries = append(s.entries, &kept)
	case !e.ByContent && !bytes.Equal(old.Content.Data, e.Content.Data):
		return fmt.Errorf("add named data %q: %w", e.Key, ErrNamedDataDiffers)
	case old.ExternalTag != e.ExternalTag:
		return fmt.Errorf("add named data %q: it is to lie in %q and in %q: %w", e.Key, old.ExternalTag, e.ExternalTag, ErrNamedDataDiffers)
	default:
		old.Alignment = max(old.Alignment, e.Alignment)
	}
	return nil
}
