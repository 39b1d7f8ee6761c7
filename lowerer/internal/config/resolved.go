package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// WriteValues writes what lowering reads of the spec: its values, without their places and without `expect`. So an edit
// that changes neither leaves the bytes as they were. The places are for WritePlaces.
func (s *Spec) WriteValues(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("write spec: %w", err)
	}
	return nil
}

// WritePlaces writes the user's positions of the values.
func (s *Spec) WritePlaces(w io.Writer) error {
	list := []Pos{}
	for _, p := range places(reflect.ValueOf(s)) {
		list = append(list, *p)
	}
	if err := json.NewEncoder(w).Encode(list); err != nil {
		return fmt.Errorf("write places: %w", err)
	}
	return nil
}

// ReadResolved reads what WriteValues and WritePlaces wrote; backends are those that its partition may name. The spec has
// no `expect`.
func ReadResolved(values, where io.Reader, backends []backend.Backend) (*Spec, error) {
	s := new(Spec)
	dec := json.NewDecoder(values)
	dec.DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	var list []Pos
	if err := json.NewDecoder(where).Decode(&list); err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	all := places(reflect.ValueOf(s))
	if len(all) != len(list) {
		return nil, fmt.Errorf("read places: got %d, want the %d of this spec", len(list), len(all))
	}
	for i, p := range all {
		*p = list[i]
	}
	return s, s.link(backends)
}

// link gives each entry of the partition its backend.
func (s *Spec) link(backends []backend.Backend) error {
	l := &loader{backends: backends}
	var errs diag.List
	for i := range s.Partition {
		b := &s.Partition[i]
		at := l.linked(b.ID.V)
		if at < 0 {
			errs = append(errs, l.unknownBackend(s, b.ID))
			continue
		}
		b.Backend = backends[at]
	}
	return errs.Err()
}

// places are the positions that v holds, in the order of its fields.
func places(v reflect.Value) (all []*Pos) {
	if p, ok := v.Interface().(*Pos); ok {
		return []*Pos{p}
	}
	switch v = v.Elem(); v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = append(all, places(v.Field(i).Addr())...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, places(v.Index(i).Addr())...)
		}
	}
	return all
}

// constantKinds makes a place for each type that the value of a constant method may have.
var constantKinds = map[string]func() any{
	"bool": func() any { return new(bool) }, "[]bool": func() any { return new([]bool) },
	"int64": func() any { return new(int64) }, "[]int64": func() any { return new([]int64) },
	"float64": func() any { return new(float64) }, "[]float64": func() any { return new([]float64) },
	"string": func() any { return new(string) },
}

// typedConstant is a ConstantMethod in JSON, which alone does not tell 2.0 from 2.
type typedConstant struct {
	Name  Value[string]
	Type  string
	Value json.RawMessage
}

// MarshalJSON writes the value with its type.
func (c ConstantMethod) MarshalJSON() ([]byte, error) {
	value, err := json.Marshal(c.Value.V)
	if err != nil {
		return nil, err
	}
	return json.Marshal(typedConstant{c.Name, fmt.Sprintf("%T", c.Value.V), value})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *ConstantMethod) UnmarshalJSON(data []byte) error {
	var t typedConstant
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	room := constantKinds[t.Type]
	if room == nil {
		return errors.New("no constant has type " + t.Type)
	}
	value := room()
	if err := json.Unmarshal(t.Value, value); err != nil {
		return err
	}
	*c = ConstantMethod{t.Name, Value[any]{V: reflect.ValueOf(value).Elem().Interface(), Set: true}}
	return nil
}
