package config

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/internal/report"
)

// compileSpecs encodes the fields of compile_specs that have a value, in the order of the schema.
func compileSpecs(v, schema cue.Value) (specs []backend.CompileSpec, err error) {
	for _, f := range specFields(schema) {
		x := field(field(v, "compile_specs"), f.key)
		if !x.Exists() {
			continue
		}
		value, err := encodeSpec(x, f.encoding)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		specs = append(specs, backend.CompileSpec{Key: f.key, Value: value})
	}
	return specs, nil
}

// specField is a field of a backend's compile_specs.
type specField struct {
	key, encoding string
	kind          cue.Kind
}

// specFields are those of a backend's schema, in its order.
func specFields(schema cue.Value) (list []specField) {
	fields, err := schema.LookupPath(cue.MakePath(cue.Str("compile_specs").Optional())).Fields(cue.Optional(true))
	if err != nil {
		return nil // the backend has none
	}
	for fields.Next() {
		attr := fields.Value().Attribute("encode")
		encoding, _ := attr.String(0) // "" without the attribute
		list = append(list, specField{fields.Selector().Unquoted(), encoding, fields.Value().IncompleteKind()})
	}
	return list
}

// encodeSpec is the bytes of one value; see #Backend.compile_specs in cue/backend.
func encodeSpec(v cue.Value, encoding string) ([]byte, error) {
	v, _ = v.Default()
	switch v.Kind() {
	case cue.StringKind:
		s, err := v.String()
		return []byte(s), err
	case cue.BytesKind:
		return v.Bytes()
	case cue.BoolKind:
		on, err := v.Bool()
		if on {
			return []byte{1}, err
		}
		return []byte{0}, err
	case cue.IntKind:
		n, err := v.Int64()
		if err != nil {
			return nil, err
		}
		return encodeInt(n, encoding)
	}
	return nil, fmt.Errorf("a %v has no encoding", v.Kind())
}

func encodeInt(n int64, encoding string) ([]byte, error) {
	switch {
	case encoding == "" || encoding == "le64":
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), nil
	case encoding == "le32" && n == int64(int32(n)):
		return binary.LittleEndian.AppendUint32(nil, uint32(n)), nil
	case encoding == "u8" && n == int64(uint8(n)):
		return []byte{uint8(n)}, nil
	case encoding == "text":
		return fmt.Append(nil, n), nil
	}
	return nil, fmt.Errorf("%d cannot be encoded as %s", n, encoding)
}

// SpecTexts gives the text of compile specs: as their backend's schema has the value, or as report.SpecText where that does
// not say, or the backend is not one of backends. The schemas are read with the first spec.
func SpecTexts(backends []backend.Backend) func(id, key string, value []byte) (string, error) {
	var known map[[2]string]specField
	return func(id, key string, value []byte) (string, error) {
		if known == nil {
			l := &loader{ctx: cuecontext.New(), backends: backends}
			if err := l.loadSchema(); err != nil {
				return "", err
			}
			known = map[[2]string]specField{}
			for i, b := range backends {
				for _, f := range specFields(l.entries[i]) {
					known[[2]string{b.ID(), f.key}] = f
				}
			}
		}
		return known[[2]string{id, key}].text(value), nil
	}
}

// text is the value that encodeSpec made these bytes of.
func (f specField) text(value []byte) string {
	switch n := len(value); {
	case f.kind == cue.BoolKind && n == 1 && value[0] <= 1:
		return strconv.FormatBool(value[0] == 1)
	case f.kind != cue.IntKind || f.encoding == "text":
	case f.encoding == "u8" && n == 1:
		return strconv.Itoa(int(value[0]))
	case f.encoding == "le32" && n == 4:
		return strconv.Itoa(int(int32(binary.LittleEndian.Uint32(value))))
	case n == 8:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(value)), 10)
	}
	return report.SpecText(value)
}
